// Why a hit has its score: its parts as a stacked bar, and as a table that adds up.
//
// Positive parts are stacked from the left. Negative parts are dashed and cover the right end of
// them, so that the solid part of the bar ends at the score.

import { h, svg } from "./dom.js";

const UNITS = 1000; // the width of the bar, for a score of 1

const ABOUT = {
  keyword: "words of the question",
  vector: "meaning",
  date: "a date in the question",
  source: "the weight of its source",
  exact: "an exact name in the question",
  decay: "age",
  rerank: "the reader",
};

const RAW = { keyword: "BM25", vector: "cosine" };

// The parts of a score in the order of the pipeline. Every leg is listed; stages only if they count.
export function partsOf(explain) {
  const legs = Object.entries(explain.legs).map(([name, leg]) => ({
    name, value: leg.contribution, detail: legDetail(name, leg),
  }));
  const stages = ["source", "exact", "decay", "rerank"].map((name) => ({
    name,
    value: explain[name],
    detail: name === "decay" && explain.ageDays !== null ? `${explain.ageDays} days old` : "",
  }));
  return [...legs, ...stages].filter((part, place) => part.value !== 0 || place < legs.length);
}

const FOUND = {
  keyword: "words", vector: "meaning", date: "its date", exact: "an exact name", rerank: "the reader",
};
const LOWERED = { source: "its source", decay: "its age", rerank: "the reader" };

// Which parts made a hit be found, as shares of what speaks for it.
export function inWords(parts) {
  const total = parts.reduce((sum, { value }) => sum + Math.max(0, value), 0);
  const found = parts
    .filter(({ value }) => value > 0)
    .map(({ name, value }) => ({ words: FOUND[name] ?? name, share: Math.round((100 * value) / total) }))
    .filter(({ share }) => share > 0)
    .sort((one, other) => other.share - one.share)
    .map(({ words, share }) => `by ${words} ${share}%`);
  const lowered = parts.filter(({ name, value }) => value < 0 && LOWERED[name]).map(({ name }) => LOWERED[name]);
  return `found ${found.join(", ")}${lowered.length ? `; lowered for ${lowered.join(" and ")}` : ""}`;
}

function legDetail(name, leg) {
  const rank = leg.rank === null ? "" : `rank ${leg.rank}, `;
  const raw = `${RAW[name] ?? "raw"} ${leg.raw.toFixed(2)}`;
  return `${rank}${raw}, normalised ${leg.normalised.toFixed(2)}`;
}

function number(value) {
  const sign = value < 0 ? "−" : "+";
  return `${sign}${Math.abs(value).toFixed(3)}`;
}

// Units per point of score.
function scaleOf(parts) {
  return UNITS / Math.max(1, parts.reduce((sum, part) => sum + Math.max(0, part.value), 0));
}

export function bar(parts) {
  const scale = scaleOf(parts);
  const segments = [];
  let at = 0;
  for (const part of parts.filter(({ value }) => value > 0)) {
    segments.push(segment(part, at, part.value * scale));
    at += part.value * scale;
  }
  for (const part of parts.filter(({ value }) => value < 0)) {
    at += part.value * scale;
    segments.push(segment(part, at, -part.value * scale));
  }
  const words = parts.map((part) => `${part.name} ${number(part.value)}`).join(", ");
  return svg(
    "svg",
    {
      class: "bar", viewBox: `0 0 ${UNITS} 10`, preserveAspectRatio: "none", role: "img",
      "aria-label": `${words}; together ${(at / scale).toFixed(3)}`,
    },
    svg("rect", { class: "ground", width: UNITS, height: 10 }),
    ...segments,
  );
}

function segment(part, x, width) {
  const sign = part.value < 0 ? " minus" : "";
  return svg("rect", {
    class: `part ${part.name}${sign}`, "data-part": part.name, "data-value": part.value,
    x, width, y: 0, height: 10,
  });
}

// One row per part, drawn where it starts and ends on the way to the score.
export function partsTable(parts, { score, explain }) {
  let at = 0;
  const scale = scaleOf(parts);
  const rows = parts.map((part) => {
    const from = at;
    at += part.value;
    return h(
      "tr", {},
      h("th", { scope: "row" }, part.name),
      h("td", { class: "wide", "aria-hidden": "true" },
        svg("svg", { class: "bar", viewBox: `0 0 ${UNITS} 10`, preserveAspectRatio: "none" },
          svg("rect", { class: "ground", width: UNITS, height: 10 }),
          segment(part, Math.min(from, at) * scale, Math.abs(part.value) * scale))),
      h("td", { class: "numbers" }, number(part.value)),
      h("td", { class: "soft" }, part.detail || ABOUT[part.name] || ""),
    );
  });
  const placed = `place ${explain.place}`;
  const similar = explain.similarity === null
    ? "" : `, similarity to the hits above ${explain.similarity.toFixed(2)}`;
  return h(
    "table", { class: "parts" },
    h("caption", { class: "visually-hidden" }, "The parts of the score"),
    h("thead", { class: "visually-hidden" },
      h("tr", {}, ...["Part", "Bar", "Contribution", "Detail"].map((name) =>
        h("th", { scope: "col" }, name)))),
    h("tbody", {}, ...rows),
    h("tfoot", {}, h("tr", {},
      h("th", { scope: "row" }, "score"),
      h("td", { class: "wide" }),
      h("td", { class: "numbers" }, score.toFixed(3)),
      h("td", { class: "soft" }, `${placed}${similar}`))),
  );
}
