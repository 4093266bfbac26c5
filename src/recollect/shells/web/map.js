// Chunks as points on a map: the closer, the more similar their meaning. Folders are named; a question can be
// added.

import { latestOnly } from "./api.js";
import { fileLink, folderOf, go } from "./address.js";
import {
  announce, count, debounced, failureNote, h, remarks, searchBox, tag, waiting,
} from "./dom.js";
import { tooLong } from "./failures.js";
import { colourChoice } from "./colours.js";
import { draw, fullView, moved, pick, projection, zoomed } from "./plane.js";
import { plain, reveal } from "./text.js";

export const title = "Map";
export const takesQuestion = true;

const PAUSE_MS = 300;
const NEAREST = 12; // hits of a question that are marked
const BEST = 3; // hits in whose middle the question is
const ZOOM = 1.6; // of one press
const GROUP_ZOOM = 4;
const NAMED = 40; // dots in sight up to which each is named
const DRAG = 4; // pixels from where a press becomes a drag

// The points of the hits of a question, and where the question is: in the middle of its best ones.
function among(points, hits) {
  const at = new Map(points.map(({ path, startLine }, place) => [`${path}:${startLine}`, place]));
  const nearest = hits.map(({ path, startLine }) => at.get(`${path}:${startLine}`))
    .filter((place) => place !== undefined);
  const best = nearest.slice(0, BEST).map((place) => points[place]);
  const middle = (axis) => best.reduce((sum, point) => sum + point[axis], 0) / best.length;
  return { nearest, query: best.length ? { x: middle("x"), y: middle("y") } : null };
}

// The folders of the points with the middle of each, the largest first.
function folders(points) {
  const found = new Map();
  points.forEach(({ path, x, y }) => {
    const name = folderOf(path);
    const each = found.get(name) ?? { name, x: 0, y: 0, size: 0 };
    found.set(name, { name, x: each.x + x, y: each.y + y, size: each.size + 1 });
  });
  return [...found.values()].map((each) => ({ ...each, x: each.x / each.size, y: each.y / each.size }))
    .sort((one, other) => other.size - one.size);
}

export function open(root) {
  const box = searchBox("Place a question on the map");
  const canvas = h("canvas", {
    class: "plane", role: "img", tabindex: "0", "aria-label": "Map of chunks by meaning",
  });
  const labels = h("div", { class: "labels", "aria-hidden": "true" });
  const tip = h("div", { class: "tip", "aria-hidden": "true", hidden: true });
  const summary = h("p", { class: "soft numbers" });
  const notes = h("div", {});
  const list = h("ol", { class: "near" });
  const head = h("h2", {});
  const colours = colourChoice();
  const zoomButton = (sign, words, factor) => h("button", {
    type: "button", "aria-label": words, title: words, on: { click: () => zoomBy(factor) },
  }, sign);
  const stage = h("div", { class: "stage" }, canvas, labels, tip,
    h("div", { class: "zoom", role: "group", "aria-label": "Zoom" },
      zoomButton("+", "Zoom in", ZOOM), zoomButton("−", "Zoom out", 1 / ZOOM), zoomButton("⤢", "Show all", 0)));
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
  let view = fullView();
  let drag = null; // where the pointer was pressed, and how far it has moved

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
      const response = await request("/api/map", {});
      const { results } = question.trim()
        ? await request("/api/search", { params: { query: question, maxResults: NEAREST, tail: true } })
        : { results: [] };
      const { points } = response;
      current = { ...response, question, groups: folders(points), ...among(points, results) };
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
    summary.textContent = current.total ? amount : "";
    view = fullView();
    list.replaceChildren(...(current.nearest.length ? entries() : folderEntries()));
    head.textContent = current.nearest.length ? "Nearest to the question" : "Folders";
    canvas.setAttribute("aria-label",
      `Map of chunks by meaning: ${amount}${current.query ? ", with the question" : ""}. `
      + "The list beside it names them.");
    paint();
    announce(current.total ? amount : "");
  }

  function folderEntries() {
    return current.groups.map((group) => h("li", {},
      h("button", { type: "button", class: "group-name", dir: "auto", on: { click: () => zoomTo(group) } },
        reveal(group.name || "notes outside of folders")),
      h("p", { class: "place" }, count(group.size, "chunk"))));
  }

  function entries() {
    return current.nearest.map((place) => {
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
    plane = projection(canvas, current, view);
    draw(canvas, plane, current, { colourOf: colours.colourOf(current), highlighted });
    showLabels();
  }

  // The names of the dots if few are in sight, and of the folders, as far as they do not cover each other.
  function showLabels() {
    const inSight = current.points.filter((point) => {
      const [x, y] = plane.at(point);
      return x > 0 && y > 0 && x < plane.width && y < plane.height;
    });
    const dots = inSight.length > NAMED ? [] : inSight.map((point) => ({
      x: point.x, y: point.y, name: point.heading.at(-1) ?? point.path, isDot: true,
    }));
    const named = [...dots, ...current.groups.filter(({ name }) => name)];
    labels.replaceChildren(...named.map(({ name, isDot }) => h(
      "span", { class: isDot ? "group-label dot" : "group-label", dir: "auto" }, reveal(name),
    )));
    const taken = [];
    named.forEach((group, place) => {
      const label = labels.children[place];
      const [x, y] = plane.at(group);
      const raised = group.isDot ? label.offsetHeight : label.offsetHeight / 2; // beside its dot
      const box = { x: x - label.offsetWidth / 2, y: y - raised - (group.isDot ? 5 : 0), w: label.offsetWidth, h: label.offsetHeight };
      const isOutside = box.x < 0 || box.y < 0 || box.x + box.w > plane.width || box.y + box.h > plane.height;
      const isCovered = taken.some((other) => box.x < other.x + other.w && other.x < box.x + box.w
        && box.y < other.y + other.h && other.y < box.y + box.h);
      label.hidden = isOutside || isCovered;
      if (label.hidden) return;
      taken.push(box);
      label.style.left = `${box.x}px`;
      label.style.top = `${box.y}px`;
    });
  }

  function zoomBy(factor, at = [plane.width / 2, plane.height / 2]) {
    if (!plane) return;
    view = factor ? zoomed(view, plane, factor, at) : fullView();
    highlight(-1);
  }

  function zoomTo({ x, y }) {
    view = { zoom: GROUP_ZOOM, x, y };
    highlight(-1);
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
    if (drag) {
      view = moved(view, plane, event.offsetX - drag.x, event.offsetY - drag.y);
      drag = { x: event.offsetX, y: event.offsetY, far: drag.far + Math.abs(event.movementX) + Math.abs(event.movementY) };
      if (drag.far > DRAG) {
        highlight(-1);
        return;
      }
    }
    const place = pick(plane, current.points, event.offsetX, event.offsetY);
    if (place !== highlighted) highlight(place);
    canvas.classList.toggle("is-over", place >= 0);
  }

  function onCanvasKey(event) {
    const factor = { "+": ZOOM, "=": ZOOM, "-": 1 / ZOOM, 0: 0 }[event.key];
    const step = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
    if (factor === undefined && !step) return;
    event.preventDefault();
    if (step) {
      view = moved(view, plane, ...step);
      highlight(-1);
    } else {
      zoomBy(factor);
    }
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
  canvas.addEventListener("mousedown", (event) => { drag = { x: event.offsetX, y: event.offsetY, far: 0 }; });
  canvas.addEventListener("mouseleave", () => {
    drag = null;
    highlight(-1);
  });
  canvas.addEventListener("click", () => {
    const isDragged = drag !== null && drag.far > DRAG;
    drag = null;
    if (highlighted >= 0 && !isDragged) location.hash = fileLink(current.points[highlighted]);
  });
  canvas.addEventListener("dblclick", (event) => zoomBy(ZOOM, [event.offsetX, event.offsetY]));
  // The wheel alone scrolls the page.
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoomBy(event.deltaY < 0 ? ZOOM : 1 / ZOOM, [event.offsetX, event.offsetY]);
  }, { passive: false });
  canvas.addEventListener("keydown", onCanvasKey);
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
