// A search hit as a list entry: its heading, its place, its snippet, and why it has its score.

import { copyButton, editorLink } from "./actions.js";
import { fileLink, link } from "./address.js";
import { bar, inWords, partsOf, partsTable } from "./explain.js";
import { day, h, tag } from "./dom.js";
import { blocks } from "./markdown.js";
import { marksOf, reveal } from "./text.js";

const MAX_REPEATS = 3; // other places of one hit
const MAX_LINES = 7; // of a snippet; the file shows everything

export function hitEntry(hit) {
  const words = marksOf(hit.matched);
  return h(
    "li", { class: "hit" },
    h("div", { class: "hit-head" },
      h("h2", {}, h("a", { class: "hit-link", href: fileLink(hit), dir: "auto" }, heading(hit, words))),
      h("span", { class: "score numbers", "aria-label": `score ${hit.score.toFixed(2)}` },
        hit.score.toFixed(2))),
    place(hit),
    // The title of the hit is not repeated.
    h("div", { class: "snippet" },
      ...blocks(hit.snippet, { path: hit.path, words, left: hit.heading, most: MAX_LINES })),
    h("div", { class: "hit-foot" },
      hit.explain ? why(hit) : null,
      h("p", { class: "actions" },
        copyButton("Copy citation", hit.citation), copyButton("Copy text", hit.snippet), editorLink(hit))),
  );
}

function heading(hit, words) {
  if (!hit.heading.length || hit.source === "facts") return [reveal(hit.path, { words })];
  const path = hit.heading.map((part) => reveal(part, { words }));
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
    hit.fact ? h("a", { href: link("facts", { id: hit.fact.id }) }, "history") : null,
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
    h("summary", {}, h("span", { class: "why-word" }, inWords(parts)), bar(parts)),
    partsTable(parts, hit),
  );
}
