// Correcting memory: remember, edit, replace and forget facts, each with an undo.

import { request } from "./api.js";
import { announce, failureNote, field, h, note } from "./dom.js";

const at = (id) => `/api/facts/${encodeURIComponent(id)}`;

// Each change returns what happened in words, the fact to show, and how to undo it.
export const changes = {
  async remember(fields) {
    const saved = await request("/api/facts", { body: fields });
    if (saved.verdict === "existing") return { words: "It was already known.", id: saved.id };
    // Undoing a change of details would need the details before.
    const undo = saved.verdict === "update" ? null : () => request(at(saved.id), { method: "DELETE" });
    return { words: "Remembered.", id: saved.id, undo, notices: saved.notices };
  },

  // The old statement stays in the history.
  async edit(fact, fields) {
    const given = { tags: fact.tags, scope: fact.scope, ...fields, supersedes: [fact.id] };
    const saved = await request("/api/facts", { body: given });
    return {
      words: "Changed; the old statement is in its history.", id: saved.id, notices: saved.notices,
      undo: () => request(at(saved.id), { method: "DELETE" }),
    };
  },

  async supersede(old, by) {
    await request(`${at(old)}/supersede`, { body: { by } });
    return { words: "Decided.", id: by, undo: () => request(`${at(old)}/restore`, { body: {} }) };
  },

  async restore(fact) {
    await request(`${at(fact.id)}/restore`, { body: {} });
    const again = () => request(`${at(fact.id)}/supersede`, { body: { by: fact.supersededBy } });
    return { words: "Valid again.", id: fact.id, undo: again };
  },

  async forget(fact) {
    const { restored, entry } = await request(at(fact.id), { method: "DELETE" });
    const undo = () => request(`${at(fact.id)}/restore`, { body: { entry } });
    return { words: "Forgotten.", id: restored[0]?.id ?? null, undo };
  },
};

// Makes a change, then shows in `place` what happened. `shown` gets the id of the fact to show.
export async function apply(change, { place, shown }) {
  try {
    const { words, id, undo = null, notices = [] } = await change();
    const button = undo ? h("button", {
      type: "button",
      on: { click: () => apply(async () => { await undo(); return { words: "Undone.", id: null }; }, { place, shown }) },
    }, "Undo") : null;
    place.replaceChildren(note("", words, notices.join(" ") || null, button));
    announce(words);
    await shown(id);
  } catch (error) {
    place.replaceChildren(failureNote(error));
  }
}

// What a fact's value is in another wording: what stands in its place; nothing if that cannot be told.
function valueIn(text, { text: before, value }) {
  if (text.includes(value) || text === before) return value;
  const at = before.indexOf(value);
  const [start, end] = [before.slice(0, at), before.slice(at + value.length)];
  const isFramed = at >= 0 && text.startsWith(start) && text.endsWith(end);
  return isFramed ? text.slice(start.length, text.length - end.length).trim() : "";
}

// A form for a new fact, or for another wording of a known one.
export function factForm(fact, { submit, cancel }) {
  const text = h("textarea", { rows: "2", required: true, maxlength: "2000", dir: "auto" });
  text.value = fact?.text ?? "";
  const inputs = Object.fromEntries(["category", "entity", "key", "value"].map((name) => {
    const input = h("input", { type: "text", size: "14", maxlength: "500" });
    input.value = fact?.[name] ?? "";
    return [name, input];
  }));
  text.addEventListener("input", () => {
    if (fact?.value) inputs.value.value = valueIn(text.value, fact);
  });
  const scope = h("input", { type: "text", size: "14", placeholder: "global" });
  const onSubmit = (event) => {
    event.preventDefault();
    const given = Object.entries(inputs).map(([name, input]) => [name, input.value.trim()])
      .filter(([, value]) => value);
    submit({
      text: text.value, ...Object.fromEntries(given),
      ...(fact ? {} : { scope: scope.value.trim() || null }),
    });
  };
  const form = h("form", { class: "fact-form", on: { submit: onSubmit } },
    field(fact ? "What is right" : "What to remember", text),
    h("details", { class: "fold" }, h("summary", {}, "Details"),
      h("div", { class: "filters" },
        field("Category", inputs.category), field("About", inputs.entity),
        field("Property", inputs.key), field("Value", inputs.value),
        fact ? null : field("Scope", scope))),
    h("p", { class: "buttons" },
      h("button", { type: "submit", class: "strong" }, fact ? "Save" : "Remember"),
      h("button", { type: "button", on: { click: cancel } }, "Cancel")));
  setTimeout(() => text.focus());
  return form;
}
