// The Markdown of a snippet as elements: emphasis, code, links, tables. Whatever a note says only becomes text
// nodes, and only two kinds of links: to another note, and to the web.

import { fileLink, link } from "./address.js";
import { h } from "./dom.js";
import { lineKinds, reveal } from "./text.js";

const RULE = /^[\s|:-]+$/u; // a horizontal line
const HEAD_RULE = /^\s*\|[\s|:-]*-[\s|:-]*\|\s*$/u; // the line below the head of a table
const DEPTH = 3; // of emphasis in emphasis
const WEB = /^https?:\/\//iu;

// One alternative for each construct; what none matches is text.
const INLINE = new RegExp([
  "\\\\(?<escaped>[!-\\/:-@\\[-`{-~])",
  "(?<ticks>`+)(?!`)(?<code>.+?)(?<!`)\\k<ticks>(?!`)",
  "!?\\[\\[(?<note>[^\\[\\]|\\n]{1,300})(?:\\|(?<alias>[^\\[\\]\\n]{1,300}))?\\]\\]",
  "!?\\[(?<label>[^\\[\\]\\n]{0,300})\\]\\((?<address>[^()\\s]{1,2000})(?:\\s+\"[^\"\\n]*\")?\\)",
  "(?<web>https?:\\/\\/[^\\s<>()\\[\\]\"'`*]{1,2000})",
  "\\*\\*(?=\\S)(?<strong>.+?)(?<=\\S)\\*\\*(?!\\*)",
  "~~(?=\\S)(?<struck>.+?)(?<=\\S)~~",
  "(?<![\\p{L}\\p{N}*])\\*(?=[^\\s*])(?<starred>[^*\\n]+?)(?<=\\S)\\*(?!\\*)",
  "(?<![\\p{L}\\p{N}_])_(?=[^\\s_])(?<lined>[^_\\n]+?)(?<=\\S)_(?![\\p{L}\\p{N}_])",
].join("|"), "gu");

// Returns the blocks of a text of `path`: at most `most` lines, without the headings in `left`.
export function blocks(text, { path, words, left = [], most }) {
  const lines = text.split("\n");
  const kinds = lineKinds(lines);
  const shown = lines
    .map((line, row) => ({ line, kind: kinds[row], isHead: HEAD_RULE.test(lines[row + 1] ?? "") }))
    .filter(({ line, kind }) => line.trim() && kind !== "fence" && !RULE.test(line))
    .filter(({ line }) => !left.includes(line.replace(/^#+\s+/u, "").trim()))
    .slice(0, most);
  const found = [];
  while (shown.length) {
    const end = shown.findIndex(({ kind }) => kind !== "cells");
    const rows = shown.splice(0, end < 0 ? shown.length : end);
    if (rows.length) found.push(table(rows, { path, words }));
    for (const { line, kind } of shown.splice(0, 1)) {
      found.push(h("div", { class: `line ${kind}`, dir: "auto" }, lineContent(line, kind, { path, words })));
    }
  }
  return found;
}

function lineContent(line, kind, options) {
  if (kind === "code") return [reveal(line, options)];
  const text = line.trim();
  if (kind.startsWith("heading")) return inline(text.replace(/^#+\s+/u, ""), options);
  if (kind === "quote") return inline(text.replace(/^(?:>\s*)+/u, ""), options);
  if (kind === "entry") {
    const [, mark, box, rest] = text.match(/^([-*+]|\d+[.)])\s+(?:\[([ xX])\]\s+)?(.*)$/su);
    const bullet = box === undefined ? (/\d/u.test(mark) ? mark : "•") : box === " " ? "☐" : "☑";
    return [`${bullet} `, ...inline(rest, options)];
  }
  return inline(text, options);
}

// Returns the nodes of a line without its block marks.
export function inline(text, options, depth = 0) {
  const nodes = [];
  let at = 0;
  for (const match of text.matchAll(INLINE)) {
    nodes.push(reveal(text.slice(at, match.index), options));
    nodes.push(...construct(match, options, depth));
    at = match.index + match[0].length;
  }
  nodes.push(reveal(text.slice(at), options));
  return nodes;
}

function construct({ 0: source, groups }, options, depth) {
  const inner = (text) => (depth < DEPTH ? inline(text, options, depth + 1) : [reveal(text, options)]);
  const { escaped, code, note, alias, label, address, web, strong, struck, starred, lined } = groups;
  if (escaped) return [reveal(escaped, options)];
  if (code) return [h("code", {}, reveal(code.trim() || code, options))];
  if (note) return [h("a", { href: noteLink(note) }, reveal(alias ?? note, options))];
  if (address) {
    // A picture is named, not loaded.
    return linked(address, label ? inner(label) : [reveal(address, options)], options.path)
      ?? [reveal(source, options)];
  }
  if (web) {
    const [, clean, rest] = web.match(/^(.*?)([.,;:!?]*)$/su);
    return [...linked(clean, [reveal(clean, options)]) ?? [reveal(clean, options)], reveal(rest)];
  }
  if (strong) return [h("strong", {}, inner(strong))];
  if (struck) return [h("s", {}, inner(struck))];
  return [h("em", {}, inner(starred ?? lined))];
}

function noteLink(name) {
  const [file] = name.split("#");
  return link("file", { note: file.trim() });
}

// Returns a link, or null if the address leads to neither a note nor the web.
function linked(address, content, path = "") {
  if (WEB.test(address)) {
    const host = hostOf(address);
    if (!host) return null;
    const anchor = h("a", { href: address, target: "_blank", rel: "noopener noreferrer", title: address }, content);
    // A text may claim to lead elsewhere.
    return anchor.textContent.includes(host)
      ? [anchor] : [anchor, h("span", { class: "host" }, ` (${host})`)];
  }
  const target = relativePath(address, path);
  return target ? [h("a", { href: fileLink({ path: target }) }, content)] : null;
}

function hostOf(address) {
  try {
    return new URL(address).host;
  } catch (error) {
    if (error instanceof TypeError) return null; // it is not an address
    throw error;
  }
}

// The path of a note that a link in the note `path` leads to, or null.
function relativePath(address, path) {
  const [file] = address.split("#");
  if (!/^[^:\\]+\.md$/iu.test(file) || file.startsWith("/")) return null;
  const parts = path.split("/").slice(0, -1);
  let decoded;
  try {
    decoded = decodeURIComponent(file);
  } catch (error) {
    if (error instanceof URIError) return null;
    throw error;
  }
  for (const part of decoded.split("/")) {
    if (part === "..") {
      if (!parts.length) return null;
      parts.pop();
    } else if (part && part !== ".") {
      parts.push(part);
    }
  }
  return parts.join("/");
}

// Rows of a Markdown table as a table.
function table(rows, options) {
  const row = ({ line, isHead }) => h("tr", {}, ...cells(line).map((cell) => h(
    isHead ? "th" : "td", { scope: isHead ? "col" : null, dir: "auto" }, inline(cell, options),
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
