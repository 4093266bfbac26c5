// Building elements. Text only becomes text nodes: nothing in a note is read as markup, and nothing in it is
// invisible or reorders what is around it.

import { skippedLegs } from "./failures.js";
import { plain } from "./text.js";

const SVG = "http://www.w3.org/2000/svg";
const SHOWN = new Set(["title", "aria-label", "alt", "placeholder"]);

export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) {
        element.addEventListener(event, listener);
      }
    } else {
      const text = value === true ? "" : String(value);
      element.setAttribute(name, SHOWN.has(name) ? plain(text) : text);
    }
  }
  const given = children.flat(2).filter((child) => child !== null && child !== undefined);
  element.append(...given.map((child) => (typeof child === "string" ? plain(child) : child)));
  return element;
}

export function searchBox(label, attributes = {}) {
  return h("input", {
    type: "search", class: "box", placeholder: label, "aria-label": label, autocomplete: "off",
    spellcheck: "false", dir: "auto", ...attributes,
  });
}

export function field(label, control, className) {
  return h("label", { class: className }, ...(className ? [control, label] : [label, control]));
}

export function tag(source, words = source) {
  return h("span", { class: `tag ${source}` }, words);
}

export function swatch(name) {
  return h("i", { class: `swatch ${name}` });
}

// Notes about the state of things, with the next step.

export function waiting(sentence) {
  return h("p", { class: "waiting" }, sentence);
}

export function note(kind, what, next = null, ...more) {
  return h(
    "div", { class: `note ${kind}` },
    h("strong", {}, commands(what)), next ? h("span", { class: "next" }, commands(next)) : null,
    ...more,
  );
}

export function failureNote(failure, retry = null) {
  const button = retry
    ? h("button", { type: "button", on: { click: retry } }, "Try again")
    : null;
  return h("div", { role: "alert" }, note("bad", failure.message, failure.action ?? null, button));
}

// What a response says about itself.
export function remarks({ degraded, notices = [] }) {
  return [
    ...skippedLegs(degraded).map(({ message, action }) => note("warn", message, action)),
    ...notices.map((sentence) => note("warn", sentence)),
  ];
}

// `Text in backticks` is a command.
export function commands(sentence) {
  return sentence.split("`").map((part, place) => (place % 2 ? h("code", {}, part) : part));
}

// Tells screen readers what has changed on the page.
export function announce(sentence) {
  document.getElementById("announcement").textContent = plain(sentence);
}

// Marks the element whose data attribute has this value as the current one.
export function markCurrent(root, attribute, value, kind = "true") {
  for (const each of root.querySelectorAll(`[data-${attribute}]`)) {
    if (each.dataset[attribute] === value) each.setAttribute("aria-current", kind);
    else each.removeAttribute("aria-current");
  }
}

// Returns a function that runs the last of several calls, after a pause.
export function debounced(milliseconds, work) {
  let timer = null;
  const call = () => {
    clearTimeout(timer);
    timer = setTimeout(work, milliseconds);
  };
  call.cancel = () => clearTimeout(timer);
  return call;
}

export function count(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

export function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

const DAY = new Intl.DateTimeFormat("en-GB", {
  day: "numeric", month: "short", year: "numeric", timeZone: "UTC",
});

export function day(iso) {
  return DAY.format(new Date(`${iso.slice(0, 10)}T00:00:00Z`));
}
