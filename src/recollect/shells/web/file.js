// A file with the hit in its context: lines with their numbers, more of them in both directions.

import { ask } from "./api.js";
import { go, here } from "./address.js";
import { count, h, say } from "./dom.js";
import { trouble, waiting } from "./states.js";
import { lineKinds, plain, reveal, shownLine } from "./text.js";

const AROUND = 40; // lines before and after the hit, at first
const STEP = 120; // lines at a time after that

export function open(root) {
  const name = h("h1", { class: "file-name mono" });
  const about = h("p", { class: "soft" });
  const back = h("button", { type: "button", on: { click: leave } }, "← Back");
  const body = h("div", { class: "sheet" });
  root.append(h("div", { class: "file-head" }, back, name, about), body);
  let view = null;
  let title = "File";

  async function update(params, { again = false } = {}) {
    const path = params.get("path") ?? "";
    const from = Math.max(1, Number.parseInt(params.get("from") ?? "", 10) || 1);
    const to = Math.max(from, Number.parseInt(params.get("to") ?? "", 10) || 0);
    const hit = params.has("from") ? { from, to } : null;
    title = plain(path);
    name.replaceChildren(reveal(path));
    about.textContent = hit ? (from === to ? `line ${from}` : `lines ${from}–${to}`) : "";
    if (again && view) return;
    body.replaceChildren(waiting("Reading …"));
    const own = reader(path, hit, body);
    view = own;
    try {
      await own.begin(() => own === view);
    } catch (error) {
      if (own === view) {
        view = null;
        body.replaceChildren(trouble(error, () => update(here().params)));
      }
    }
  }

  function leave() {
    if (history.length > 1) history.back();
    else go("search", {});
  }

  function onKey(event) {
    if (event.key === "Escape") {
      event.preventDefault();
      leave();
    }
  }

  root.addEventListener("keydown", onKey);
  return {
    update,
    title: () => title,
    close() {
      view = null;
      root.removeEventListener("keydown", onKey);
    },
  };
}

function reader(path, hit, body) {
  // Of a transcript one line holds a whole turn, which is shown in several: those have no numbers.
  const isNumbered = !path.startsWith("sessions/");
  const first = hit ? Math.max(1, hit.from - AROUND) : 1;
  let shown = []; // { number, text, isHit }
  let start = first; // first line that is there
  let next = null; // where to go on; null at the end

  async function begin(isWanted) {
    if (!hit) {
      const part = await span(first, first + STEP - 1);
      shown = part.lines;
      next = part.next;
    } else {
      const above = first < hit.from ? await span(first, hit.from - 1) : { lines: [] };
      const middle = await span(hit.from, hit.to);
      const below = middle.next === null
        ? { lines: [], next: null } : await span(hit.to + 1, hit.to + AROUND);
      for (const line of middle.lines) line.isHit = true;
      shown = [...above.lines, ...middle.lines, ...below.lines];
      next = below.next;
    }
    if (!isWanted()) return;
    draw();
    const target = body.querySelector(".is-hit");
    target?.scrollIntoView({ block: "center" });
    body.querySelector(".lines")?.focus({ preventScroll: true });
    say(`${count(shown.length, "line")} of ${plain(path)}`);
  }

  // All lines from one number to another: an answer may hold fewer than were asked for.
  async function span(from, to) {
    const lines = [];
    let at = from;
    while (at !== null && at <= to) {
      const answer = await ask("/api/file", { params: { path, from: at, lines: to - at + 1 } });
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
      button.replaceWith(trouble(error, () => more(button, work)));
    }
  }

  const earlier = (event) => more(event.currentTarget, async () => {
    const from = Math.max(1, start - STEP);
    const part = await span(from, start - 1);
    const height = document.documentElement.scrollHeight;
    start = from;
    shown = [...part.lines, ...shown];
    draw();
    // What was being read stays where it was.
    scrollBy({ top: document.documentElement.scrollHeight - height, behavior: "instant" });
  });

  const later = (event) => more(event.currentTarget, async () => {
    const part = await span(next, next + STEP - 1);
    shown = [...shown, ...part.lines];
    next = part.next;
  });

  function draw() {
    const kinds = lineKinds(shown.map((line) => line.text), { knowsStart: start === 1 });
    const rows = shown.map((line, row) => h(
      "div",
      { class: `row${line.isHit ? " is-hit" : ""}`, id: line.number ? `L${line.number}` : null },
      h("span", { class: "number numbers", "aria-hidden": "true" }, line.number ?? ""),
      h(line.isHit ? "mark" : "span", { class: `line ${kinds[row]}`, dir: "auto" },
        shownLine(line.text)),
    ));
    const none = h("p", { class: "waiting" },
      hit ? "These lines are no longer in the file." : "This file is empty.");
    body.replaceChildren(
      ...(start > 1 ? [h("button", { type: "button", class: "more", on: { click: earlier } },
        `Show ${Math.min(STEP, start - 1)} earlier lines`)] : []),
      h("div", { class: "lines", tabindex: "0", role: "region", "aria-label": `Text of ${plain(path)}` },
        ...(rows.length ? rows : [none])),
      ...(next === null ? [] : [
        h("button", { type: "button", class: "more", on: { click: later } }, "Show more lines")]),
    );
  }

  return { begin };
}
