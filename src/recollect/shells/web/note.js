// A note as an article: its Markdown as headings, lists, tables, code, quotations and pictures; its front matter
// as a table. Each piece knows its lines, so that those of a hit can be marked. Text only becomes text nodes.

import { requestPicture } from "./api.js";
import { link } from "./address.js";
import { h } from "./dom.js";
import { inline, table } from "./markdown.js";
import { marksOf, reveal } from "./text.js";

const MOST_DEPTH = 12; // of lists and quotations in each other
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)(?:\s+#+)?\s*$/u;
const FENCE = /^\s*(`{3,}|~{3,})\s*([^`\s]*)[^`]*$/u;
const RULE = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/u;
const QUOTE = /^ {0,3}> ?/u;
const CALLOUT = /^\[!(\w+)\][-+]?\s*(.*)$/u;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])(?: +|$)/u;
const TASK = /^\[([ xX])\]\s+/u;
const HEAD_RULE = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/u;
const FIELD = /^([\p{L}_][\p{L}\p{N}_. -]{0,60}):(?:\s+(.*))?$/u;

// Returns the title of a note and its elements. The lines of the hit are marked, in them the words.
export function article(text, { path, hit = null, words = [] }) {
  const lines = text.split("\n").map((line, place) => ({
    text: line.replace(/\t/gu, "    ").replace(/\r$/u, ""), number: place + 1,
  }));
  const marks = marksOf(words);
  const state = { path, hit, marks, pieces: [], levels: [], title: null };
  const front = frontMatter(lines);
  const body = lines.slice(front.end);
  const first = body.findIndex((line) => line.text.trim());
  const heading = first < 0 ? null : body[first].text.match(HEADING);
  if (heading?.[1] === "#") {
    state.title = heading[2].replace(/[*_`]/gu, "");
    state.levels.push(1);
    body.splice(0, first + 1);
  }
  const nodes = [front.table(state), ...parsed(body, state, 0)].filter(Boolean);
  markHit(state);
  return { title: state.title ?? front.title, nodes };
}

// Marks the pieces of the hit by an edge; those with most of its words stand out.
function markHit({ hit, marks, pieces }) {
  if (!hit) return;
  const inside = pieces.filter(({ from, to }) => from <= hit.to && to >= hit.from);
  for (const { element } of inside) element.classList.add("in-hit");
  const amount = ({ element }) => {
    const found = [...element.querySelectorAll("mark")].map((mark) => mark.textContent.toLowerCase());
    return new Set(found).size;
  };
  const most = marks ? Math.max(0, ...inside.map(amount)) : 0;
  // Nothing stands out in a note that is the hit as a whole and has none of its words.
  const best = most ? inside.filter((piece) => amount(piece) === most) : inside.length < pieces.length ? inside : [];
  for (const { element } of best) element.classList.add("is-hit");
}

// A leaf of the article with the lines it is made of.
function piece(state, from, to, element) {
  state.pieces.push({ from, to, element });
  return element;
}

// What a text is rendered with: words are marked only in the hit.
function optionsFor({ path, hit, marks }, from, to = from) {
  const isInside = hit && from <= hit.to && to >= hit.from;
  return { path, hasTags: true, words: isInside ? marks : null, picture: (target, label) => picture(path, target, label) };
}

const READERS = [code, heading, rule, rows, quotation, list, paragraph];

function parsed(lines, state, depth) {
  const nodes = [];
  let at = 0;
  while (at < lines.length) {
    if (!lines[at].text.trim()) {
      at += 1;
      continue;
    }
    for (const reader of depth < MOST_DEPTH ? READERS : [paragraph]) {
      const found = reader(lines, at, state, depth);
      if (found) {
        nodes.push(found.node);
        at = found.end;
        break;
      }
    }
  }
  return nodes;
}

function code(lines, at, state) {
  const [, fence, language] = lines[at].text.match(FENCE) ?? [];
  if (!fence) return null;
  const isEnd = ({ text }) => text.trim().startsWith(fence) && !text.trim().replaceAll(fence[0], "");
  const length = lines.slice(at + 1).findIndex(isEnd);
  const end = length < 0 ? lines.length : at + 1 + length;
  const shown = lines.slice(at + 1, end).map(({ text, number }, place) => {
    const row = h("span", {}, reveal(text, optionsFor(state, number)));
    return [place ? "\n" : "", piece(state, number, number, row)];
  });
  const node = h("pre", { class: "block" }, language ? h("span", { class: "language" }, reveal(language)) : null,
    h("code", {}, ...shown.flat()));
  return { node, end: Math.min(end + 1, lines.length) };
}

function heading(lines, at, state) {
  const [, marks, words] = lines[at].text.match(HEADING) ?? [];
  return marks ? { node: headingNode(state, marks.length, words, lines[at].number), end: at + 1 } : null;
}

// Levels follow each other without a gap, below the title of the page.
function headingNode(state, level, words, number) {
  while (state.levels.length && state.levels.at(-1) >= level) state.levels.pop();
  state.levels.push(level);
  const shown = Math.min(6, state.levels.length + (state.title === null || level === 1 ? 1 : 0));
  const content = inline(words, optionsFor(state, number));
  return piece(state, number, number, h(`h${Math.max(2, shown)}`, { "data-section": sectionOf(words), dir: "auto" }, content));
}

// How links name a heading.
export function sectionOf(words) {
  return words.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/gu, "");
}

function rule(lines, at) {
  return RULE.test(lines[at].text) ? { node: h("hr"), end: at + 1 } : null;
}

function isTable(lines, at) {
  const next = lines[at + 1]?.text ?? "";
  return lines[at].text.includes("|") && next.includes("-") && next.includes("|") && HEAD_RULE.test(next);
}

function rows(lines, at, state) {
  if (!isTable(lines, at)) return null;
  let end = at + 2;
  while (end < lines.length && lines[end].text.includes("|")) end += 1;
  const shown = [lines[at], ...lines.slice(at + 2, end)]
    .map(({ text, number }, place) => ({ line: text, number, isHead: place === 0 }));
  const options = optionsFor(state, lines[at].number, lines[end - 1].number);
  return { node: table(shown, options, (number, row) => piece(state, number, number, row)), end };
}

function quotation(lines, at, state, depth) {
  if (!QUOTE.test(lines[at].text)) return null;
  let end = at + 1;
  while (end < lines.length && (QUOTE.test(lines[end].text) || isContinued(lines, end))) end += 1;
  const inner = lines.slice(at, end).map(({ text, number }) => ({ text: text.replace(QUOTE, ""), number }));
  const [, kind, words] = inner[0].text.match(CALLOUT) ?? [];
  const title = kind ? h("p", { class: "callout" }, inline(words || kind, optionsFor(state, inner[0].number))) : null;
  return { node: h("blockquote", {}, title, ...parsed(title ? inner.slice(1) : inner, state, depth + 1)), end };
}

function list(lines, start, state, depth) {
  const [, { length: indent }, sign] = lines[start].text.match(ITEM) ?? [null, "", null];
  if (!sign) return null;
  const isOrdered = /\d/u.test(sign);
  const items = [];
  let at = start;
  while (at < lines.length) {
    const found = lines[at].text.match(ITEM);
    if (found && Math.abs(found[1].length - indent) < 2 && /\d/u.test(found[2]) === isOrdered && !RULE.test(lines[at].text)) {
      items.push([{ text: lines[at].text.slice(found[0].length), number: lines[at].number, width: found[0].length }]);
    } else if (belongs(lines, at, indent)) {
      const { text, number } = lines[at];
      const own = Math.min(text.match(/^ */u)[0].length, items.at(-1)[0].width);
      items.at(-1).push({ text: text.slice(own), number });
    } else {
      break;
    }
    at += 1;
  }
  const node = h(isOrdered ? "ol" : "ul", { start: isOrdered ? Number.parseInt(sign, 10) : null },
    ...items.map((own) => item(own, state, depth)));
  return { node, end: at };
}

// Whether a line is part of the item above it: it is indented, or goes on with its text.
function belongs(lines, at, indent) {
  const { text } = lines[at];
  if (!text.trim()) {
    const next = lines.slice(at).find((line) => line.text.trim())?.text ?? "";
    return next.match(/^ */u)[0].length > indent || Boolean(ITEM.exec(next));
  }
  return text.match(/^ */u)[0].length > indent + 1 || isContinued(lines, at);
}

// Whether a line goes on with the text of the line above.
function isContinued(lines, at) {
  return at > 0 && Boolean(lines[at - 1].text.trim()) && Boolean(lines[at].text.trim()) && !startsBlock(lines, at);
}

function item(lines, state, depth) {
  const [first] = lines;
  const [task, mark] = first.text.match(TASK) ?? [];
  const own = [{ ...first, text: first.text.slice(task?.length ?? 0) }, ...lines.slice(1)];
  const nodes = parsed(own, state, depth + 1);
  if (!task) return h("li", {}, ...nodes);
  const isDone = mark !== " ";
  const box = h("input", { type: "checkbox", disabled: true, checked: isDone, "aria-label": isDone ? "done" : "to do" });
  (nodes[0]?.tagName === "P" ? nodes[0] : (nodes.unshift(h("p")), nodes[0])).prepend(box);
  return h("li", { class: isDone ? "task done" : "task" }, ...nodes);
}

function startsBlock(lines, at) {
  const { text } = lines[at];
  return [HEADING, FENCE, RULE, QUOTE, ITEM].some((sign) => sign.test(text)) || isTable(lines, at);
}

function paragraph(lines, at, state) {
  let end = at + 1;
  while (end < lines.length && isContinued(lines, end) && !/^ {0,3}(?:=+|-+) *$/u.test(lines[end].text)) end += 1;
  const [from, to] = [lines[at].number, lines[end - 1].number];
  const text = lines.slice(at, end).map((line) => line.text.trim()).join("\n");
  const underline = lines[end]?.text.trim() ?? "";
  if (end === at + 1 && /^(?:=+|-+)$/u.test(underline)) {
    return { node: headingNode(state, underline[0] === "=" ? 1 : 2, text, from), end: end + 1 };
  }
  return { node: piece(state, from, to, h("p", { dir: "auto" }, inline(text, optionsFor(state, from, to)))), end };
}

function picture(path, target, label) {
  const image = h("img", { class: "picture", alt: label || target });
  const holder = h("span", { class: "picture-of" }, image);
  requestPicture({ path: target, note: path })
    .then((address) => { image.src = address; })
    .catch((error) => holder.replaceChildren(h("span", { class: "soft" }, reveal(`${label || target}: ${error.message}`))));
  return holder;
}

// The fields at the top of a note, and the place of the line after them.
function frontMatter(lines) {
  const none = { end: 0, title: null, table: () => null };
  if (lines[0]?.text.trimEnd() !== "---") return none;
  const length = lines.slice(1).findIndex(({ text }) => /^(?:---|\.\.\.)\s*$/u.test(text));
  if (length < 0) return none;
  const fields = [];
  for (const { text, number } of lines.slice(1, length + 1)) {
    const [, name, value = ""] = text.match(FIELD) ?? [];
    if (name) fields.push({ name, values: listed(value), number });
    else if (fields.length && text.trim()) fields.at(-1).values.push(clean(text.replace(/^\s*-\s*/u, "")));
  }
  const titled = fields.find(({ name }) => name.toLowerCase() === "title");
  return {
    end: length + 2,
    title: titled?.values[0] ?? null,
    table: (state) => (fields.length > (titled ? 1 : 0) ? h("table", { class: "front" }, h("tbody", {}, ...fields.filter((each) => each !== titled).map(({ name, values, number }) =>
      piece(state, number, number, h("tr", {}, h("th", { scope: "row" }, reveal(name)),
        h("td", { dir: "auto" }, ...fieldValues(name, values, optionsFor(state, number)))))))) : null),
  };
}

function fieldValues(name, values, options) {
  const isTags = /^(?:tags?|keywords)$/iu.test(name);
  return values.flatMap((value, place) => [place ? ", " : "", ...(isTags ? [tagLink(value)] : inline(value, options))]);
}

function tagLink(value) {
  const name = value.replace(/^#/u, "");
  return h("a", { href: link("notes", { tag: name }) }, reveal(`#${name}`));
}

function listed(value) {
  const inner = value.match(/^\[(?!\[)(.*)\]$/u);
  const parts = inner ? inner[1].split(",") : [value];
  return parts.map(clean).filter(Boolean);
}

function clean(value) {
  return value.trim().replace(/^(["'])(.*)\1$/u, "$2");
}
