// How the index fares: what is in it, who embeds, what is behind and why, and a sync on demand.

import { ask } from "./api.js";
import { count, h, say, size } from "./dom.js";
import { note, trouble, waiting } from "./states.js";
import { plain, reveal } from "./text.js";

const LOOK_MS = 1000; // while the worker is at it
const REST_MS = 15000;
const NAMED = 8; // stale files before the rest is only counted
const STATES = {
  idle: "waits for changes",
  syncing: "is bringing the index up to date",
  failing: "could not bring the index up to date",
  stopped: "is not running",
};

export function open(root) {
  const body = h("div", { class: "health" }, waiting("Looking …"));
  const button = h("button", { type: "button", class: "strong", on: { click: sync } }, "Sync now");
  root.append(h("div", { class: "head" }, h("h1", {}, "Health"), button), body);
  let timer = null;
  let isClosed = false;
  let waitsFor = null; // the moment of the sync before the one that was asked for

  async function look() {
    clearTimeout(timer);
    let status = null;
    try {
      status = await ask("/api/status");
      if (isClosed) return;
      body.replaceChildren(...sections(status));
    } catch (error) {
      if (isClosed) return;
      if (error.type !== "gone") body.replaceChildren(trouble(error, look));
    }
    const isDone = waitsFor !== null && status?.worker.lastSyncAt !== waitsFor
      && status?.worker.state !== "syncing";
    if (isDone) {
      waitsFor = null;
      button.disabled = false;
      button.textContent = "Sync now";
      say(`Synced. ${lastWords(status.worker)}`);
    }
    const isBusy = waitsFor !== null || status?.worker.state === "syncing";
    timer = setTimeout(look, isBusy ? LOOK_MS : REST_MS);
  }

  async function sync() {
    button.disabled = true;
    button.textContent = "Syncing …";
    try {
      const status = await ask("/api/status");
      waitsFor = status.worker.lastSyncAt ?? "";
      await ask("/api/sync", { body: {} });
      say("Sync started");
      await look();
    } catch (error) {
      waitsFor = null;
      button.disabled = false;
      button.textContent = "Sync now";
      body.prepend(trouble(error));
    }
  }

  return {
    update: look,
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

function sections(status) {
  const { index, provider, legs, worker, stale, cache } = status;
  return [
    ...status.notices.map((sentence) => note("warn", sentence)),
    ...problems(status),
    h("dl", { class: "cards" },
      card("Indexed", count(index.documents, "file"), `${count(index.chunks, "chunk")}, ${size(index.bytes)}`,
        h("ul", { class: "plain" }, ...Object.entries(index.bySource).map(([source, own]) =>
          h("li", {}, h("span", { class: `tag ${source}` }, source),
            ` ${count(own.documents, "file")}, ${count(own.chunks, "chunk")}`)))),
      card("Embedded by", provider.name ?? "none",
        provider.model ? `${provider.model}, ${provider.dimensions} dimensions` : "search by words only",
        h("p", { class: "soft" }, `asked for: ${provider.requested}`)),
      card("Vectors", count(legs.vector.chunks, "chunk"),
        legs.vector.pending ? `${legs.vector.pending.toLocaleString("en")} waiting` : "none waiting",
        progress(legs.vector)),
      card("Worker", worker.state, STATES[worker.state] ?? "",
        h("p", { class: "soft" }, lastWords(worker))),
      card("Freshness",
        isCurrent(stale) ? "up to date" : `${count(stale.changed.length + stale.gone.length, "file")} behind`,
        isCurrent(stale) ? "what is searched is what is written" : "the next sync brings them in",
        staleList(stale)),
      cache ? card("Embedding cache", count(cache.vectors, "vector"),
        `${size(cache.bytes)} of ${size(cache.maxBytes)}`) : null),
    skipped(provider),
    h("details", { class: "skipped" }, h("summary", {}, "Places"),
      h("ul", { class: "plain" },
        h("li", {}, "workspace ", h("span", { class: "mono" }, plain(status.workspace))),
        h("li", {}, "index ", h("span", { class: "mono" }, plain(index.path)),
          index.writable ? "" : ", read-only"))),
  ].filter(Boolean);
}

function card(name, value, about, ...more) {
  return h("div", { class: "card" }, h("dt", {}, name),
    h("dd", {}, h("strong", { class: "numbers" }, value), h("p", {}, plain(about)), ...more));
}

function problems({ stale, worker, legs, provider }) {
  const found = [];
  if (worker.lastError) found.push(note("bad", worker.lastError.message, worker.lastError.action));
  for (const failure of stale.failed) {
    found.push(note("warn", plain(`${failure.path}: ${failure.reason}`), failure.action));
  }
  const legReport = worker.lastReport?.degraded?.legs ?? {};
  for (const why of Object.values(legReport)) found.push(note("warn", why.reason, why.action));
  if (!provider.name && provider.requested !== "none") {
    found.push(note("warn", "Nothing embeds, so search goes by words alone.",
      "`recollect status --deep` tells why."));
  }
  if (legs.vector.servedFrom && legs.vector.space && legs.vector.servedFrom !== legs.vector.space) {
    found.push(note("", `Vectors are being made anew; ${legs.vector.servedFrom} answers meanwhile.`));
  }
  return found;
}

function isCurrent(stale) {
  return !stale.changed.length && !stale.gone.length;
}

function staleList({ changed, gone }) {
  const all = [
    ...changed.map((path) => [path, "new or changed"]), ...gone.map((path) => [path, "gone"]),
  ];
  if (!all.length) return null;
  const rest = all.length - NAMED;
  return h("ul", { class: "plain" },
    ...all.slice(0, NAMED).map(([path, why]) =>
      h("li", {}, h("span", { class: "mono" }, reveal(path)), ` ${why}`)),
    rest > 0 ? h("li", { class: "soft" }, `and ${rest} more`) : null);
}

function progress({ chunks, pending }) {
  return pending
    ? h("progress", { max: chunks + pending, value: chunks, "aria-label": "chunks embedded" }) : null;
}

function lastWords({ lastReport, lastSyncAt }) {
  if (!lastSyncAt) return "The first sync is not finished yet.";
  const when = new Date(lastSyncAt).toLocaleTimeString("en-GB");
  if (!lastReport) return `Last tried at ${when}.`;
  const parts = ["added", "changed", "removed"].filter((name) => lastReport[name])
    .map((name) => `${lastReport[name]} ${name}`);
  return `Last sync at ${when}: ${parts.join(", ") || "nothing had changed"}.`;
}

function skipped(provider) {
  const names = Object.entries(provider.skipped);
  if (!names.length) return null;
  return h("details", { class: "skipped" },
    h("summary", {}, `${count(names.length, "provider")} not used`),
    h("ul", { class: "plain" }, ...names.map(([name, why]) =>
      h("li", {}, h("strong", {}, name), `: ${why.reason} `, h("span", { class: "soft" }, why.action)))));
}
