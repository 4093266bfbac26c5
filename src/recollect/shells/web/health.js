// The state of the index: what is in it, which provider embeds it, what is stale; a sync, and what in the notes
// needs care.

import { copyButton } from "./actions.js";
import { latestOnly, request } from "./api.js";
import { fileLink, link } from "./address.js";
import { announce, commands, count, failureNote, h, note, size, tag, waiting } from "./dom.js";
import { plain, reveal } from "./text.js";

export const title = "Health";

const BUSY_MS = 1000; // between looks while the worker syncs
const IDLE_MS = 15000;
const LISTED = 8; // stale files that are named; the rest is counted
const STATES = {
  idle: "watching for changes",
  syncing: "updating the index",
  failing: "could not update the index",
  stopped: "not running",
};

export function open(root) {
  const body = h("div", { class: "health" }, waiting("Loading …"));
  const button = h("button", { type: "button", class: "strong", on: { click: sync } }, "Sync now");
  const care = h("section", { class: "care", "aria-labelledby": "care" });
  root.append(h("div", { class: "head" }, h("h1", {}, title), button), body, care);
  showCare(care);
  const requests = latestOnly();
  let timer = null;
  let previousSync = null; // while a requested sync runs: when the sync before it ended

  function look() {
    clearTimeout(timer);
    return requests.run(async (request) => show(await request("/api/status")), {
      failed(error) {
        if (error.type !== "offline") body.replaceChildren(failureNote(error, look));
        lookAgain({ isBusy: previousSync !== null });
      },
    });
  }

  function lookAgain({ isBusy }) {
    timer = setTimeout(look, isBusy ? BUSY_MS : IDLE_MS);
  }

  function show(status) {
    const { worker } = status;
    body.replaceChildren(...sections(status));
    const isSyncing = worker.state === "syncing";
    if (previousSync !== null && worker.lastSyncAt !== previousSync && !isSyncing) {
      setSyncing(false);
      announce(`Synced. ${lastSyncText(worker)}`);
    }
    lookAgain({ isBusy: isSyncing || previousSync !== null });
  }

  function setSyncing(isSyncing) {
    if (!isSyncing) previousSync = null;
    button.disabled = isSyncing;
    button.textContent = isSyncing ? "Syncing …" : "Sync now";
  }

  async function sync() {
    clearTimeout(timer);
    setSyncing(true);
    let isStarted = false;
    await requests.run(async (request) => {
      const { worker } = await request("/api/status");
      previousSync = worker.lastSyncAt ?? "";
      await request("/api/sync", { body: {} });
      announce("Sync started");
      isStarted = true;
    }, {
      failed(error) {
        setSyncing(false);
        body.prepend(failureNote(error));
        lookAgain({ isBusy: false });
      },
    });
    if (isStarted) await look();
  }

  return {
    update: look,
    close() {
      requests.cancel();
      clearTimeout(timer);
    },
  };
}

const KINDS = {
  copy: "Said twice", contradiction: "Contradictions", "dead-link": "Links that lead nowhere",
  unlinked: "Notes without links", stale: "Work that may be forgotten", unfound: "Notes that no question finds",
};

// What in the notes needs care: looked for on request, as it reads them all.
function showCare(care) {
  const outcome = h("div", {});
  const button = h("button", { type: "button", on: { click: look } }, "Look through the notes");
  care.replaceChildren(h("h2", { id: "care" }, "Needs care"),
    h("p", { class: "soft" }, "Copies, contradictions, dead links, forgotten work; it takes some seconds."), button, outcome);

  async function look() {
    button.disabled = true;
    outcome.replaceChildren(waiting("Reading the notes …"));
    try {
      const { notes, findings, notices } = await request("/api/tidy");
      const said = `${count(findings.length, "finding")} in ${count(notes, "note")}`;
      const kinds = [...new Set(findings.map(({ kind }) => kind))];
      outcome.replaceChildren(h("p", { class: "summary numbers" }, said),
        ...kinds.map((kind) => foundOf(kind, findings.filter((each) => each.kind === kind))),
        ...notices.map((sentence) => h("p", { class: "soft" }, commands(sentence))));
      announce(said);
    } catch (error) {
      outcome.replaceChildren(failureNote(error));
    }
    button.disabled = false;
  }
}

function foundOf(kind, findings) {
  return h("details", { class: "fold", open: findings.length <= LISTED },
    h("summary", {}, `${KINDS[kind] ?? kind}: ${findings.length}`),
    h("ul", { class: "statements" }, ...findings.map(finding)));
}

// What is wrong at a place, a path with its line or a fact, and the command that mends it.
function finding({ place, reason, action }) {
  const [, path, line] = place.match(/^(.*):(\d+)$/su) ?? [];
  const href = path ? fileLink({ path, startLine: line, endLine: line }) : link("facts", { id: place });
  const [advice, command] = action.split("`");
  return h("li", {},
    h("p", {}, h("a", { href, class: path ? "mono" : null, dir: "auto" }, reveal(path ?? "Fact")), " ", reveal(reason)),
    command ? h("p", { class: "place" }, plain(advice), h("code", {}, reveal(command)), copyButton("Copy", command))
      : h("p", { class: "place" }, plain(action)));
}

// The state in a few words, and whether it needs no attention.
export function summaryOf({ worker, stale, provider, legs, notices }) {
  const behind = stale.changed.length + stale.gone.length;
  if (worker.lastError) return { isGood: false, words: worker.lastError.message };
  if (stale.failed.length) {
    return { isGood: false, words: `${count(stale.failed.length, "file")} could not be read` };
  }
  if (worker.state === "syncing" || behind) return { isGood: true, words: "updating the index" };
  if (legs.vector.pending) {
    return { isGood: true, words: `${count(legs.vector.pending, "chunk")} waiting for a vector` };
  }
  if (notices.length) return { isGood: false, words: notices[0] };
  return { isGood: true, words: provider.name ? "up to date" : "up to date, search by words only" };
}

function sections(status) {
  const { index, provider, legs, worker, stale, cache } = status;
  return [
    ...status.notices.map((sentence) => note("warn", sentence)),
    ...problems(status),
    h("dl", { class: "cards" },
      card("Indexed", count(index.documents, "file"), `${count(index.chunks, "chunk")}, ${size(index.bytes)}`,
        h("ul", { class: "plain" }, ...Object.entries(index.bySource).map(([source, own]) =>
          h("li", {}, tag(source), ` ${count(own.documents, "file")}, ${count(own.chunks, "chunk")}`)))),
      card("Embedded by", provider.name ?? "none",
        provider.model ? `${provider.model}, ${provider.dimensions} dimensions` : "search by words only",
        h("p", { class: "soft" }, `configured: ${provider.requested}`)),
      card("Vectors", count(legs.vector.chunks, "chunk"),
        legs.vector.pending ? `${legs.vector.pending.toLocaleString("en")} waiting` : "none waiting",
        progress(legs.vector)),
      card("Worker", worker.state, STATES[worker.state] ?? "",
        h("p", { class: "soft" }, lastSyncText(worker))),
      card("Freshness",
        isCurrent(stale) ? "up to date" : `${count(stale.changed.length + stale.gone.length, "file")} behind`,
        isCurrent(stale) ? "the index matches the files" : "the next sync updates them",
        staleList(stale)),
      cache ? card("Embedding cache", count(cache.vectors, "vector"),
        `${size(cache.bytes)} of ${size(cache.maxBytes)}`) : null),
    skipped(provider),
    h("details", { class: "skipped" }, h("summary", {}, "Locations"),
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
    found.push(note("warn", "No provider embeds texts, so search uses words only.",
      "`recollect status --deep` shows why."));
  }
  if (legs.vector.servedFrom && legs.vector.space && legs.vector.servedFrom !== legs.vector.space) {
    found.push(note("", `Vectors are being rebuilt; search uses ${legs.vector.servedFrom} until then.`));
  }
  return found;
}

function isCurrent(stale) {
  return !stale.changed.length && !stale.gone.length;
}

function staleList({ changed, gone }) {
  const all = [
    ...changed.map((path) => [path, "new or changed"]), ...gone.map((path) => [path, "deleted"]),
  ];
  if (!all.length) return null;
  const rest = all.length - LISTED;
  return h("ul", { class: "plain" },
    ...all.slice(0, LISTED).map(([path, why]) =>
      h("li", {}, h("span", { class: "mono" }, reveal(path)), ` ${why}`)),
    rest > 0 ? h("li", { class: "soft" }, `and ${rest} more`) : null);
}

function progress({ chunks, pending }) {
  return pending
    ? h("progress", { max: chunks + pending, value: chunks, "aria-label": "chunks embedded" }) : null;
}

function lastSyncText({ lastReport, lastSyncAt }) {
  if (!lastSyncAt) return "The first sync has not finished yet.";
  const when = new Date(lastSyncAt).toLocaleTimeString("en-GB");
  if (!lastReport) return `Last attempt at ${when}.`;
  const parts = ["added", "changed", "removed"].filter((name) => lastReport[name])
    .map((name) => `${lastReport[name]} ${name}`);
  return `Last sync at ${when}: ${parts.join(", ") || "no changes"}.`;
}

function skipped(provider) {
  const names = Object.entries(provider.skipped);
  if (!names.length) return null;
  return h("details", { class: "skipped" },
    h("summary", {}, `${count(names.length, "provider")} not used`),
    h("ul", { class: "plain" }, ...names.map(([name, why]) =>
      h("li", {}, h("strong", {}, name), `: ${why.reason} `, h("span", { class: "soft" }, why.action)))));
}
