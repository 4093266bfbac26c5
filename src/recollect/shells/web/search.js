// Searching as you type.

import { ask } from "./api.js";
import { go } from "./address.js";
import { count, field, h, say } from "./dom.js";
import { hitEntry } from "./hits.js";
import { isTooLong, note, remarks, tooLong, trouble, waiting } from "./states.js";
import { wordsOf } from "./text.js";

const PAUSE_MS = 140; // after the last key, before the server is asked
const FIRST = 10;
const MORE = 10;
const MOST = 100;
const WAYS = { hybrid: "words and meaning", keyword: "words", vector: "meaning" };

let last = "";
let opened = null; // the hit that was opened: coming back leads to it

export function lastQuestion() {
  return last;
}

export function open(root) {
  const controls = formControls();
  const outcome = h("div", { id: "outcome" });
  root.append(h("h1", { class: "unseen" }, "Search"), controls.form, outcome);

  let asked = null; // the request under way
  let number = 0; // of the newest request: an older answer is never shown over a newer one
  let timer = null;
  let isSettled = true; // the next key begins a new entry of the history
  let most = FIRST;
  let shown = null;

  function update(params, { again = false } = {}) {
    controls.fill(params);
    const key = params.toString();
    if (key === shown && !again) return;
    if (key !== shown) most = FIRST;
    shown = key;
    last = params.get("q") ?? "";
    if (last.trim() && !isTooLong(last)) run();
    else {
      stop();
      outcome.replaceChildren(last.trim() ? tooLong(last) : welcome());
      say("");
    }
  }

  function stop() {
    clearTimeout(timer);
    asked?.abort();
    number += 1;
    outcome.classList.remove("busy");
    outcome.removeAttribute("aria-busy");
  }

  async function run() {
    stop();
    const own = number;
    asked = new AbortController();
    outcome.classList.add("busy");
    outcome.setAttribute("aria-busy", "true");
    if (!outcome.querySelector(".hits")) outcome.replaceChildren(waiting("Searching …"));
    try {
      const params = { ...controls.asParams(), explain: true, maxResults: most };
      const results = await ask("/api/search", { params, signal: asked.signal });
      if (own === number) show(results);
    } catch (error) {
      if (error.name === "AbortError" || own !== number) return;
      outcome.replaceChildren(trouble(error, run));
    } finally {
      if (own === number) {
        outcome.classList.remove("busy");
        outcome.removeAttribute("aria-busy");
      }
    }
  }

  function show(results) {
    const words = wordsOf(results.query);
    const hits = results.results;
    const how = WAYS[results.mode] ?? results.mode;
    const summary = hits.length ? count(hits.length, "result") : "No matches";
    const held = links().indexOf(document.activeElement);
    const wanted = opened ?? links()[held]?.getAttribute("href");
    outcome.replaceChildren(
      ...remarks(results),
      ...(hits.length && !results.confident
        ? [note("warn", "Nothing found stands out: this may not be in memory.")] : []),
      h("p", { class: "summary numbers" },
        `${summary} by ${how} in ${results.tookMs.toFixed(0)} ms`),
      ...(hits.length ? [] : [nothing(controls)]),
      h("ol", { class: "hits" }, ...hits.map((hit) => hitEntry(hit, { words }))),
      ...(hits.length === most && most < MOST
        ? [h("button", { type: "button", class: "more", on: { click: showMore } }, "More results")]
        : []),
    );
    say(`${summary} for ${results.query}`);
    // Whoever is on a hit stays on it, or at its place, when a later answer takes over.
    const same = links().find((each) => each.getAttribute("href") === wanted) ?? links()[held];
    same?.focus({ preventScroll: true });
    opened = null;
  }

  async function showMore() {
    const before = links().length;
    most = Math.min(MOST, most + MORE);
    await run();
    links()[before]?.focus();
  }

  const links = () => [...outcome.querySelectorAll(".hit-link")];

  function typed() {
    clearTimeout(timer);
    timer = setTimeout(() => {
      go("search", controls.asAddress(), { quietly: !isSettled });
      isSettled = false;
    }, PAUSE_MS);
  }

  function settled() {
    clearTimeout(timer);
    go("search", controls.asAddress(), { quietly: !isSettled });
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
      // What is still on its way would not be what the eye sees.
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
    opened = event.target.closest(".hit-link")?.getAttribute("href") ?? null;
  });
  root.addEventListener("keydown", onKey);
  controls.box.focus({ preventScroll: true });
  return {
    update,
    title: () => (last ? `${last} · Search` : "Search"),
    close() {
      stop();
      root.removeEventListener("keydown", onKey);
    },
  };
}

function formControls() {
  const box = h("input", {
    type: "search", id: "box", class: "box", placeholder: "Search this memory", autocomplete: "off",
    spellcheck: "false", enterkeyhint: "search", "aria-label": "Search this memory",
    "aria-describedby": "keys", dir: "auto",
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
    field("superseded too", superseded, "row"),
  );
  // A small screen has room for the results or for the filters.
  const fold = h("details", { class: "fold", open: matchMedia("(min-width: 52rem)").matches },
    h("summary", {}, "Filters"), filters);
  const keys = h("p", { id: "keys", class: "keys" },
    h("kbd", {}, "/"), " type ", h("kbd", {}, "↓"), h("kbd", {}, "↑"), " choose ",
    h("kbd", {}, "Enter"), " open ", h("kbd", {}, "Esc"), " back");
  const form = h("form", { role: "search" }, box, keys, fold);

  const values = () => Object.fromEntries(
    Object.entries(inputs).map(([name, input]) => [name, input.value.trim()]),
  );
  return {
    form, box, filters,
    asAddress: () => ({ q: box.value, ...values(), superseded: superseded.checked ? 1 : "" }),
    asParams: () => ({
      query: box.value, ...values(),
      scope: scope.value.split(/[\s,]+/u).filter(Boolean),
      includeSuperseded: superseded.checked || null,
    }),
    isNarrowed: () => Object.values(values()).some(Boolean),
    fill(params) {
      const wanted = { ...inputs, q: box };
      for (const [name, input] of Object.entries(wanted)) {
        const value = params.get(name) ?? "";
        if (input.value.trim() !== value.trim()) input.value = value;
      }
      superseded.checked = params.has("superseded");
      if (Object.values(values()).some(Boolean) || superseded.checked) fold.open = true;
    },
  };
}

function welcome() {
  return h("div", { class: "welcome" },
    h("p", { class: "lead" },
      "Ask in your own words, or with the exact name, number or path. Results come as you type, ",
      "and each tells why it is where it is."));
}

function nothing(controls) {
  return controls.isNarrowed()
    ? note("", "No note passes these filters and matches.", "Remove a filter, or ask in other words.")
    : note("", "Nothing in this memory matches.",
      "Ask in other words. Health shows what is indexed, if a file should be there.");
}
