// A file around a hit: numbered lines, more of them in both directions, and related notes beside it.

import { copyButton, editorLink } from "./actions.js";
import { latestOnly, request } from "./api.js";
import { fileLink, go, here } from "./address.js";
import { announce, count, failureNote, h, tag, waiting } from "./dom.js";
import { unknownNote } from "./failures.js";
import { lineKinds, lineNodes, plain, reveal } from "./text.js";

export const title = "File";
export const parent = "search"; // the view that the navigation shows as current

const CONTEXT = 40; // lines before and after the hit at first
const STEP = 120; // lines loaded at a time after that

export function open(root) {
  const name = h("h1", { class: "file-name mono" });
  const about = h("p", { class: "soft" });
  const back = h("button", { type: "button", on: { click: goBack } }, "← Back");
  const body = h("div", { class: "sheet" });
  const actions = h("p", { class: "actions" });
  const beside = h("aside", { class: "related", "aria-label": "Related notes" });
  root.append(h("div", { class: "file-head" }, back, name, about, actions),
    h("div", { class: "reading" }, body, beside));
  const requests = latestOnly();
  const relatedRequests = latestOnly();
  let isLoaded = false;
  let heading = title;

  // Opens the file that a [[link]] names.
  async function openNote(wanted) {
    heading = plain(wanted);
    name.replaceChildren(reveal(wanted));
    about.textContent = "";
    body.replaceChildren(waiting("Loading …"));
    await requests.run(async (ownRequest) => {
      const { documents } = await ownRequest("/api/documents", { params: { path: globOf(wanted), limit: 1 } });
      if (!documents.length) throw unknownNote(wanted);
      go("file", { path: documents[0].path }, { replace: true });
    }, { failed: (error) => body.replaceChildren(failureNote(error)) });
  }

  async function update(params, { again = false } = {}) {
    if (params.has("note")) {
      await openNote(params.get("note"));
      return;
    }
    const path = params.get("path") ?? "";
    const from = Math.max(1, Number.parseInt(params.get("from") ?? "", 10) || 1);
    const to = Math.max(from, Number.parseInt(params.get("to") ?? "", 10) || 0);
    const hit = params.has("from") ? { from, to } : null;
    heading = plain(path);
    name.replaceChildren(reveal(path));
    about.textContent = hit ? (from === to ? `line ${from}` : `lines ${from}–${to}`) : "";
    if (again && isLoaded) return;
    isLoaded = false;
    const citation = `${path}${hit ? `#L${from}${to > from ? `-L${to}` : ""}` : ""}`;
    const source = path.startsWith("sessions/") ? "sessions" : "memory";
    actions.replaceChildren(copyButton("Copy citation", citation), editorLink({ path, source, startLine: from }) ?? "");
    showRelated(path);
    body.replaceChildren(waiting("Loading …"));
    await requests.run(async (ownRequest) => {
      await reader(path, hit, body).start(ownRequest);
      isLoaded = true;
    }, {
      failed: (error) => body.replaceChildren(failureNote(error, () => update(here().params))),
    });
  }

  // Below what is read, so a failure of its own is not worth a note.
  function showRelated(path) {
    beside.replaceChildren();
    return relatedRequests.run(async (ownRequest) => {
      const notes = await relatedNotes(path, ownRequest);
      if (notes.length) beside.replaceChildren(h("h2", {}, "Related notes"), h("ul", { class: "plain" }, ...notes));
    }, { failed: (error) => console.debug(error.message) });
  }

  function goBack() {
    if (history.length > 1) history.back();
    else go("search", {});
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

async function relatedNotes(path, request) {
  const { notes } = await request("/api/related", { params: { path } });
  return notes.map((each) => h("li", {},
    h("a", { href: fileLink(each), dir: "auto" }, reveal(each.heading.at(-1) ?? each.path)),
    h("p", { class: "place" }, tag(each.source, ""), h("span", { class: "mono" }, reveal(each.path)))));
}

// A glob for a note's file in any folder; a name may hold signs that a glob reads.
function globOf(note) {
  const file = note.replace(/\.md$/iu, "").replace(/[*?[]/gu, "[$&]");
  return `${file.includes("/") ? "**/" : ""}${file}.md`;
}

function reader(path, hit, body) {
  // A transcript holds a turn in one line, shown as several: they have no numbers.
  const isNumbered = !path.startsWith("sessions/");
  const first = hit ? Math.max(1, hit.from - CONTEXT) : 1;
  let shown = []; // { number, text, isHit }
  let firstShown = first;
  let next = null; // the first line not yet loaded; null at the end of the file

  async function start(ownRequest) {
    const span = (from, to) => load(from, to, ownRequest);
    if (!hit) {
      const part = await span(first, first + STEP - 1);
      shown = part.lines;
      next = part.next;
    } else {
      const above = first < hit.from ? await span(first, hit.from - 1) : { lines: [] };
      const middle = await span(hit.from, hit.to);
      const below = middle.next === null
        ? { lines: [], next: null } : await span(hit.to + 1, hit.to + CONTEXT);
      for (const line of middle.lines) line.isHit = true;
      shown = [...above.lines, ...middle.lines, ...below.lines];
      next = below.next;
    }
    draw();
    const target = body.querySelector(".is-hit");
    target?.scrollIntoView({ block: "center" });
    body.querySelector(".lines")?.focus({ preventScroll: true });
    announce(`${count(shown.length, "line")} of ${plain(path)}`);
  }

  // Loads the lines of a range; a response may hold fewer than requested.
  async function load(from, to, send = request) {
    const lines = [];
    let at = from;
    while (at !== null && at <= to) {
      const answer = await send("/api/file", { params: { path, from: at, lines: to - at + 1 } });
      if (answer.lines) {
        answer.text.split("\n").forEach((text, place) => {
          lines.push({ number: isNumbered ? at + place : null, text });
        });
      }
      at = answer.nextFrom;
    }
    return { lines, next: at };
  }

  async function more(button, work) {
    button.disabled = true;
    try {
      await work();
      draw();
    } catch (error) {
      button.replaceWith(failureNote(error, () => more(button, work)));
    }
  }

  const earlier = (event) => more(event.currentTarget, async () => {
    const from = Math.max(1, firstShown - STEP);
    const part = await load(from, firstShown - 1);
    const height = document.documentElement.scrollHeight;
    firstShown = from;
    shown = [...part.lines, ...shown];
    draw();
    // The lines on the screen stay where they are.
    scrollBy({ top: document.documentElement.scrollHeight - height, behavior: "instant" });
  });

  const later = (event) => more(event.currentTarget, async () => {
    const part = await load(next, next + STEP - 1);
    shown = [...shown, ...part.lines];
    next = part.next;
  });

  function draw() {
    const kinds = lineKinds(shown.map((line) => line.text), { knowsStart: firstShown === 1 });
    const rows = shown.map((line, row) => h(
      "div",
      { class: `row${line.isHit ? " is-hit" : ""}`, id: line.number ? `L${line.number}` : null },
      h("span", { class: "number numbers", "aria-hidden": "true" }, line.number ?? ""),
      h(line.isHit ? "mark" : "span", { class: `line ${kinds[row]}`, dir: "auto" },
        lineNodes(line.text)),
    ));
    const none = h("p", { class: "waiting" },
      hit ? "These lines are no longer in the file." : "This file is empty.");
    body.replaceChildren(
      ...(firstShown > 1 ? [h("button", { type: "button", class: "more", on: { click: earlier } },
        `Show ${Math.min(STEP, firstShown - 1)} earlier lines`)] : []),
      h("div", { class: "lines", tabindex: "0", role: "region", "aria-label": `Text of ${plain(path)}` },
        ...(rows.length ? rows : [none])),
      ...(next === null ? [] : [
        h("button", { type: "button", class: "more", on: { click: later } }, "Show more lines")]),
    );
  }

  return { start };
}
