// The page: one view at a time, chosen by the address; keys that work everywhere.

import { ask, takeToken } from "./api.js";
import { go, here, link } from "./address.js";
import { note, trouble } from "./states.js";
import { plain } from "./text.js";
import { startTheme } from "./theme.js";
import * as evaluation from "./evaluation.js";
import * as facts from "./facts.js";
import * as file from "./file.js";
import * as health from "./health.js";
import * as map from "./map.js";
import * as search from "./search.js";
import * as timeline from "./timeline.js";

const VIEWS = { search, file, timeline, map, facts, health, evaluation };
const TITLES = {
  search: "Search", file: "File", timeline: "Timeline", map: "Map", facts: "Facts",
  health: "Health", evaluation: "Evaluation",
};
const PAUSE_MS = 3000; // between looks whether a server that is gone is back

const main = document.getElementById("main");
let shown = null;
let view = null;

function route() {
  const address = here();
  if (!address.isKnown) history.replaceState(null, "", link(address.view));
  if (address.view === shown) {
    view.update(address.params);
  } else {
    view?.close?.();
    main.replaceChildren();
    const isFirst = shown === null;
    shown = address.view;
    view = VIEWS[shown].open(main);
    view.update(address.params);
    scrollTo(0, 0);
    // Where the eye goes after a change of views, the reading cursor goes too.
    if (!isFirst && !main.contains(document.activeElement)) main.focus({ preventScroll: true });
  }
  document.title = `${view.title?.() ?? TITLES[shown]} · Recollect`;
  markCurrent(address);
}

function markCurrent({ view: current, params }) {
  for (const anchor of document.querySelectorAll("#views a")) {
    const isCurrent = anchor.dataset.view === (current === "file" ? "search" : current);
    if (isCurrent) anchor.setAttribute("aria-current", "page");
    else anchor.removeAttribute("aria-current");
    // A question goes along between the views that can show it.
    if (["search", "map"].includes(anchor.dataset.view) && current !== "file") {
      anchor.href = link(anchor.dataset.view, { q: params.get("q") ?? "" });
    }
  }
}

function onKey(event) {
  if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey) return;
  const isTyping = event.target.matches?.("input, select, textarea")
    // The key for going to the box, pressed in it, is not the beginning of a question.
    && !(event.target.matches(".box") && event.target.value === "");
  if (event.key === "/" && !isTyping && !document.querySelector("dialog[open]")) {
    event.preventDefault();
    if (!main.querySelector(".box")) go("search", { q: search.lastQuestion() });
    const box = main.querySelector(".box");
    box?.focus();
    box?.select();
  }
}

// The banner of a server that is gone, until it is back.
let looking = null;
function onServer({ detail }) {
  const banner = document.getElementById("gone");
  if (detail === "here") {
    if (looking === null) return;
    clearInterval(looking);
    looking = null;
    banner.replaceChildren();
    view?.update(here().params, { again: true });
  } else if (looking === null) {
    banner.replaceChildren(
      note("bad", "The server does not answer.",
        "Start it again with `recollect serve`. This page goes on by itself when it is back."),
    );
    looking = setInterval(() => ask("/health").catch(() => null), PAUSE_MS);
  }
}

async function tellWhose() {
  const whose = document.getElementById("whose");
  try {
    const status = await ask("/api/status");
    const name = status.workspace.split(/[\\/]/u).filter(Boolean).at(-1) ?? status.workspace;
    whose.textContent = plain(name);
    whose.title = plain(status.workspace);
  } catch (error) {
    whose.textContent = ""; // each view says what is wrong with its own request
    console.debug(error.message);
  }
}

window.addEventListener("hashchange", route);
document.addEventListener("address", route);
document.addEventListener("keydown", onKey);
document.addEventListener("server", onServer);
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
window.addEventListener("error", (event) => {
  if (!main.querySelector(".note.bad")) {
    main.prepend(trouble({ message: `This page failed: ${event.message}`, action: "Reload it." }));
  }
});

startTheme(document.getElementById("theme"));
takeToken();
route();
tellWhose();
