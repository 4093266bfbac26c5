// What agents recalled lately, and why: the server's log.

import { fileLink, link } from "./address.js";
import { request } from "./api.js";
import { count, failureNote, h } from "./dom.js";
import { inWords } from "./explain.js";
import { reveal } from "./text.js";

// A section, or null if nothing was recalled or it is not logged.
export function recalled(recalls) {
  if (!recalls.length) return null;
  const clear = async () => {
    try {
      await request("/api/recalls", { method: "DELETE" });
      section.remove();
    } catch (error) {
      section.append(failureNote(error));
    }
  };
  const section = h("section", { class: "recalled", "aria-label": "Recalled recently" },
    h("h2", {}, "Recalled recently ", h("button", { type: "button", class: "small", on: { click: clear } }, "Clear")),
    h("ul", { class: "plain" }, ...recalls.map(entry)));
  return section;
}

function entry({ at, prompt, tokens, confident, hits }) {
  const when = new Date(at).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
  const outcome = hits.length
    ? `${count(hits.length, "passage")}, ${count(tokens, "token")}`
    : confident ? "nothing that fits" : "nothing stood out";
  return h("li", {}, h("details", {},
    h("summary", {}, h("span", { dir: "auto" }, reveal(prompt)),
      h("span", { class: "soft" }, ` · ${when} · ${outcome}`)),
    h("ul", { class: "plain" }, ...hits.map((hit) => h("li", {},
      h("a", { class: "mono", href: fileLink(hit) }, reveal(`${hit.path}:${hit.startLine}`)),
      h("span", { class: "soft" }, ` ${hit.score.toFixed(2)}, ${inWords(partsOf(hit))}`)))),
    h("p", {}, h("a", { href: link("search", { q: prompt }) }, "Search for it"))));
}

function partsOf({ legs }) {
  return Object.entries(legs).map(([name, value]) => ({ name, value }));
}
