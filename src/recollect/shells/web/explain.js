// Why a hit has its score: the parts as one stacked bar, and as a table that adds up.
//
// What adds stands from the left, one behind the other; what takes away is dashed and lies over
// the right end of it, so that the bar ends in the open where the score is.

import { h, svg } from "./dom.js";

export const UNITS = 1000; // of the bar's width: a score of 1

const ABOUT = {
  keyword: "words of the question",
  vector: "meaning",
  date: "a day the question names",
  source: "weight of its source",
  exact: "the very name asked for",
  decay: "age",
  rerank: "a model's second look",
};

const RAW = { keyword: "BM25", vector: "cosine" };

// The parts of a score in the order they came about; parts of nothing are left out.
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

function legDetail(name, leg) {
  const rank = leg.rank === null ? "" : `rank ${leg.rank}, `;
  const raw = `${RAW[name] ?? "raw"} ${leg.raw.toFixed(2)}`;
  return `${rank}${raw}, normalised ${leg.normalised.toFixed(2)}`;
}

export function number(value) {
  const sign = value < 0 ? "−" : "+";
  return `${sign}${Math.abs(value).toFixed(3)}`;
}

export function bar(parts) {
  const gained = parts.filter((part) => part.value > 0);
  const lost = parts.filter((part) => part.value < 0);
  const most = gained.reduce((sum, part) => sum + part.value, 0);
  const scale = UNITS / Math.max(1, most);
  const pieces = [];
  let at = 0;
  for (const part of gained) {
    pieces.push(piece(part, at, part.value * scale));
    at += part.value * scale;
  }
  for (const part of lost) {
    at += part.value * scale;
    pieces.push(piece(part, at, -part.value * scale));
  }
  const words = parts.map((part) => `${part.name} ${number(part.value)}`).join(", ");
  return svg(
    "svg",
    {
      class: "bar", viewBox: `0 0 ${UNITS} 10`, preserveAspectRatio: "none", role: "img",
      "aria-label": `${words}; together ${(at / scale).toFixed(3)}`,
    },
    svg("rect", { class: "ground", width: UNITS, height: 10 }),
    ...pieces,
  );
}

function piece(part, x, width) {
  const sign = part.value < 0 ? " minus" : "";
  return svg("rect", {
    class: `part ${part.name}${sign}`, "data-part": part.name, "data-value": part.value,
    x, width, y: 0, height: 10,
  });
}

// Each part in a row of its own, where it begins and ends on the way to the score.
export function table(parts, { score, explain }) {
  let at = 0;
  const most = parts.reduce((sum, part) => sum + Math.max(0, part.value), 0);
  const scale = UNITS / Math.max(1, most);
  const rows = parts.map((part) => {
    const from = at;
    at += part.value;
    return h(
      "tr", {},
      h("th", { scope: "row" }, part.name),
      h("td", { class: "wide", "aria-hidden": "true" },
        svg("svg", { class: "bar", viewBox: `0 0 ${UNITS} 10`, preserveAspectRatio: "none" },
          svg("rect", { class: "ground", width: UNITS, height: 10 }),
          piece(part, Math.min(from, at) * scale, Math.abs(part.value) * scale))),
      h("td", { class: "numbers" }, number(part.value)),
      h("td", { class: "soft" }, part.detail || ABOUT[part.name] || ""),
    );
  });
  const placed = `place ${explain.place}`;
  const similar = explain.similarity === null
    ? "" : `, similarity to the hits above ${explain.similarity.toFixed(2)}`;
  return h(
    "table", { class: "parts" },
    h("caption", { class: "unseen" }, "What the score is made of"),
    h("thead", { class: "unseen" },
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
