// The search form: the question, the filters below it, and the facets of the results.

import { request } from "./api.js";
import { folderOf } from "./address.js";
import { field, h, searchBox } from "./dom.js";
import { allNotes } from "./notes.js";
import { reveal } from "./text.js";

const DAY_MS = 24 * 60 * 60 * 1000;
// Days before today that a quick date starts at.
const QUICK = { Today: 0, "7 days": 6, "30 days": 29, "A year": 365 };
const FACETS = 6; // of each kind
const FACETED = 8; // hits from which on they are offered
const BETWEEN = /[\s,]+/u;

export function searchForm() {
  const box = searchBox("Search this memory", {
    id: "box", enterkeyhint: "search", "aria-describedby": "keys",
  });
  const source = h("select", {},
    h("option", { value: "" }, "all sources"),
    ...["memory", "sessions", "agents", "facts"].map((name) => h("option", { value: name }, name)));
  const since = h("input", { type: "date" });
  const before = h("input", { type: "date" });
  const path = h("input", { type: "text", placeholder: "memory/**", list: "folders", size: "14", spellcheck: "false" });
  const tag = h("input", { type: "text", placeholder: "recipe", list: "tags", size: "12", spellcheck: "false" });
  const scope = h("input", { type: "text", placeholder: "user:ada", size: "12", spellcheck: "false" });
  const asOf = h("input", { type: "date" });
  const superseded = h("input", { type: "checkbox" });
  const inputs = { source, since, before, path, tag, scope, asOf };
  const quick = Object.entries(QUICK).map(([words, days]) => h("button", {
    type: "button", class: "small",
    on: {
      click() {
        since.value = new Date(Date.now() - days * DAY_MS).toLocaleDateString("sv"); // as 2026-02-01
        before.value = "";
        filters.dispatchEvent(new Event("change"));
      },
    },
  }, words));
  const clear = h("button", {
    type: "button", class: "small",
    on: {
      click() {
        for (const input of Object.values(inputs)) input.value = "";
        superseded.checked = false;
        filters.dispatchEvent(new Event("change"));
      },
    },
  }, "Clear");
  const filters = h(
    "div", { class: "filters", role: "group", "aria-label": "Filters" },
    field("Source", source), field("Since", since), field("Before", before),
    h("div", { class: "quick", role: "group", "aria-label": "Quick dates" }, ...quick),
    field("Path", path), field("Tag", tag), field("Scope", scope), field("Facts as of", asOf),
    field("include superseded", superseded, "row"), clear,
  );
  const fold = h("details", { class: "fold" }, h("summary", {}, "Filters"), filters);
  const folders = h("datalist", { id: "folders" });
  const tags = h("datalist", { id: "tags" });
  fold.append(folders, tags);
  // What can be chosen is asked for once somebody may choose.
  fold.addEventListener("toggle", () => offerKnown(folders, tags).catch((error) => console.debug(error.message)), { once: true });
  const keys = h("p", { id: "keys", class: "keys" },
    h("kbd", {}, "/"), " type ", h("kbd", {}, "j"), h("kbd", {}, "k"), " choose ",
    h("kbd", {}, "Enter"), " open ", h("kbd", {}, "Esc"), " back");

  const values = () => Object.fromEntries(
    Object.entries(inputs).map(([name, input]) => [name, input.value.trim()]),
  );
  const hasFilters = () => Object.values(values()).some(Boolean);
  return {
    box, filters, hasFilters,
    form: h("form", { role: "search" }, box, keys, fold),
    asAddress: () => ({ q: box.value, ...values(), superseded: superseded.checked ? 1 : "" }),
    asParams: () => ({
      query: box.value, ...values(),
      tag: tag.value.split(BETWEEN).filter(Boolean),
      scope: scope.value.split(BETWEEN).filter(Boolean),
      includeSuperseded: superseded.checked || null,
    }),
    fill(params) {
      for (const [name, input] of Object.entries({ ...inputs, q: box })) {
        const value = params.get(name) ?? "";
        if (input.value.trim() !== value.trim()) input.value = value;
      }
      superseded.checked = params.has("superseded");
      if (hasFilters() || superseded.checked) fold.open = true;
    },
  };
}

// Offers the folders and tags of all notes.
async function offerKnown(folders, tags) {
  const notes = await allNotes(request);
  const options = (names) => [...new Set(names)].sort().map((value) => h("option", { value }));
  folders.replaceChildren(...options(notes.map(({ path }) => folderOf(path)).filter(Boolean).map((name) => `${name}/**`)));
  tags.replaceChildren(...options(notes.flatMap((each) => each.tags)));
}

// Folders and tags of the results, each a button that narrows the search to it.
export function facets(hits, controls, change) {
  const folders = countOf(hits.map(({ path }) => folderOf(path)).filter(Boolean));
  const tags = countOf(hits.flatMap((hit) => hit.tags ?? []));
  const { path, tag } = controls.asAddress();
  const chosenTags = () => controls.asAddress().tag.split(BETWEEN).filter(Boolean);
  const chips = [
    ...folders.map(([name, amount]) => facet(`${name}/`, amount, `${name}/**` === path,
      (isOn) => change({ path: isOn ? "" : `${name}/**` }))),
    ...tags.map(([name, amount]) => facet(`#${name}`, amount, chosenTags().includes(name), () => {
      // As chosen by now: the results of the last click may still be on their way.
      const others = chosenTags().filter((each) => each !== name);
      change({ tag: (others.length < chosenTags().length ? others : [...others, name]).join(" ") });
    })),
  ];
  // Few results are read faster than narrowed; one folder and no tag leave nothing to choose.
  if ((chips.length < 2 || hits.length < FACETED) && !path && !tag) return null;
  return h("div", { class: "chips facets", role: "group", "aria-label": "Narrow these results" }, ...chips);
}

function facet(name, amount, isOn, change) {
  return h("button", {
    type: "button", class: "chip", "aria-pressed": String(isOn), on: { click: () => change(isOn) },
  }, reveal(name), h("span", { class: "numbers soft" }, ` ${amount}`));
}

function countOf(names) {
  const counted = new Map();
  for (const name of names) counted.set(name, (counted.get(name) ?? 0) + 1);
  return [...counted].sort(([, one], [, other]) => other - one).slice(0, FACETS);
}
