// The lines of a file around a hit, numbered, and more of them in both directions.

import { request } from "./api.js";
import { announce, count, failureNote, h } from "./dom.js";
import { lineKinds, lineNodes, plain } from "./text.js";

const CONTEXT = 40; // lines before and after the hit at first
const STEP = 120; // lines loaded at a time after that

export function reader(path, hit, body) {
  // A transcript holds a turn in one line, shown as several: they have no numbers.
  const isNumbered = !path.startsWith("sessions/");
  const first = hit ? Math.max(1, hit.from - CONTEXT) : 1;
  let shown = []; // { number, text, isHit }
  let firstShown = first;
  let next = null; // the first line not yet loaded; null at the end of the file

  async function start(ownRequest) {
    const span = (from, to) => load(from, to, ownRequest);
    if (!hit) {
      const part = await span(first, first + STEP - 1);
      shown = part.lines;
      next = part.next;
    } else {
      const above = first < hit.from ? await span(first, hit.from - 1) : { lines: [] };
      const middle = await span(hit.from, hit.to);
      const below = middle.next === null
        ? { lines: [], next: null } : await span(hit.to + 1, hit.to + CONTEXT);
      for (const line of middle.lines) line.isHit = true;
      shown = [...above.lines, ...middle.lines, ...below.lines];
      next = below.next;
    }
    draw();
    const target = body.querySelector(".is-hit");
    target?.scrollIntoView({ block: "center" });
    body.querySelector(".lines")?.focus({ preventScroll: true });
    announce(`${count(shown.length, "line")} of ${plain(path)}`);
  }

  // Loads the lines of a range; a response may hold fewer than requested.
  async function load(from, to, send = request) {
    const lines = [];
    let at = from;
    while (at !== null && at <= to) {
      const answer = await send("/api/file", { params: { path, from: at, lines: to - at + 1 } });
      if (answer.lines) {
        answer.text.split("\n").forEach((text, place) => {
          lines.push({ number: isNumbered ? at + place : null, text });
        });
      }
      at = answer.nextFrom;
    }
    return { lines, next: at };
  }

  async function more(button, work) {
    button.disabled = true;
    try {
      await work();
      draw();
    } catch (error) {
      button.replaceWith(failureNote(error, () => more(button, work)));
    }
  }

  const earlier = (event) => more(event.currentTarget, async () => {
    const from = Math.max(1, firstShown - STEP);
    const part = await load(from, firstShown - 1);
    const height = document.documentElement.scrollHeight;
    firstShown = from;
    shown = [...part.lines, ...shown];
    draw();
    // The lines on the screen stay where they are.
    scrollBy({ top: document.documentElement.scrollHeight - height, behavior: "instant" });
  });

  const later = (event) => more(event.currentTarget, async () => {
    const part = await load(next, next + STEP - 1);
    shown = [...shown, ...part.lines];
    next = part.next;
  });

  function draw() {
    const kinds = lineKinds(shown.map((line) => line.text), { knowsStart: firstShown === 1 });
    const rows = shown.map((line, row) => h(
      "div",
      { class: `row${line.isHit ? " is-hit" : ""}`, id: line.number ? `L${line.number}` : null },
      h("span", { class: "number numbers", "aria-hidden": "true" }, line.number ?? ""),
      h(line.isHit ? "mark" : "span", { class: `line ${kinds[row]}`, dir: "auto" },
        lineNodes(line.text)),
    ));
    const none = h("p", { class: "waiting" },
      hit ? "These lines are no longer in the file." : "This file is empty.");
    body.replaceChildren(
      ...(firstShown > 1 ? [h("button", { type: "button", class: "more", on: { click: earlier } },
        `Show ${Math.min(STEP, firstShown - 1)} earlier lines`)] : []),
      h("div", { class: "lines", tabindex: "0", role: "region", "aria-label": `Text of ${plain(path)}` },
        ...(rows.length ? rows : [none])),
      ...(next === null ? [] : [
        h("button", { type: "button", class: "more", on: { click: later } }, "Show more lines")]),
    );
  }

  return { start };
}
