// The text of notes, made safe to show: characters that are invisible or reorder text appear as their
// codes. Words of the question are marked.

const LETTER = "[\\p{L}\\p{M}\\p{N}]";
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

// Control characters except tab and newline; direction marks; invisible spaces and tags.
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/u;
const PARTS = new RegExp(`(${HIDDEN.source})`, "u");

function code(character) {
  return `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
}

// Returns a string, for attributes.
export function plain(text) {
  return text.split(PARTS).map((part) => (HIDDEN.test(part) ? `⟨${code(part)}⟩` : part)).join("");
}

// Returns nodes.
export function reveal(text, { words = null } = {}) {
  const shown = document.createDocumentFragment();
  for (const part of text.replace(/\r$/u, "").split(PARTS)) {
    if (HIDDEN.test(part)) {
      const box = document.createElement("span");
      box.className = "control";
      box.textContent = code(part);
      shown.append(box);
    } else if (part) {
      shown.append(...marked(part, words));
    }
  }
  return shown;
}

// Returns a pattern for words that are to be marked, as they are written in a text; null for none.
export function marksOf(words) {
  if (!words?.length) return null;
  const escaped = [...words]
    .sort((one, other) => other.length - one.length)
    .map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/gu, "\\$&"))
    // In scripts with spaces a word is whole.
    .map((word) => (UNSPACED.test(word) ? word : `(?<!${LETTER})${word}(?!${LETTER})`));
  return new RegExp(`(${escaped.join("|")})`, "giu");
}

function marked(text, words) {
  if (!words) return [document.createTextNode(text)];
  return text.split(words).map((part, place) => {
    if (place % 2 === 0) return document.createTextNode(part);
    const mark = document.createElement("mark");
    mark.textContent = part;
    return mark;
  });
}

// Returns a class for each line, for a light Markdown look; the text stays as it is.
export function lineKinds(lines, { knowsStart = true } = {}) {
  let fence = null;
  return lines.map((line) => {
    const edge = line.match(/^\s*(```+|~~~+)/u)?.[1];
    if (knowsStart && edge && (!fence || edge.startsWith(fence))) {
      fence = fence ? null : edge;
      return "fence";
    }
    if (fence) return "code";
    if (/^#{1,6}\s/u.test(line)) return `heading h${line.match(/^#+/u)[0].length}`;
    if (/^\s*>/u.test(line)) return "quote";
    if (/^\s*([-*+]|\d+[.)])\s/u.test(line)) return "entry";
    if (/^\s*\|.*\|\s*$/u.test(line)) return "cells";
    return "prose";
  });
}

// Returns a line as nodes; the marks of a heading are set apart.
export function lineNodes(line, { words = null } = {}) {
  const [marks] = line.match(/^#{1,6}\s+/u) ?? [""];
  const shown = document.createDocumentFragment();
  if (marks) {
    const before = document.createElement("span");
    before.className = "marks";
    before.textContent = marks;
    shown.append(before);
  }
  shown.append(reveal(line.slice(marks.length), { words }));
  return shown;
}
