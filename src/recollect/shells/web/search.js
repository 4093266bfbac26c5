// Search as you type.

import { latestOnly } from "./api.js";
import { go } from "./address.js";
import { announce, count, debounced, failureNote, field, h, note, remarks, searchBox, waiting } from "./dom.js";
import { tooLong } from "./failures.js";
import { hitEntry } from "./hits.js";
import { home } from "./home.js";
import { wordsOf } from "./text.js";

export const title = "Search";
export const takesQuestion = true;

const PAUSE_MS = 140; // after the last key, before the search
const STEP = 10; // hits at first, and with each press of "More results"
const MAX_HITS = 100;
const MODES = { hybrid: "words and meaning", keyword: "words", vector: "meaning" };

let question = "";
let openedHit = null; // the address of the hit that was opened, to return to it

export function lastQuestion() {
  return question;
}

export function open(root) {
  const controls = searchForm();
  const outcome = h("div", { id: "outcome" });
  root.append(h("h1", { class: "visually-hidden" }, title), controls.form, outcome);

  const requests = latestOnly();
  let isSettled = true; // the next key starts a new history entry
  let limit = STEP;
  let shown = null; // the parameters of what is shown

  function update(params, { again = false } = {}) {
    controls.fill(params);
    const key = params.toString();
    if (key === shown && !again) return;
    if (key !== shown) limit = STEP;
    shown = key;
    question = params.get("q") ?? "";
    const failure = tooLong(question);
    if (question.trim() && !failure) {
      run();
    } else {
      stop();
      announce("");
      if (failure) outcome.replaceChildren(failureNote(failure));
      else showHome();
    }
  }

  function stop() {
    typed.cancel();
    requests.cancel();
    setBusy(false);
  }

  function setBusy(isBusy) {
    outcome.classList.toggle("busy", isBusy);
    if (isBusy) outcome.setAttribute("aria-busy", "true");
    else outcome.removeAttribute("aria-busy");
  }

  function showHome() {
    outcome.replaceChildren(waiting("Loading …"));
    return requests.run(async (request) => outcome.replaceChildren(...await home(request)), {
      failed: (error) => outcome.replaceChildren(failureNote(error, showHome)),
    });
  }

  async function run() {
    typed.cancel();
    setBusy(true);
    if (!outcome.querySelector(".hits")) outcome.replaceChildren(waiting("Searching …"));
    const params = { ...controls.asParams(), explain: true, maxResults: limit };
    await requests.run(async (request) => show(await request("/api/search", { params })), {
      failed: (error) => outcome.replaceChildren(failureNote(error, run)),
      ended: () => setBusy(false),
    });
  }

  function show(results) {
    const words = wordsOf(results.query);
    const hits = results.results;
    const summary = hits.length ? count(hits.length, "result") : "No matches";
    const focused = links().indexOf(document.activeElement);
    const wanted = openedHit ?? links()[focused]?.getAttribute("href");
    outcome.replaceChildren(
      ...remarks(results),
      ...(hits.length && !results.confident
        ? [note("warn", "No result stands out: the answer may not be in memory.")] : []),
      h("p", { class: "summary numbers" },
        `${summary} by ${MODES[results.mode] ?? results.mode} in ${results.tookMs.toFixed(0)} ms`),
      ...(hits.length ? [] : [nothingFound(controls)]),
      h("ol", { class: "hits" }, ...hits.map((hit) => hitEntry(hit, { words }))),
      ...(hits.length === limit && limit < MAX_HITS
        ? [h("button", { type: "button", class: "more", on: { click: showMore } }, "More results")]
        : []),
    );
    announce(`${summary} for ${results.query}`);
    // The focus stays on the same hit, or at its place, when newer results arrive.
    const same = links().find((each) => each.getAttribute("href") === wanted) ?? links()[focused];
    same?.focus({ preventScroll: true });
    openedHit = null;
  }

  async function showMore() {
    const before = links().length;
    limit = Math.min(MAX_HITS, limit + STEP);
    await run();
    links()[before]?.focus();
  }

  const links = () => [...outcome.querySelectorAll(".hit-link")];

  const typed = debounced(PAUSE_MS, () => {
    go("search", controls.asAddress(), { replace: !isSettled });
    isSettled = false;
  });

  function settled() {
    typed.cancel();
    go("search", controls.asAddress(), { replace: !isSettled });
    isSettled = true;
  }

  function onKey(event) {
    const all = links();
    const at = all.indexOf(document.activeElement);
    if (event.key === "ArrowDown" && (event.target === controls.box || at >= 0)) {
      event.preventDefault();
      all[Math.min(all.length - 1, at + 1)]?.focus();
    } else if (event.key === "ArrowUp" && at >= 0) {
      event.preventDefault();
      (all[at - 1] ?? controls.box).focus();
    } else if (event.key === "Escape" && event.target !== controls.box) {
      event.preventDefault();
      controls.box.focus();
    } else if (event.key === "Enter" && event.target === controls.box && all.length) {
      event.preventDefault();
      settled();
      // While a search is running, the results on the page are not those of the question.
      if (!outcome.hasAttribute("aria-busy")) all[0].focus();
    }
  }

  controls.form.addEventListener("submit", (event) => {
    event.preventDefault();
    settled();
  });
  controls.box.addEventListener("input", typed);
  controls.box.addEventListener("change", settled);
  controls.filters.addEventListener("change", settled);
  outcome.addEventListener("click", (event) => {
    openedHit = event.target.closest(".hit-link")?.getAttribute("href") ?? null;
  });
  root.addEventListener("keydown", onKey);
  controls.box.focus({ preventScroll: true });
  return {
    update,
    title: () => (question ? `${question} · ${title}` : title),
    close() {
      stop();
      root.removeEventListener("keydown", onKey);
    },
  };
}

function searchForm() {
  const box = searchBox("Search this memory", {
    id: "box", enterkeyhint: "search", "aria-describedby": "keys",
  });
  const source = h("select", {},
    h("option", { value: "" }, "all sources"),
    ...["memory", "sessions", "facts"].map((name) => h("option", { value: name }, name)));
  const since = h("input", { type: "date" });
  const before = h("input", { type: "date" });
  const path = h("input", { type: "text", placeholder: "memory/**", size: "14", spellcheck: "false" });
  const scope = h("input", { type: "text", placeholder: "user:ada", size: "12", spellcheck: "false" });
  const superseded = h("input", { type: "checkbox" });
  const inputs = { source, since, before, path, scope };
  const filters = h(
    "div", { class: "filters", role: "group", "aria-label": "Filters" },
    field("Source", source), field("Since", since), field("Before", before),
    field("Path", path), field("Scope", scope),
    field("include superseded", superseded, "row"),
  );
  const fold = h("details", { class: "fold" }, h("summary", {}, "Filters"), filters);
  const keys = h("p", { id: "keys", class: "keys" },
    h("kbd", {}, "/"), " type ", h("kbd", {}, "↓"), h("kbd", {}, "↑"), " choose ",
    h("kbd", {}, "Enter"), " open ", h("kbd", {}, "Esc"), " back");

  const values = () => Object.fromEntries(
    Object.entries(inputs).map(([name, input]) => [name, input.value.trim()]),
  );
  const hasFilters = () => Object.values(values()).some(Boolean);
  return {
    box, filters, hasFilters,
    form: h("form", { role: "search" }, box, keys, fold),
    asAddress: () => ({ q: box.value, ...values(), superseded: superseded.checked ? 1 : "" }),
    asParams: () => ({
      query: box.value, ...values(),
      scope: scope.value.split(/[\s,]+/u).filter(Boolean),
      includeSuperseded: superseded.checked || null,
    }),
    fill(params) {
      for (const [name, input] of Object.entries({ ...inputs, q: box })) {
        const value = params.get(name) ?? "";
        if (input.value.trim() !== value.trim()) input.value = value;
      }
      superseded.checked = params.has("superseded");
      if (hasFilters() || superseded.checked) fold.open = true;
    },
  };
}

function nothingFound(controls) {
  return controls.hasFilters()
    ? note("", "Nothing matches with these filters.", "Remove a filter, or use other words.")
    : note("", "Nothing in this memory matches.",
      "Use other words. If a file should be here, Health shows what is indexed.");
}
