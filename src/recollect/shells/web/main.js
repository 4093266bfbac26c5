// The page: one view at a time, chosen by the address; the navigation, the theme, the keys that work
// everywhere, and the banner of a server that is offline.

import { request, takeToken } from "./api.js";
import { setWorkspace } from "./actions.js";
import { go, here, link } from "./address.js";
import { failureNote, h, note } from "./dom.js";
import { brokenPage, offline } from "./failures.js";
import { plain } from "./text.js";
import * as facts from "./facts.js";
import * as file from "./file.js";
import * as health from "./health.js";
import * as map from "./map.js";
import * as notes from "./notes.js";
import * as search from "./search.js";
import * as timeline from "./timeline.js";

// By the name in the address, in the order of the navigation. A view has a `title` and `open(root)`,
// which returns `update(params)` and perhaps `close()` and `title()`.
const VIEWS = { search, notes, facts, file, timeline, map, health };
const FIRST = ["search", "notes", "facts"];
const MORE = ["timeline", "map", "health"];
const MAPPED = 300; // chunks from which on the map shows more than a few dots
const START = "search";
const RETRY_MS = 3000; // between checks whether an offline server is back
const THEME = "recollect.theme";

const main = document.getElementById("main");
const navigation = document.getElementById("views");
let name = null; // of the open view
let view = null;

function route() {
  const address = here();
  let { params } = address;
  if (!Object.hasOwn(VIEWS, address.view)) {
    params = new URLSearchParams();
    if (address.view) history.replaceState(null, "", link(START));
  }
  const wanted = Object.hasOwn(VIEWS, address.view) ? address.view : START;
  if (wanted === name) {
    view.update(params);
  } else {
    view?.close?.();
    main.replaceChildren();
    const isFirst = name === null;
    name = wanted;
    view = VIEWS[name].open(main);
    view.update(params);
    scrollTo(0, 0);
    // Screen readers continue in the view that opened.
    if (!isFirst && !main.contains(document.activeElement)) main.focus({ preventScroll: true });
  }
  document.title = `${view.title?.() ?? VIEWS[name].title} · Recollect`;
  updateNavigation(params);
}

function startNavigation() {
  const anchor = (each) => h("a", { href: link(each), "data-view": each, hidden: each === "map" }, VIEWS[each].title);
  const menu = h("details", { class: "more-views" }, h("summary", {}, "More"), h("div", { class: "menu" }, ...MORE.map(anchor)));
  navigation.append(...FIRST.map(anchor), menu);
  const close = () => { menu.open = false; };
  menu.addEventListener("click", (event) => { if (event.target.closest("a")) close(); });
  menu.addEventListener("focusout", (event) => { if (event.relatedTarget && !menu.contains(event.relatedTarget)) close(); });
  document.addEventListener("click", (event) => { if (!menu.contains(event.target)) close(); });
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    event.stopPropagation();
    close();
    menu.querySelector("summary").focus();
  });
}

function updateNavigation(params) {
  navigation.querySelector("summary").classList.toggle("is-current", MORE.includes(name));
  for (const anchor of navigation.querySelectorAll("a")) {
    const isCurrent = anchor.dataset.view === (VIEWS[name].parent ?? name);
    if (isCurrent) anchor.setAttribute("aria-current", "page");
    else anchor.removeAttribute("aria-current");
    // A question is carried along between the views that can show it.
    if (VIEWS[anchor.dataset.view].takesQuestion && !VIEWS[name].parent) {
      anchor.href = link(anchor.dataset.view, { q: params.get("q") ?? "" });
    }
  }
}

function onKey(event) {
  if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey) return;
  const isTyping = event.target.matches?.("input, select, textarea")
    // In an empty search box, / does not start a question.
    && !(event.target.matches(".box") && event.target.value === "");
  if (event.key === "/" && !isTyping && !document.querySelector("dialog[open]")) {
    event.preventDefault();
    if (!main.querySelector(".box")) go("search", { q: search.lastQuestion() });
    const box = main.querySelector(".box");
    box?.focus();
    box?.select();
  }
}

let retrying = null; // the timer while the server is offline
function onServer({ detail: state }) {
  const banner = document.getElementById("offline");
  if (state === "online") {
    if (retrying === null) return;
    clearInterval(retrying);
    retrying = null;
    banner.replaceChildren();
    view?.update(here().params, { again: true });
  } else if (retrying === null) {
    const { message, action } = offline();
    banner.replaceChildren(note("bad", message, action));
    retrying = setInterval(() => request("/health").catch(() => null), RETRY_MS);
  }
}

async function showWorkspace() {
  const label = document.getElementById("workspace");
  try {
    const { workspace, index } = await request("/api/status");
    setWorkspace(workspace);
    navigation.querySelector("[data-view=map]").hidden = index.chunks < MAPPED;
    label.textContent = plain(workspace.split(/[\\/]/u).filter(Boolean).at(-1) ?? workspace);
    label.title = plain(workspace);
  } catch (error) {
    console.debug(error.message); // each view shows the failures of its own requests
  }
}

// The system's theme, until the button chooses the other.
function startTheme(button) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const ofSystem = () => (system.matches ? "dark" : "light");

  function show() {
    const chosen = localStorage.getItem(THEME);
    if (chosen) document.documentElement.dataset.theme = chosen;
    else delete document.documentElement.dataset.theme;
    button.setAttribute("aria-pressed", String((chosen ?? ofSystem()) === "dark"));
    document.dispatchEvent(new CustomEvent("theme"));
  }

  button.addEventListener("click", () => {
    const wanted = button.getAttribute("aria-pressed") === "true" ? "light" : "dark";
    if (wanted === ofSystem()) localStorage.removeItem(THEME);
    else localStorage.setItem(THEME, wanted);
    show();
  });
  system.addEventListener("change", show);
  show();
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
  if (!main.querySelector(".note.bad")) main.prepend(failureNote(brokenPage(event.message)));
});

startTheme(document.getElementById("theme"));
startNavigation();
takeToken();
route();
showWorkspace();
