// Chunks as points on a map: the closer, the more similar their meaning. A question can be added.

import { latestOnly } from "./api.js";
import { fileLink, go } from "./address.js";
import {
  announce, count, debounced, failureNote, h, remarks, searchBox, swatch, tag, waiting,
} from "./dom.js";
import { tooLong } from "./failures.js";
import { draw, pick, projection } from "./plane.js";
import { plain, reveal } from "./text.js";

export const title = "Map";
export const takesQuestion = true;

const PAUSE_MS = 300;
const LISTED = 25; // points named beside a map without a question

export function open(root) {
  const box = searchBox("Place a question on the map");
  const canvas = h("canvas", { class: "plane", role: "img", "aria-label": "Map of chunks by meaning" });
  const tip = h("div", { class: "tip", "aria-hidden": "true", hidden: true });
  const summary = h("p", { class: "soft numbers" });
  const notes = h("div", {});
  const list = h("ol", { class: "near" });
  const head = h("h2", {});
  const colours = colourChoice();
  const stage = h("div", { class: "stage" }, canvas, tip);
  const content = h("div", { class: "map", hidden: true }, stage,
    h("section", { class: "beside", "aria-label": "Chunks of the map" }, head, list));
  const status = h("div", {}, waiting("Loading …"));
  root.append(
    h("div", { class: "head" }, h("h1", {}, title),
      h("p", { class: "lead" }, "Chunks with similar meaning are close together.")),
    h("form", { role: "search", on: { submit: (event) => { event.preventDefault(); settled(); } } }, box),
    notes, h("div", { class: "map-head" }, colours.fieldset, colours.legend, summary), status, content,
  );

  const requests = latestOnly();
  let current = null; // the response, and the question it was for
  let plane = null; // where the points are on the canvas
  let highlighted = -1; // the point under the pointer or the focus

  async function update(params, { again = false } = {}) {
    const question = params.get("q") ?? "";
    colours.choose(params.get("colour"));
    if (box.value.trim() !== question.trim()) box.value = question;
    if (current && current.question === question && !again) {
      notes.replaceChildren(...remarks(current));
      paint();
      return;
    }
    const failure = tooLong(question);
    if (failure) {
      requests.cancel();
      notes.replaceChildren(failureNote(failure));
      status.replaceChildren();
      stage.removeAttribute("aria-busy");
      return;
    }
    stage.setAttribute("aria-busy", "true");
    await requests.run(async (request) => {
      const response = await request("/api/map", { params: { query: question.trim() || null } });
      current = { ...response, question };
      show();
    }, {
      failed(error) {
        current = null;
        content.hidden = true;
        status.replaceChildren(failureNote(error, () => update(params, { again: true })));
      },
      ended: () => stage.removeAttribute("aria-busy"),
    });
  }

  function show() {
    status.replaceChildren();
    content.hidden = current.points.length === 0;
    notes.replaceChildren(...remarks(current));
    const amount = current.shown < current.total
      ? `${current.shown.toLocaleString("en")} of ${current.total.toLocaleString("en")} chunks shown`
      : `${count(current.total, "chunk")}`;
    const share = `; the two axes show ${Math.round(current.spread * 100)}% of their differences`;
    summary.textContent = current.total ? amount + share : "";
    list.replaceChildren(...entries());
    head.textContent = current.query ? "Nearest to the question" : "Some of the chunks";
    canvas.setAttribute("aria-label",
      `Map of chunks by meaning: ${amount}${current.query ? ", with the question" : ""}. `
      + "The list beside it names them.");
    paint();
    announce(current.total ? amount : "");
  }

  // The points that the list names: the nearest to the question, or an even sample.
  function listedPoints() {
    if (current.nearest.length) return current.nearest;
    const length = Math.min(LISTED, current.points.length);
    return Array.from({ length }, (_, place) => Math.floor((place * current.points.length) / length));
  }

  function entries() {
    return listedPoints().map((place) => {
      const point = current.points[place];
      const onPoint = () => highlight(place);
      return h("li", {},
        h("a", { href: fileLink(point), on: { focus: onPoint, mouseenter: onPoint } },
          reveal(point.heading.at(-1) ?? point.path)),
        h("p", { class: "place" }, tag(point.source),
          h("span", { class: "mono" }, reveal(`${point.path}:${point.startLine}`))));
    });
  }

  function paint() {
    if (!current || content.hidden) return;
    plane = projection(canvas, current);
    draw(canvas, plane, current, { colourOf: colours.colourOf(current), highlighted });
  }

  function highlight(place) {
    highlighted = place;
    paint();
    const point = current?.points[place];
    tip.hidden = !point;
    if (!point) return;
    tip.replaceChildren(
      h("strong", {}, plain(point.heading.join(" › ") || point.path)),
      h("span", {}, plain(`${point.path}:${point.startLine}${point.date ? ` · ${point.date}` : ""}`)),
    );
    const [x, y] = plane.at(point);
    const room = stage.clientWidth - tip.offsetWidth - 8;
    tip.style.left = `${Math.max(8, Math.min(x + 12, room))}px`;
    tip.style.top = `${y + 14 + tip.offsetHeight > stage.clientHeight ? y - tip.offsetHeight - 12 : y + 14}px`;
  }

  function onMove(event) {
    if (!current || !plane) return;
    const place = pick(plane, current.points, event.offsetX, event.offsetY);
    if (place !== highlighted) highlight(place);
    canvas.classList.toggle("is-over", place >= 0);
  }

  const address = () => ({ q: box.value, colour: colours.chosen() });
  const typed = debounced(PAUSE_MS, () => go("map", address(), { replace: true }));

  function settled() {
    typed.cancel();
    go("map", address());
  }

  box.addEventListener("input", typed);
  colours.fieldset.addEventListener("change", settled);
  canvas.addEventListener("mousemove", onMove);
  canvas.addEventListener("mouseleave", () => highlight(-1));
  canvas.addEventListener("click", () => {
    if (highlighted >= 0) location.hash = fileLink(current.points[highlighted]);
  });
  document.addEventListener("theme", paint);
  const resized = new ResizeObserver(paint);
  resized.observe(stage);
  return {
    update,
    close() {
      typed.cancel();
      requests.cancel();
      resized.disconnect();
      document.removeEventListener("theme", paint);
    },
  };
}

function colourChoice() {
  const choice = (value, words) => h("label", {},
    h("input", { type: "radio", name: "colour", value, checked: value === "source" }), words);
  const fieldset = h("fieldset", { class: "choices" }, h("legend", {}, "Colour by"),
    choice("source", "source"), choice("age", "age"));
  const legend = h("div", { class: "legend" });
  const value = () => fieldset.querySelector("input:checked").value;

  function swatches() {
    const names = value() === "age"
      ? { age0: "oldest", age1: "", age2: "", age3: "newest", ageless: "undated" }
      : { memory: "memory", sessions: "sessions", facts: "facts" };
    legend.replaceChildren(...Object.entries(names).map(([name, word]) =>
      h("span", { "data-name": name }, swatch(name), word)));
  }

  // A canvas does not know the theme: the points take the colours of the legend's swatches.
  function colourOf({ points }) {
    const byName = Object.fromEntries([...legend.children].map((each) =>
      [each.dataset.name, getComputedStyle(each.firstChild).backgroundColor]));
    if (value() === "source") return (point) => byName[point.source];
    const dates = points.map((point) => point.date).filter(Boolean).sort();
    return (point) => {
      if (!point.date) return byName.ageless;
      const rank = dates.length > 1 ? countBefore(dates, point.date) / (dates.length - 1) : 1;
      return byName[`age${Math.min(3, Math.floor(rank * 4))}`];
    };
  }

  swatches();
  return {
    fieldset, legend, colourOf,
    chosen: () => (value() === "source" ? "" : value()),
    choose(name) {
      for (const input of fieldset.querySelectorAll("input")) {
        input.checked = input.value === (name === "age" ? "age" : "source");
      }
      swatches();
    },
  };
}

// How many of the sorted texts come before this one.
function countBefore(sorted, text) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < text) low = middle + 1;
    else high = middle;
  }
  return low;
}
