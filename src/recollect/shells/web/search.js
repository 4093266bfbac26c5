// Search as you type.

import { latestOnly } from "./api.js";
import { go } from "./address.js";
import { announce, count, debounced, failureNote, h, note, remarks, waiting } from "./dom.js";
import { tooLong } from "./failures.js";
import { facets, searchForm } from "./filters.js";
import { rememberQuestion } from "./history.js";
import { hitEntry, weakEntry } from "./hits.js";
import { home } from "./home.js";

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
  let tail = false; // hits far below the best
  let shown = null; // the parameters of what is shown

  function update(params, { again = false } = {}) {
    controls.fill(params);
    const key = params.toString();
    if (key === shown && !again) return;
    if (key !== shown) [limit, tail] = [STEP, false];
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
    const params = { ...controls.asParams(), explain: true, highlight: true, maxResults: limit, tail };
    await requests.run(async (request) => show(await request("/api/search", { params })), {
      failed: (error) => outcome.replaceChildren(failureNote(error, run)),
      ended: () => setBusy(false),
    });
  }

  function show(results) {
    const hits = results.results;
    const summary = hits.length ? count(hits.length, "result") : "No matches";
    const focused = links().indexOf(document.activeElement);
    const wanted = openedHit ?? links()[focused]?.getAttribute("href");
    outcome.replaceChildren(
      ...remarks(results),
      ...(hits.length && !results.confident
        ? [note("warn", "This does not seem to be in memory.", "Below is what comes nearest.")] : []),
      h("p", { class: "summary numbers" },
        `${summary} by ${MODES[results.mode] ?? results.mode} in ${results.tookMs.toFixed(0)} ms`),
      ...(hits.length ? [] : [nothingFound(controls)]),
      facets(hits, controls, narrow) ?? "",
      h("ol", { class: "hits" }, ...hits.map((hit, place) =>
        (results.confident || place === 0 ? hitEntry(hit, results.query) : weakEntry(hit)))),
      ...(hits.length && (!tail || (hits.length === limit && limit < MAX_HITS))
        ? [h("button", { type: "button", class: "more", on: { click: showMore } }, "More results")]
        : []),
    );
    announce(`${summary} for ${results.query}`);
    // The focus stays on the same hit, or at its place, when newer results arrive.
    const same = links().find((each) => each.getAttribute("href") === wanted) ?? links()[focused];
    same?.focus({ preventScroll: true });
    openedHit = null;
  }

  function narrow(change) {
    go("search", { ...controls.asAddress(), ...change });
    isSettled = true;
  }

  async function showMore() {
    const before = links().length;
    if (tail) limit = Math.min(MAX_HITS, limit + STEP);
    tail = true;
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
    if (event.metaKey || event.ctrlKey || event.altKey) return;
    const all = links();
    const at = all.indexOf(document.activeElement);
    const isTyping = event.target.matches("input, select, textarea");
    const isDown = event.key === "ArrowDown" || (event.key === "j" && !isTyping);
    const isUp = event.key === "ArrowUp" || (event.key === "k" && !isTyping);
    if (isDown && (event.target === controls.box || at >= 0 || event.key === "j")) {
      event.preventDefault();
      all[Math.min(all.length - 1, at + 1)]?.focus();
    } else if (isUp && at >= 0) {
      event.preventDefault();
      (all[at - 1] ?? controls.box).focus();
    } else if (event.key === "Escape" && event.target !== controls.box) {
      event.preventDefault();
      controls.box.focus();
    } else if (event.key === "Enter" && event.target === controls.box && all.length) {
      event.preventDefault();
      settled();
      rememberQuestion(question);
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
    if (openedHit) rememberQuestion(question);
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

function nothingFound(controls) {
  return controls.hasFilters()
    ? note("", "Nothing matches with these filters.", "Remove a filter, or use other words.")
    : note("", "Nothing in this memory matches.",
      "Use other words. If a file should be here, Health shows what is indexed.");
}
