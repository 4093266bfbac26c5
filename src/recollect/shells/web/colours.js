// The colours of the map's points: by source, folder or age, with a legend.

import { folderOf } from "./address.js";
import { h, swatch } from "./dom.js";

const DEFAULT = "folder";
const FOLDERS = 7; // with a colour of their own

export function colourChoice() {
  const choice = (value, words) => h("label", {},
    h("input", { type: "radio", name: "colour", value, checked: value === DEFAULT }), words);
  const fieldset = h("fieldset", { class: "choices" }, h("legend", {}, "Colour by"),
    choice("folder", "folder"), choice("source", "source"), choice("age", "age"));
  const legend = h("div", { class: "legend" });
  const value = () => fieldset.querySelector("input:checked").value;

  let folders = []; // the largest, by number of points

  function namesOf() {
    if (value() === "age") return { age0: "oldest", age1: "", age2: "", age3: "newest", ageless: "undated" };
    if (value() === "source") return { memory: "memory", sessions: "sessions", agents: "agents", facts: "facts" };
    const own = Object.fromEntries(folders.map((name, place) => [`folder${place}`, name || "top"]));
    return { ...own, elsewhere: "others" };
  }

  function swatches() {
    const names = namesOf();
    legend.replaceChildren(...Object.entries(names).map(([name, word]) =>
      h("span", { "data-name": name }, swatch(name), word)));
  }

  // A canvas does not know the theme: the points take the colours of the legend's swatches.
  function colourOf({ points }) {
    if (value() === "folder") {
      const counted = new Map();
      for (const { path } of points) counted.set(folderOf(path), (counted.get(folderOf(path)) ?? 0) + 1);
      folders = [...counted].sort(([, one], [, other]) => other - one).slice(0, FOLDERS).map(([name]) => name);
      swatches();
    }
    const byName = Object.fromEntries([...legend.children].map((each) =>
      [each.dataset.name, getComputedStyle(each.firstChild).backgroundColor]));
    if (value() === "source") return (point) => byName[point.source];
    if (value() === "folder") {
      return ({ path }) => byName[`folder${folders.indexOf(folderOf(path))}`] ?? byName.elsewhere;
    }
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
    chosen: () => (value() === DEFAULT ? "" : value()),
    choose(name) {
      for (const input of fieldset.querySelectorAll("input")) {
        input.checked = input.value === (["age", "source"].includes(name) ? name : DEFAULT);
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
