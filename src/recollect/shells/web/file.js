// A note to read: rendered, or as numbered lines; what a hit pointed to is marked. Beside it stand the notes that
// links connect it with, and those closest in meaning.

import { copyButton, editorChoice, editorLink } from "./actions.js";
import { latestOnly } from "./api.js";
import { fileLink, folderOf, globOf, go, here, link, nameOf } from "./address.js";
import { announce, failureNote, h, note, tag, waiting } from "./dom.js";
import { unknownNote } from "./failures.js";
import { article, sectionOf } from "./note.js";
import { reader } from "./source.js";
import { plain, reveal } from "./text.js";

export const title = "Note";
export const parent = "notes"; // the view that the navigation shows as current

const MOST_LINES = 10000;
const MOST_CHARS = 200000; // that are rendered; the rest of a longer note is in its source
const LISTED = 8; // notes that link here, or that this one links to

export function open(root) {
  const name = h("h1", { dir: "auto" });
  const place = h("p", { class: "place" });
  const back = h("button", { type: "button", on: { click: goBack } }, "← Back");
  const body = h("div", { class: "sheet" });
  const actions = h("p", { class: "actions" });
  const beside = h("aside", { class: "related", "aria-label": "Connected notes" });
  root.append(h("div", { class: "file-head" }, back, h("div", {}, name, place), actions),
    h("div", { class: "reading" }, body, beside));
  const requests = latestOnly();
  const relatedRequests = latestOnly();
  let isLoaded = false;
  let heading = title;

  // Opens the file that a [[link]] in the note `by` names.
  async function openNote(wanted, by, section) {
    heading = plain(wanted);
    name.replaceChildren(reveal(wanted));
    place.replaceChildren();
    body.replaceChildren(waiting("Loading …"));
    await requests.run(async (ownRequest) => {
      const named = `[[${folderOf(by)}/${wanted}]]`; // as a link there means it
      const { documents } = await ownRequest("/api/documents", { params: { path: named, limit: 1 } });
      if (!documents.length) throw unknownNote(wanted);
      go("file", { path: documents[0].path, section }, { replace: true });
    }, { failed: (error) => body.replaceChildren(failureNote(error)) });
  }

  async function update(params, { again = false } = {}) {
    if (params.has("note")) {
      await openNote(params.get("note"), params.get("by") ?? "", params.get("section"));
      return;
    }
    const path = params.get("path") ?? "";
    const from = Math.max(1, Number.parseInt(params.get("from") ?? "", 10) || 1);
    const to = Math.max(from, Number.parseInt(params.get("to") ?? "", 10) || 0);
    const hit = params.has("from") ? { from, to } : null;
    // A transcript holds a turn in one line: its lines are read as they are.
    const isTranscript = path.startsWith("sessions/");
    const isSource = isTranscript || params.has("source");
    if (again && isLoaded) return;
    isLoaded = false;
    heading = nameOf(path);
    name.replaceChildren(reveal(heading));
    const lines = hit ? (from === to ? `line ${from}` : `lines ${from}–${to}`) : "";
    place.replaceChildren(h("span", { class: "mono" }, reveal(path)), h("span", {}, lines));
    const citation = `${path}${hit ? `#L${from}${to > from ? `-L${to}` : ""}` : ""}`;
    const editor = editorLink({ path, source: isTranscript ? "sessions" : "memory", startLine: from });
    const other = { ...Object.fromEntries(params), source: isSource ? "" : 1 };
    actions.replaceChildren(
      h("a", { class: "small", href: link("search", { path: globOf(path) }) }, "Ask about this note"),
      isTranscript ? "" : h("a", { class: "small", href: link("file", other) }, isSource ? "Read" : "Source"),
      copyButton("Copy citation", citation), editor ?? (isTranscript ? "" : editorChoice(() => update(here().params))));
    showBeside(path);
    body.replaceChildren(waiting("Loading …"));
    await requests.run(async (ownRequest) => {
      const words = (params.get("words") ?? "").split(" ").filter(Boolean);
      const isShown = !isSource && await showArticle({ path, hit, words, section: params.get("section") }, ownRequest);
      if (!isShown) await reader(path, hit, body).start(ownRequest);
      isLoaded = true;
    }, {
      failed: (error) => body.replaceChildren(failureNote(error, () => update(here().params))),
    });
  }

  // Returns whether the note could be rendered: a hit far down in a long note is read in its source.
  async function showArticle({ path, hit, words, section }, ownRequest) {
    const { text, next } = await wholeText(path, ownRequest);
    if (next !== null && hit && hit.from >= next) return false;
    const made = article(text, { path, hit, words });
    heading = made.title || nameOf(path);
    name.replaceChildren(reveal(heading));
    document.title = `${plain(heading)} · Recollect`;
    const nodes = made.nodes.length || made.title ? made.nodes : [h("p", { class: "waiting" }, "This note is empty.")];
    const rest = next === null ? "" : note("", "This note is long; this is its beginning.", null,
      h("a", { href: link("file", { path, source: 1, from: next, to: next }) }, "Read on in its source"));
    body.replaceChildren(h("article", { class: "article", tabindex: "-1", "aria-label": plain(heading) }, ...nodes), rest);
    const target = section ? body.querySelector(`[data-section="${CSS.escape(sectionOf(section))}"]`)
      : body.querySelector(".is-hit") ?? body.querySelector(".in-hit");
    target?.scrollIntoView({ block: section ? "start" : "center" });
    body.querySelector(".article").focus({ preventScroll: true });
    announce(plain(heading));
    return true;
  }

  // Below what is read, so a failure of its own is not worth a note.
  function showBeside(path) {
    beside.replaceChildren();
    return relatedRequests.run(async (ownRequest) => {
      const { notes, links, backlinks } = await ownRequest("/api/related", { params: { path } });
      beside.replaceChildren(
        ...section("Linked from", backlinks.map((each) => entry({ path: each }))),
        ...section("Links to", links.map((each) => entry({ path: each }))),
        ...section("Related notes", notes.map(entry)));
    }, { failed: (error) => console.debug(error.message) });
  }

  function goBack() {
    if (history.length > 1) history.back();
    else go("notes", {});
  }

  function onKey(event) {
    if (event.key === "Escape") {
      event.preventDefault();
      goBack();
    }
  }

  root.addEventListener("keydown", onKey);
  return {
    update,
    title: () => heading,
    close() {
      requests.cancel();
      relatedRequests.cancel();
      root.removeEventListener("keydown", onKey);
    },
  };
}

async function wholeText(path, request) {
  const parts = [];
  let next = 1;
  let length = 0;
  while (next !== null && length < MOST_CHARS) {
    const { lines, text, nextFrom } = await request("/api/file", { params: { path, from: next, lines: MOST_LINES } });
    if (lines) parts.push(text);
    length += text.length;
    next = nextFrom;
  }
  return { text: parts.join("\n"), next };
}

function section(words, entries) {
  const rest = entries.length - LISTED;
  return entries.length ? [h("h2", {}, words), h("ul", { class: "plain" }, ...entries.slice(0, LISTED),
    rest > 0 ? h("li", { class: "soft" }, `and ${rest} more`) : null)] : [];
}

function entry({ path, heading = [], source = "memory", ...place }) {
  const words = heading.at(-1) ?? nameOf(path);
  const folder = words === nameOf(path) ? folderOf(path) : path;
  return h("li", {},
    h("a", { href: fileLink({ path, ...place }), dir: "auto" }, reveal(words)),
    h("p", { class: "place" }, source === "memory" ? null : tag(source), h("span", { class: "mono" }, reveal(folder))));
}
