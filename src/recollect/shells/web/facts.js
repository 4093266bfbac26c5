// Facts: what holds, what it took the place of, and what contradicts it.

import { ask } from "./api.js";
import { go, link } from "./address.js";
import { count, day, field, h, say } from "./dom.js";
import { note, trouble, waiting } from "./states.js";
import { reveal } from "./text.js";

const PAUSE_MS = 140;

export function open(root) {
  const box = h("input", {
    type: "search", class: "box", placeholder: "Search the facts", autocomplete: "off",
    spellcheck: "false", "aria-label": "Search the facts", dir: "auto",
  });
  const superseded = h("input", { type: "checkbox" });
  const category = h("select", {}, h("option", { value: "" }, "all categories"));
  const list = h("div", {}, waiting("Reading …"));
  const detail = h("section", { class: "history", "aria-label": "History of the fact" });
  root.append(
    h("div", { class: "head" }, h("h1", {}, "Facts"),
      h("p", { class: "lead" }, "Short statements with their validity. What is superseded is kept.")),
    h("form", { role: "search", on: { submit: (event) => event.preventDefault() } }, box,
      h("div", { class: "filters" }, field("Category", category),
        field("superseded too", superseded, "row"))),
    h("div", { class: "two" }, list, detail),
  );
  let number = 0;
  let timer = null;
  let shown = null;

  async function update(params, { again = false } = {}) {
    const own = (number += 1);
    const text = params.get("text") ?? "";
    if (box.value.trim() !== text.trim()) box.value = text;
    superseded.checked = params.has("superseded");
    pickCategory(params.get("category") ?? "");
    const key = link("facts", { text, superseded: params.has("superseded"), category: category.value });
    try {
      if (key !== shown || again) {
        const found = await ask("/api/facts", {
          params: {
            text: text.trim() || null, includeSuperseded: superseded.checked || null,
            category: category.value || null,
          },
        });
        if (own !== number) return;
        shown = key;
        showList(found, params);
      }
      mark(list, params.get("id"));
      if (params.get("id")) await showHistory(params.get("id"), () => own === number);
      else {
        detail.replaceChildren(...(list.querySelector("[data-id]")
          ? [h("p", { class: "soft" }, "Choose a fact to see what it took the place of.")] : []));
      }
    } catch (error) {
      if (own !== number) return;
      const place = shown === key ? detail : list;
      place.replaceChildren(trouble(error, () => update(params, { again: true })));
    }
  }

  function pickCategory(name) {
    if (name && ![...category.options].some((option) => option.value === name)) {
      category.append(h("option", { value: name }, name));
    }
    category.value = name;
  }

  function showList({ facts, problems }, params) {
    for (const name of [...new Set(facts.map((fact) => fact.category))].sort()) {
      if (![...category.options].some((option) => option.value === name)) {
        category.append(h("option", { value: name }, name));
      }
    }
    const isNarrowed = Boolean(box.value.trim() || category.value);
    list.replaceChildren(
      ...problems.map((each) => note("warn", `${each.path}: ${each.reason}`, each.action)),
      facts.length
        ? h("p", { class: "summary numbers" }, count(facts.length, "fact"))
        : empty(isNarrowed),
      h("ul", { class: "statements" }, ...facts.map((fact) => statement(fact, params))),
    );
    say(count(facts.length, "fact"));
  }

  async function showHistory(id, isWanted) {
    detail.replaceChildren(waiting("Reading …"));
    const { facts } = await ask(`/api/facts/${encodeURIComponent(id)}`);
    if (!isWanted()) return;
    detail.replaceChildren(
      h("h2", {}, facts.length > 1 ? "History" : "This fact"),
      facts.length > 1
        ? h("p", { class: "soft" }, `${count(facts.length, "statement")}, the oldest first`)
        : h("p", { class: "soft" }, "It took the place of nothing and nothing took its place."),
      h("ol", { class: "chain" }, ...facts.map((fact) => step(fact, id))),
    );
    detail.scrollIntoView({ block: "nearest" });
    say(count(facts.length, "statement"));
  }

  function changed({ quietly }) {
    clearTimeout(timer);
    const params = {
      text: box.value, category: category.value, superseded: superseded.checked ? 1 : "",
    };
    if (quietly) timer = setTimeout(() => go("facts", params, { quietly }), PAUSE_MS);
    else go("facts", params);
  }

  box.addEventListener("input", () => changed({ quietly: true }));
  superseded.addEventListener("change", () => changed({ quietly: false }));
  category.addEventListener("change", () => changed({ quietly: false }));
  return { update, close: () => clearTimeout(timer) };
}

function empty(isNarrowed) {
  return isNarrowed
    ? note("", "No fact says this.", "Try other words, or look among the superseded too.")
    : note("", "No facts are written down yet.",
      'Write one with `recollect remember "Ada takes her tea without milk"`.');
}

function statement(fact, params) {
  const target = {
    text: params.get("text"), category: params.get("category"),
    superseded: params.get("superseded"), id: fact.id,
  };
  return h(
    "li", { class: fact.supersededBy ? "is-former" : null },
    h("a", { href: link("facts", target), "data-id": fact.id, dir: "auto" }, reveal(fact.text)),
    h("p", { class: "place" },
      h("span", { class: "tag facts" }, fact.category),
      fact.entity ? h("span", {}, reveal([fact.entity, fact.key].filter(Boolean).join(" · "))) : null,
      h("span", {}, reveal(fact.scope)),
      validity(fact),
      fact.supersededBy ? h("span", { class: "outdated" }, "superseded") : null,
      fact.contradicts?.length ? h("span", { class: "outdated" }, "contradicted") : null),
    ...(fact.contradicts ?? []).map((other) => h("p", { class: "against" },
      "says otherwise than ", h("a", { href: link("facts", { ...target, id: other }) }, other),
      "; if this one holds now: ",
      h("code", {}, `recollect facts supersede ${other} ${fact.id}`))),
  );
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
      class: fact.supersededBy ? "is-former" : "holds",
      "aria-current": fact.id === wanted ? "true" : null,
    },
    h("p", { class: "words", dir: "auto" }, reveal(fact.text)),
    h("p", { class: "place" }, validity(fact), h("span", {}, reveal(fact.scope)),
      h("span", {}, reveal(`by ${fact.provenance}`)),
      fact.confidence < 1 ? h("span", {}, `confidence ${fact.confidence}`) : null,
      fact.source ? h("span", { class: "mono" }, reveal(fact.source)) : null,
      h("span", { class: "mono" }, fact.id)),
  );
}

function mark(list, id) {
  for (const each of list.querySelectorAll("[data-id]")) {
    if (each.dataset.id === id) each.setAttribute("aria-current", "true");
    else each.removeAttribute("aria-current");
  }
}
