// The Markdown of a snippet as elements: emphasis, code, links, tables. Whatever a note says only becomes text
// nodes, and only two kinds of links: to another note, and to the web. A picture is shown where `picture` is given.

import { link } from "./address.js";
import { h } from "./dom.js";
import { lineKinds, reveal } from "./text.js";

const RULE = /^[\s|:-]+$/u; // a horizontal line
const HEAD_RULE = /^\s*\|[\s|:-]*-[\s|:-]*\|\s*$/u; // the line below the head of a table
const DEPTH = 3; // of emphasis in emphasis
const WEB = /^https?:\/\//iu;
const PICTURE = /\.(?:png|jpe?g|gif|webp)$/iu;
const LONGEST = 5000; // characters of a text in which marks are looked for; more is not written for people

// One alternative for each construct; what none matches is text.
const INLINE = new RegExp([
  "\\\\(?<escaped>[!-\\/:-@\\[-`{-~])",
  "(?<ticks>`+)(?!`)(?<code>.+?)(?<!`)\\k<ticks>(?!`)",
  "<!--(?<comment>[^]{0,2000}?)-->",
  "!?\\[\\[(?<note>[^\\[\\]|\\n]{1,300})(?:\\|(?<alias>[^\\[\\]\\n]{1,300}))?\\]\\]",
  "!?\\[(?<label>[^\\[\\]\\n]{0,300})\\]\\((?<address><[^<>\\n]{1,2000}>|[^()\\s]{1,2000})(?:\\s+\"[^\"\\n]*\")?\\)",
  "(?<web>https?:\\/\\/[^\\s<>()\\[\\]\"'`*]{1,2000})",
  "(?<![\\p{L}\\p{N}_&/#])#(?<tag>[\\p{N}_/-]{0,99}\\p{L}[\\p{L}\\p{N}_/-]{0,99})",
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
  if (text.length > LONGEST) return [reveal(text, options)];
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

// Returns a line without the marks of its block and without links: those around it lead elsewhere.
export function oneLine(text, options) {
  const bare = text.trim().replace(/^(?:[-*+>]|\d+[.)])\s+(?:\[[ xX]\]\s+)?/u, "");
  return unlinked(h("span", {}, inline(bare, options)));
}

function unlinked(element) {
  for (const anchor of element.querySelectorAll("a")) anchor.replaceWith(...anchor.childNodes);
  return element;
}

function construct({ 0: source, groups }, options, depth) {
  const inner = (text) => (depth < DEPTH ? inline(text, options, depth + 1) : [reveal(text, options)]);
  const { escaped, code, comment, note, alias, label, address, web, tag, strong, struck, starred, lined } = groups;
  if (escaped) return [reveal(escaped, options)];
  if (code) return [h("code", {}, reveal(code.trim() || code, options))];
  // Shown, as an agent reads it too, but not loudly.
  if (comment) return [h("span", { class: "comment" }, reveal(source, options))];
  const shown = source.startsWith("!") && options.picture && PICTURE.test(note ?? address ?? "");
  if (shown && note) return [options.picture(note, note)];
  if (note) return [h("a", { href: noteLink(note, options.path) }, reveal(alias ?? note, options))];
  if (address) {
    const clean = address.replace(/^<(.*)>$/u, "$1");
    if (shown && !WEB.test(clean)) return [options.picture(decoded(clean) ?? clean, label)];
    // A picture of the web is named, not loaded.
    return linked(clean, label ? inner(label) : [reveal(clean, options)], options.path)
      ?? [reveal(source, options)];
  }
  if (web) {
    const [, clean, rest] = web.match(/^(.*?)([.,;:!?]*)$/su);
    return [...linked(clean, [reveal(clean, options)]) ?? [reveal(clean, options)], reveal(rest)];
  }
  if (tag) return [options.hasTags ? h("a", { href: link("notes", { tag }) }, reveal(source, options)) : reveal(source, options)];
  if (strong) return [h("strong", {}, inner(strong))];
  if (struck) return [h("s", {}, inner(struck))];
  return [h("em", {}, inner(starred ?? lined))];
}

function noteLink(name, path) {
  const [file, section] = name.split("#");
  return file.trim() ? link("file", { note: file.trim(), by: path, section }) : link("file", { path, section });
}

// Returns a link, or null if the address leads to neither a note nor the web.
function linked(address, content, path = "") {
  if (WEB.test(address)) {
    const host = hostOf(address);
    if (!host) return null;
    const anchor = h("a", { href: address, target: "_blank", rel: "noopener noreferrer", title: address }, content);
    const named = unlinked(anchor).textContent.trim().replace(WEB, "").split(/[/?#]/u)[0];
    // A text may claim to lead elsewhere.
    return named.toLowerCase() === host
      ? [anchor] : [anchor, h("span", { class: "host" }, ` (${host})`)];
  }
  const [file, section] = address.split("#").map(decoded);
  const target = file === "" ? path : relativePath(file ?? "", path);
  return target ? [unlinked(h("a", { href: link("file", { path: target, section }) }, content))] : null;
}

function hostOf(address) {
  try {
    return new URL(address).host;
  } catch (error) {
    if (error instanceof TypeError) return null; // it is not an address
    throw error;
  }
}

function decoded(address) {
  try {
    return decodeURIComponent(address);
  } catch (error) {
    if (error instanceof URIError) return null;
    throw error;
  }
}

// The path of a note that a link in the note `path` leads to, or null.
function relativePath(file, path) {
  if (!/^[^:\\]+\.md$/iu.test(file) || file.startsWith("/")) return null;
  const parts = path.split("/").slice(0, -1);
  for (const part of file.split("/")) {
    if (part === "..") {
      if (!parts.length) return null;
      parts.pop();
    } else if (part && part !== ".") {
      parts.push(part);
    }
  }
  return parts.join("/");
}

// Rows of a Markdown table as a table; `made` gets each of its rows.
export function table(rows, options, made = (_number, row) => row) {
  const row = ({ line, isHead, number }) => made(number, h("tr", {}, ...cells(line).map((cell) => h(
    isHead ? "th" : "td", { scope: isHead ? "col" : null, dir: "auto" }, inline(cell, options),
  ))));
  const head = rows.filter((each) => each.isHead);
  const body = rows.filter((each) => !each.isHead);
  return h("div", { class: "spread", tabindex: "0", role: "region", "aria-label": "Table" }, h("table", {},
    head.length ? h("thead", {}, ...head.map(row)) : null,
    h("tbody", {}, ...body.map(row))));
}

// The texts between the bars; a bar after a backslash is part of the text.
function cells(line) {
  return line.trim().replace(/^\|/u, "").replace(/(?<!\\)\|$/u, "").split(/(?<!\\)\|/u)
    .map((cell) => cell.trim().replaceAll("\\|", "|"));
}
