// A search hit as a list entry: its heading, its place, its snippet, whether it was right, and why it was found.

import { copyButton, editorLink } from "./actions.js";
import { request } from "./api.js";
import { fileLink, link, nameOf } from "./address.js";
import { bar, inWords, partsOf, partsTable } from "./explain.js";
import { announce, day, failureNote, h, tag } from "./dom.js";
import { blocks, oneLine } from "./markdown.js";
import { marksOf, plain, reveal } from "./text.js";

const MAX_REPEATS = 3; // other places of one hit
const MAX_LINES = 7; // of a snippet; the file shows everything

const judged = new Map(); // whether a hit was called right, by question and citation, until the page is left

export function hitEntry(hit, question) {
  const words = marksOf(hit.matched);
  return h(
    "li", { class: "hit" },
    h("h2", {}, hitLink(hit, words)),
    place(hit),
    ...(hit.contradicts ?? []).map(contradiction),
    // The title of the hit is not repeated.
    h("div", { class: "snippet" },
      ...blocks(hit.snippet, { path: hit.path, words, left: hit.heading, most: MAX_LINES })),
    h("div", { class: "hit-foot" },
      hit.explain ? why(hit) : null,
      h("p", { class: "actions" },
        ...judgement(hit, question),
        copyButton("Copy citation", hit.citation), copyButton("Copy text", hit.snippet), editorLink(hit))),
  );
}

// A hit of an answer that is not confident, on one line.
export function weakEntry(hit) {
  const words = marksOf(hit.matched);
  const first = hit.snippet.split("\n").find((line) => line.trim() && !line.startsWith("#")) ?? "";
  return h("li", { class: "hit weak" },
    h("h2", {}, hitLink(hit, words)), h("span", { class: "weak-words", dir: "auto" }, oneLine(first, { path: hit.path, words })),
    tag(hit.source), hit.date ? h("time", { datetime: hit.date }, day(hit.date)) : null);
}

function hitLink(hit, words) {
  const href = hit.fact?.id ? link("facts", { id: hit.fact.id }) : fileLink(hit);
  return h("a", { class: "hit-link", href, dir: "auto" }, heading(hit, words));
}

// A fact that says otherwise, given as its id and its text.
function contradiction(other) {
  const [id, ...words] = other.split(" ");
  return h("p", { class: "against" }, "contradicted by ",
    h("a", { href: link("facts", { id }), dir: "auto" }, reveal(words.join(" ") || id)));
}

// Buttons that call the hit right or wrong; the other one takes it back.
function judgement(hit, question) {
  const key = `${question}\n${hit.citation}`;
  const button = (words, right) => h("button", {
    type: "button", class: "small judge", "aria-pressed": String(judged.get(key) === right),
    on: { click: (event) => judge(event.currentTarget, right) },
  }, words);

  async function judge(pressed, right) {
    try {
      await request("/api/feedback", { body: { query: question, citation: hit.citation, right } });
      judged.set(key, right);
      for (const each of buttons) each.setAttribute("aria-pressed", String(each === pressed));
      announce(right ? "Kept as right" : "Kept as wrong");
    } catch (error) {
      const hit = pressed.closest(".hit");
      hit.querySelector("[role=alert]")?.remove();
      hit.append(failureNote(error));
    }
  }

  const buttons = [button("Right", true), button("Wrong", false)];
  return buttons;
}

function heading(hit, words) {
  // The file of a fact is its category; what it is about comes after that. The place names a diary's day.
  const named = hit.source === "facts" || hit.heading[0] === nameOf(hit.path);
  const above = named && (hit.source === "facts" || hit.heading.length > 1) ? hit.heading.slice(1) : hit.heading;
  if (!above.length) return [reveal(hit.path, { words })];
  const path = above.map((part) => reveal(part, { words }));
  return path.flatMap((part, place) => {
    const isLast = place === path.length - 1;
    return isLast
      ? [part]
      : [h("span", { class: "above" }, part, h("span", { "aria-label": ", " }, " › "))];
  });
}

function place(hit) {
  const lines = hit.startLine === hit.endLine
    ? `line ${hit.startLine}` : `lines ${hit.startLine}–${hit.endLine}`;
  return h(
    "p", { class: "place" },
    tag(hit.source),
    h("span", { class: "mono" }, reveal(hit.path)),
    h("span", {}, lines),
    hit.date ? h("time", { datetime: hit.date }, day(hit.date)) : null,
    hit.speaker ? h("span", {}, reveal(hit.speaker)) : null,
    hit.fact?.supersededBy || hit.supersededBy
      ? h("span", { class: "outdated" }, "superseded") : null,
    ...alsoIn(hit.alsoIn ?? []),
  );
}

// Other notes that say the same, the first few.
function alsoIn(repeats) {
  const shown = repeats.slice(0, MAX_REPEATS);
  const more = repeats.length - shown.length;
  return [
    ...shown.map((repeat) => h("span", {}, "also in ",
      h("a", { class: "mono", href: fileLink(repeat) }, reveal(repeat.path)))),
    more ? h("span", {}, `and ${more} more`) : null,
  ];
}

function why(hit) {
  const parts = partsOf(hit.explain);
  return h(
    "details", { class: "why" },
    h("summary", {}, "Why"),
    h("p", { class: "why-word" }, plain(`${inWords(parts)}; score ${hit.score.toFixed(2)}`)), bar(parts),
    partsTable(parts, hit),
  );
}
