// Rows of a Markdown table as a table.

import { h } from "./dom.js";
import { reveal } from "./text.js";

// The line below the head of a table.
export function isRule(line) {
  return /^\s*\|[\s|:-]*-[\s|:-]*\|\s*$/u.test(line);
}

export function grid(rows, { words }) {
  const row = ({ line, isHead }) => h("tr", {}, ...cells(line).map((cell) => h(
    isHead ? "th" : "td", { scope: isHead ? "col" : null, dir: "auto" }, reveal(cell, { words }),
  )));
  const head = rows.filter((each) => each.isHead);
  const body = rows.filter((each) => !each.isHead);
  return h("div", { class: "spread" }, h("table", {},
    head.length ? h("thead", {}, ...head.map(row)) : null,
    h("tbody", {}, ...body.map(row))));
}

// What stands between the bars; one behind a backslash is part of the text.
function cells(line) {
  return line.trim().slice(1, -1).split(/(?<!\\)\|/u)
    .map((cell) => cell.trim().replaceAll("\\|", "|"));
}
