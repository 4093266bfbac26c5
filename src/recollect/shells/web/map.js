// Chunks as points of a plane, near to each other where they mean alike, and a question among them.

import { ask } from "./api.js";
import { fileLink, go } from "./address.js";
import { count, h, say } from "./dom.js";
import { draw, pick, view as viewOf } from "./plane.js";
import { isTooLong, remarks, tooLong, trouble, waiting } from "./states.js";
import { plain, reveal } from "./text.js";

const PAUSE_MS = 300;
const LISTED = 25; // points named beside a map without a question

export function open(root) {
  const box = h("input", {
    type: "search", class: "box", placeholder: "Place a question on the map", autocomplete: "off",
    spellcheck: "false", "aria-label": "Place a question on the map", dir: "auto",
  });
  const canvas = h("canvas", { class: "plane", role: "img", "aria-label": "Map of chunks by meaning" });
  const tip = h("div", { class: "tip", "aria-hidden": "true", hidden: true });
  const summary = h("p", { class: "soft numbers" });
  const said = h("div", {});
  const list = h("ol", { class: "near" });
  const head = h("h2", {});
  const colours = colourChoice();
  const stage = h("div", { class: "stage" }, canvas, tip);
  const content = h("div", { class: "map", hidden: true }, stage,
    h("section", { class: "beside", "aria-label": "Chunks of the map" }, head, list));
  const wait = h("div", {}, waiting("Drawing …"));
  root.append(
    h("div", { class: "head" }, h("h1", {}, "Map"),
      h("p", { class: "lead" }, "Chunks that mean alike lie near each other.")),
    h("form", { role: "search", on: { submit: (event) => { event.preventDefault(); settled(); } } }, box),
    said, h("div", { class: "map-head" }, colours.fieldset, colours.legend, summary), wait, content,
  );

  let drawn = null; // the answer
  let plane = null; // where its points fall on the canvas
  let lit = -1; // the point that is pointed at
  let asked = null;
  let number = 0;
  let timer = null;
  let listed = LISTED;

  async function update(params, { again = false } = {}) {
    const question = params.get("q") ?? "";
    colours.choose(params.get("colour"));
    if (box.value.trim() !== question.trim()) box.value = question;
    if (drawn && drawn.asked === question && !again) {
      said.replaceChildren(...remarks(drawn));
      paint();
      return;
    }
    asked?.abort();
    asked = new AbortController();
    const own = (number += 1);
    if (isTooLong(question)) {
      said.replaceChildren(tooLong(question));
      wait.replaceChildren();
      stage.removeAttribute("aria-busy");
      return;
    }
    stage.setAttribute("aria-busy", "true");
    try {
      const answer = await ask("/api/map", {
        params: { query: question.trim() || null }, signal: asked.signal,
      });
      if (own !== number) return;
      drawn = { ...answer, asked: question };
      listed = LISTED;
      show();
    } catch (error) {
      if (error.name === "AbortError" || own !== number) return;
      drawn = null;
      content.hidden = true;
      wait.replaceChildren(trouble(error, () => update(params, { again: true })));
    } finally {
      if (own === number) stage.removeAttribute("aria-busy");
    }
  }

  function show() {
    wait.replaceChildren();
    content.hidden = drawn.points.length === 0;
    said.replaceChildren(...remarks(drawn));
    const some = drawn.shown < drawn.total
      ? `${drawn.shown.toLocaleString("en")} of ${drawn.total.toLocaleString("en")} chunks shown`
      : `${count(drawn.total, "chunk")}`;
    const carried = `; the two axes carry ${Math.round(drawn.spread * 100)} % of how they differ`;
    summary.textContent = drawn.total ? some + carried : "";
    list.replaceChildren(...entries());
    head.textContent = drawn.query ? "Nearest to the question" : "Some of the chunks";
    canvas.setAttribute("aria-label",
      `Map of chunks by meaning: ${some}${drawn.query ? ", with the question" : ""}. `
      + "The list beside it names them.");
    paint();
    say(drawn.total ? some : "");
  }

  function named() {
    if (drawn.nearest.length) return drawn.nearest;
    const most = Math.min(listed, drawn.points.length);
    return Array.from({ length: most }, (_, place) => Math.floor((place * drawn.points.length) / most));
  }

  function entries() {
    return named().map((place) => {
      const point = drawn.points[place];
      const lightUp = () => light(place);
      return h("li", {},
        h("a", { href: fileLink(point), on: { focus: lightUp, mouseenter: lightUp } },
          reveal(point.heading.at(-1) ?? point.path)),
        h("p", { class: "place" }, h("span", { class: `tag ${point.source}` }, point.source),
          h("span", { class: "mono" }, reveal(`${point.path}:${point.startLine}`))));
    });
  }

  function paint() {
    if (!drawn || content.hidden) return;
    plane = viewOf(canvas, drawn);
    draw(canvas, plane, drawn, { colours: colours.colours(drawn), lit });
  }

  function light(place) {
    lit = place;
    paint();
    const point = drawn?.points[place];
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
    if (!drawn || !plane) return;
    const place = pick(plane, drawn.points, event.offsetX, event.offsetY);
    if (place !== lit) light(place);
    canvas.classList.toggle("is-over", place >= 0);
  }

  function settled() {
    clearTimeout(timer);
    go("map", { q: box.value, colour: colours.chosen() });
  }

  box.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => go("map", { q: box.value, colour: colours.chosen() }, { quietly: true }),
      PAUSE_MS);
  });
  colours.fieldset.addEventListener("change", settled);
  canvas.addEventListener("mousemove", onMove);
  canvas.addEventListener("mouseleave", () => light(-1));
  canvas.addEventListener("click", () => {
    if (lit >= 0) location.hash = fileLink(drawn.points[lit]);
  });
  document.addEventListener("theme", paint);
  const resized = new ResizeObserver(paint);
  resized.observe(stage);
  return {
    update,
    close() {
      clearTimeout(timer);
      asked?.abort();
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
      h("span", { "data-name": name }, h("i", { class: `swatch ${name}` }), word)));
  }

  // A canvas cannot see the theme: what its swatches have got is taken for the points.
  function colours({ points }) {
    const got = Object.fromEntries([...legend.children].map((each) =>
      [each.dataset.name, getComputedStyle(each.firstChild).backgroundColor]));
    if (value() === "source") return (point) => got[point.source];
    const dates = points.map((point) => point.date).filter(Boolean).sort();
    return (point) => {
      if (!point.date) return got.ageless;
      const rank = dates.length > 1 ? lower(dates, point.date) / (dates.length - 1) : 1;
      return got[`age${Math.min(3, Math.floor(rank * 4))}`];
    };
  }

  swatches();
  return {
    fieldset, legend, colours,
    chosen: () => (value() === "source" ? "" : value()),
    choose(name) {
      for (const input of fieldset.querySelectorAll("input")) {
        input.checked = input.value === (name === "age" ? "age" : "source");
      }
      swatches();
    },
  };
}

// How many of the sorted texts come before one.
function lower(sorted, text) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < text) low = middle + 1;
    else high = middle;
  }
  return low;
}
