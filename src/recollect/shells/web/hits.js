// One hit of a search as an entry of the list.

import { fileLink, link } from "./address.js";
import { bar, partsOf, table } from "./explain.js";
import { day, h } from "./dom.js";
import { grid, isRule } from "./grid.js";
import { lineKinds, reveal, shownLine } from "./text.js";

const RULE = /^[\s|:-]+$/u; // a line across
const MOST_LINES = 7; // of a snippet; the file shows all of it

export function hitEntry(hit, { words }) {
  return h(
    "li", { class: "hit" },
    h("div", { class: "hit-head" },
      h("h2", {}, h("a", { class: "hit-link", href: fileLink(hit), dir: "auto" }, heading(hit, words))),
      h("span", { class: "score numbers", "aria-label": `score ${hit.score.toFixed(2)}` },
        hit.score.toFixed(2))),
    place(hit),
    h("div", { class: "snippet" }, ...snippet(hit, words)),
    hit.explain ? why(hit) : null,
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
    h("span", { class: `tag ${hit.source}` }, hit.source),
    h("span", { class: "mono" }, reveal(hit.path)),
    h("span", {}, lines),
    hit.date ? h("time", { datetime: hit.date }, day(hit.date)) : null,
    hit.speaker ? h("span", {}, reveal(hit.speaker)) : null,
    hit.fact ? h("a", { href: link("facts", { id: hit.fact.id }) }, "history") : null,
    hit.fact?.supersededBy || hit.supersededBy
      ? h("span", { class: "outdated" }, "superseded") : null,
  );
}

function snippet(hit, words) {
  const lines = hit.snippet.split("\n");
  const kinds = lineKinds(lines);
  const shown = lines
    .map((line, row) => ({ line, kind: kinds[row], isHead: isRule(lines[row + 1] ?? "") }))
    .filter(({ line, kind }) => line.trim() && kind !== "fence" && !RULE.test(line))
    // What stands in the title of the hit need not be said again.
    .filter(({ line }) => !hit.heading.includes(line.replace(/^#+\s+/u, "").trim()))
    .slice(0, MOST_LINES);
  const blocks = [];
  while (shown.length) {
    const end = shown.findIndex(({ kind }) => kind !== "cells");
    const rows = shown.splice(0, end < 0 ? shown.length : end);
    if (rows.length) blocks.push(grid(rows, { words }));
    for (const { line, kind } of shown.splice(0, 1)) {
      blocks.push(h("div", { class: `line ${kind}`, dir: "auto" }, shownLine(line, { words })));
    }
  }
  return blocks;
}

function why(hit) {
  const parts = partsOf(hit.explain);
  return h(
    "details", { class: "why" },
    h("summary", {}, h("span", { class: "why-word" }, "Why"), bar(parts)),
    table(parts, hit),
  );
}
