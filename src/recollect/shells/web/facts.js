// Facts: which are valid, which they superseded, which contradict each other; and correcting them.

import { copyButton } from "./actions.js";
import { latestOnly } from "./api.js";
import { go, here, link } from "./address.js";
import { apply, changes, factForm } from "./correct.js";
import {
  announce, count, day, debounced, failureNote, field, h, markCurrent, note, searchBox, tag, waiting,
} from "./dom.js";
import { reveal } from "./text.js";

export const title = "Facts";

const PAUSE_MS = 140;

export function open(root) {
  const box = searchBox("Search the facts");
  const superseded = h("input", { type: "checkbox" });
  const category = h("select", {}, h("option", { value: "" }, "all categories"));
  const asOf = h("input", { type: "date" });
  const list = h("div", {}, waiting("Loading …"));
  const detail = h("section", { class: "history", "aria-label": "History of the fact" });
  const outcome = h("div", { class: "outcome" });
  const add = h("button", { type: "button", class: "strong", on: { click: openForm } }, "Remember a fact");
  root.append(
    h("div", { class: "head" }, h("h1", {}, title),
      h("p", { class: "lead" }, "Short statements and when they are valid. Superseded facts are kept."), add),
    outcome,
    h("form", { role: "search", on: { submit: (event) => event.preventDefault() } }, box,
      h("div", { class: "filters" }, field("Category", category), field("As of", asOf),
        field("include superseded", superseded, "row"))),
    h("div", { class: "columns" }, list, detail),
  );
  const requests = latestOnly();
  let shown = null; // the address of the list that is shown

  function update(params, { again = false } = {}) {
    const text = params.get("text") ?? "";
    if (box.value.trim() !== text.trim()) box.value = text;
    superseded.checked = params.has("superseded");
    offerCategories([params.get("category") ?? ""]);
    category.value = params.get("category") ?? "";
    asOf.value = params.get("asOf") ?? "";
    const key = link("facts", {
      text, superseded: params.has("superseded"), category: category.value, asOf: asOf.value,
    });
    return requests.run(async (request) => {
      if (key !== shown || again) {
        const found = await request("/api/facts", {
          params: {
            text: text.trim() || null, includeSuperseded: superseded.checked || null,
            category: category.value || null, asOf: asOf.value || null,
          },
        });
        shown = key;
        await showList(found, params, request);
      }
      markCurrent(list, "id", params.get("id"));
      if (params.get("id")) {
        await showHistory(params.get("id"), request);
      } else {
        detail.replaceChildren(...(list.querySelector("[data-id]")
          ? [h("p", { class: "soft" }, "Choose a fact to see its history.")] : []));
      }
    }, {
      failed(error) {
        const place = shown === key ? detail : list;
        place.replaceChildren(failureNote(error, () => update(params, { again: true })));
      },
    });
  }

  function offerCategories(names) {
    for (const name of names) {
      if (![...category.options].some((option) => option.value === name)) {
        category.append(h("option", { value: name }, name));
      }
    }
  }

  async function showList({ facts, problems }, params, request) {
    const others = await textsOf(facts, request);
    offerCategories([...new Set(facts.map((fact) => fact.category))].sort());
    const isFiltered = Boolean(box.value.trim() || category.value);
    list.replaceChildren(
      ...problems.map((each) => note("warn", `${each.path}: ${each.reason}`, each.action)),
      facts.length
        ? h("p", { class: "summary numbers" }, count(facts.length, "fact"))
        : emptyNote(isFiltered),
      h("ul", { class: "statements" }, ...facts.map((fact) => statement(fact, params, { decide, others }))),
    );
    announce(count(facts.length, "fact"));
  }

  // Shows the list again after a change, with the fact that it was about.
  async function shownAgain(id) {
    if (id) go("facts", { ...address(), id }, { replace: true });
    else if (here().params.has("id")) go("facts", address(), { replace: true });
    await update(here().params, { again: true });
  }

  const make = (change) => apply(change, { place: outcome, shown: shownAgain });
  const decide = (old, by) => make(() => changes.supersede(old, by));

  function openForm() {
    outcome.replaceChildren(factForm(null, {
      submit: (fields) => make(() => changes.remember(fields)),
      cancel: () => outcome.replaceChildren(),
    }));
  }

  // What can be done with the chosen fact.
  function actions(fact) {
    const edit = (event) => event.currentTarget.closest(".actions").replaceChildren(factForm(fact, {
      submit: (fields) => make(() => changes.edit(fact, fields)),
      cancel: () => shownAgain(fact.id),
    }));
    const button = (words, click) => h("button", { type: "button", on: { click } }, words);
    return h("div", { class: "actions" },
      ...(fact.supersededBy
        ? [button("Restore", () => make(() => changes.restore(fact)))]
        : [button("Edit", edit), button("Forget", () => make(() => changes.forget(fact)))]),
      copyButton("Copy text", fact.text));
  }

  async function showHistory(id, request) {
    detail.replaceChildren(waiting("Loading …"));
    const { facts } = await request(`/api/facts/${encodeURIComponent(id)}`);
    detail.replaceChildren(
      h("h2", {}, facts.length > 1 ? "History" : "This fact"),
      facts.length > 1
        ? h("p", { class: "soft" }, `${count(facts.length, "statement")}, oldest first`)
        : h("p", { class: "soft" }, "It has not superseded another fact, and no fact has superseded it."),
      h("ol", { class: "chain" }, ...facts.map((fact) => step(fact, id))),
      ...facts.filter((fact) => fact.id === id).map(actions),
    );
    detail.scrollIntoView({ block: "nearest" });
    announce(count(facts.length, "statement"));
  }

  const address = () => ({
    text: box.value, category: category.value, asOf: asOf.value,
    superseded: superseded.checked ? 1 : "",
  });
  const typed = debounced(PAUSE_MS, () => go("facts", address(), { replace: true }));

  function settled() {
    typed.cancel();
    go("facts", address());
  }

  box.addEventListener("input", typed);
  superseded.addEventListener("change", settled);
  category.addEventListener("change", settled);
  asOf.addEventListener("change", settled);
  return {
    update,
    close() {
      typed.cancel();
      requests.cancel();
    },
  };
}

function emptyNote(isFiltered) {
  return isFiltered
    ? note("", "No fact matches.", "Use other words, or include superseded facts.")
    : note("", "There are no facts yet.",
      'Press "Remember a fact", or run `recollect remember "Ada takes her tea without milk"`.');
}

// The texts of facts, also of those that are contradicted and not in the list.
async function textsOf(facts, request) {
  const texts = new Map(facts.map(({ id, text }) => [id, text]));
  const left = new Set(facts.flatMap(({ contradicts = [] }) => contradicts).filter((id) => !texts.has(id)));
  for (const id of left) {
    const { facts: history } = await request(`/api/facts/${encodeURIComponent(id)}`);
    for (const each of history) texts.set(each.id, each.text);
  }
  return texts;
}

function statement(fact, params, { decide, others }) {
  const target = {
    text: params.get("text"), category: params.get("category"),
    superseded: params.get("superseded"), asOf: params.get("asOf"), id: fact.id,
  };
  return h(
    "li", { class: fact.supersededBy ? "is-superseded" : null },
    h("a", { href: link("facts", target), "data-id": fact.id, dir: "auto" }, reveal(fact.text)),
    h("p", { class: "place" },
      fact.category === "other" ? null : tag("facts", fact.category),
      fact.entity ? h("span", {}, reveal([fact.entity, fact.key].filter(Boolean).join(" · "))) : null,
      scopeOf(fact),
      validity(fact),
      fact.supersededBy ? h("span", { class: "outdated" }, "superseded") : null,
      fact.contradicts?.length ? h("span", { class: "outdated" }, "contradicted") : null),
    ...(fact.contradicts ?? []).map((other) => h("p", { class: "against" },
      "contradicts ", h("a", { href: link("facts", { ...target, id: other }), dir: "auto" }, reveal(others.get(other) ?? other)), " ",
      h("button", { type: "button", on: { click: () => decide(other, fact.id) } }, "This one is right"), " ",
      copyButton("Copy the command", `recollect facts supersede ${other} ${fact.id}`))),
  );
}

function scopeOf({ scope }) {
  return scope === "global" ? null : h("span", {}, reveal(scope));
}

function validity(fact) {
  const from = fact.validFrom ?? fact.created;
  const until = fact.validUntil ?? fact.expires;
  const words = [from ? `since ${day(from)}` : "", until ? `until ${day(until)}` : ""];
  return h("span", {}, words.filter(Boolean).join(", "));
}

function step(fact, wanted) {
  return h(
    "li",
    {
      class: fact.supersededBy ? "is-superseded" : "is-valid",
      "aria-current": fact.id === wanted ? "true" : null,
    },
    h("p", { class: "words", dir: "auto" }, reveal(fact.text)),
    h("p", { class: "place" }, validity(fact), scopeOf(fact),
      h("span", {}, reveal(`by ${fact.provenance}`)),
      fact.confidence < 1 ? h("span", {}, `confidence ${fact.confidence}`) : null,
      fact.source ? h("span", { class: "mono" }, reveal(fact.source)) : null,
      h("span", { class: "mono" }, fact.id)),
  );
}
