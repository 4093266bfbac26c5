// A search hit as a list entry: its heading, its place, its snippet, and why it has its score.

import { fileLink, link } from "./address.js";
import { bar, partsOf, partsTable } from "./explain.js";
import { day, h, tag } from "./dom.js";
import { lineKinds, reveal, lineNodes } from "./text.js";

const RULE = /^[\s|:-]+$/u; // a horizontal line
const HEAD_RULE = /^\s*\|[\s|:-]*-[\s|:-]*\|\s*$/u; // the line below the head of a table
const MAX_REPEATS = 3; // other places of one hit
const MAX_LINES = 7; // of a snippet; the file shows everything

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

function snippet(hit, words) {
  const lines = hit.snippet.split("\n");
  const kinds = lineKinds(lines);
  const shown = lines
    .map((line, row) => ({ line, kind: kinds[row], isHead: HEAD_RULE.test(lines[row + 1] ?? "") }))
    .filter(({ line, kind }) => line.trim() && kind !== "fence" && !RULE.test(line))
    // The title of the hit is not repeated.
    .filter(({ line }) => !hit.heading.includes(line.replace(/^#+\s+/u, "").trim()))
    .slice(0, MAX_LINES);
  const blocks = [];
  while (shown.length) {
    const end = shown.findIndex(({ kind }) => kind !== "cells");
    const rows = shown.splice(0, end < 0 ? shown.length : end);
    if (rows.length) blocks.push(table(rows, words));
    for (const { line, kind } of shown.splice(0, 1)) {
      blocks.push(h("div", { class: `line ${kind}`, dir: "auto" }, lineNodes(line, { words })));
    }
  }
  return blocks;
}

// Rows of a Markdown table as a table.
function table(rows, words) {
  const row = ({ line, isHead }) => h("tr", {}, ...cells(line).map((cell) => h(
    isHead ? "th" : "td", { scope: isHead ? "col" : null, dir: "auto" }, reveal(cell, { words }),
  )));
  const head = rows.filter((each) => each.isHead);
  const body = rows.filter((each) => !each.isHead);
  return h("div", { class: "spread" }, h("table", {},
    head.length ? h("thead", {}, ...head.map(row)) : null,
    h("tbody", {}, ...body.map(row))));
}

// The texts between the bars; a bar after a backslash is part of the text.
function cells(line) {
  return line.trim().slice(1, -1).split(/(?<!\\)\|/u)
    .map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function why(hit) {
  const parts = partsOf(hit.explain);
  return h(
    "details", { class: "why" },
    h("summary", {}, h("span", { class: "why-word" }, "Why"), bar(parts)),
    partsTable(parts, hit),
  );
}
