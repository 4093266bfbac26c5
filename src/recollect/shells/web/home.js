// What the search view shows before a question: recent notes, what is in memory, questions to start with.

import { fileLink, link } from "./address.js";
import { editorChoice } from "./actions.js";
import { recalled } from "./recalls.js";
import { count, day, h, note, tag } from "./dom.js";
import { forgetQuestions, lastQuestions } from "./history.js";
import { summaryOf } from "./health.js";
import { plain, reveal } from "./text.js";

const LISTED = 6; // recent notes
const RECALLS = 5;
const READ = 200; // documents whose headings may become questions
const QUESTIONS = 6;
const LEDGER_FILES = 1000;
const CHARS = { least: 8, most: 60 }; // of a heading that works as a question
// How a source is counted: a fact is a chunk of its file.
const AMOUNTS = {
  memory: ({ documents }) => count(documents, "note"),
  sessions: ({ documents }) => count(documents, "conversation"),
  facts: ({ chunks }) => count(chunks, "fact"),
};
const CLOCK = /^\d{1,2}[:.]\d{2}(?:\s*[–-]\s*\d{1,2}[:.]\d{2})?\s+/u; // before the heading of a diary
// Dates and numbers say when or which, not what.
const UNTELLING = /^[\d\s.:/,–-]*$|^\d{4}-\d{2}-\d{2}/u;

export async function home(request) {
  const [status, { documents }, { documents: ledger }, { recalls }] = await Promise.all([
    request("/api/status"), request("/api/documents", { params: { limit: READ } }),
    request("/api/documents", { params: { limit: LEDGER_FILES, source: "facts" } }),
    request("/api/recalls", { params: { limit: RECALLS } }),
  ]);
  if (!documents.length) {
    return [healthLine(status, ledger), note("", "This memory is empty.",
      "Write notes such as MEMORY.md or memory/2026-02-01.md; they are found after the next sync.")];
  }
  return [
    h("div", { class: "home" },
      healthLine(status, ledger),
      h("section", { class: "try", "aria-label": "Questions to start with" },
        h("h2", {}, "Ask in your own words, for example"),
        chips(questionsFrom(documents))),
      askedBefore() ?? "",
      h("section", { class: "recent", "aria-label": "Recent notes" },
        h("h2", {}, "Recent notes"),
        h("ul", { class: "documents" },
          ...documents.filter(({ source }) => source !== "facts").slice(0, LISTED).map(recentNote))),
      recalled(recalls) ?? "",
      editorChoice()),
  ];
}

function chips(questions) {
  return h("ul", { class: "chips" }, ...questions.map((question) => h("li", {},
    h("a", { class: "chip", href: link("search", { q: question }), dir: "auto" }, reveal(question)))));
}

function askedBefore() {
  const questions = lastQuestions();
  if (!questions.length) return null;
  const forget = () => {
    forgetQuestions();
    section.remove();
  };
  const section = h("section", { class: "asked", "aria-label": "Your last questions" },
    h("h2", {}, "You asked ",
      h("button", { type: "button", class: "small", on: { click: forget } }, "Clear")),
    chips(questions));
  return section;
}

// One line: how much is in memory, and whether anything needs attention.
function healthLine(status, ledger) {
  const { isGood, words } = summaryOf(status);
  const held = { ...status.index.bySource };
  // Only facts that hold, as the view of facts counts them.
  if (held.facts) held.facts = { chunks: ledger.reduce((sum, { chunks }) => sum + chunks, 0) };
  const amounts = Object.entries(AMOUNTS)
    .filter(([source]) => held[source])
    .map(([source, words]) => tag(source, words(held[source])));
  return h("p", { class: "state numbers" }, ...amounts,
    h("a", { class: isGood ? "good" : "outdated", href: link("health") }, plain(words)));
}

function recentNote(each) {
  return h("li", {},
    h("a", { href: fileLink(each), dir: "auto" }, reveal(each.title ?? each.path)),
    h("p", { class: "place" }, tag(each.source), h("span", { class: "mono" }, reveal(each.path)),
      each.date ? h("time", { datetime: each.date }, day(each.date)) : null),
    each.headings.length ? h("p", { class: "soft", dir: "auto" }, reveal(each.headings.join(" · "))) : null);
}

// Headings of the user's own notes, spread over the list.
export function questionsFrom(documents) {
  const found = new Map(); // by their words, so that each is offered once
  for (const { source, title, headings } of documents) {
    for (const heading of source === "memory" ? headings : []) {
      const question = questionOf(heading, title);
      if (question) found.set(question.toLowerCase(), question);
    }
  }
  const all = [...found.values()];
  const length = Math.min(QUESTIONS, all.length);
  return Array.from({ length }, (_, place) => all[Math.floor((place * all.length) / length)]);
}

function questionOf(heading, title) {
  const clean = heading.replace(/[`*_[\]#]/gu, "").trim().replace(CLOCK, "");
  if (UNTELLING.test(clean)) return null;
  const isShort = !/[\s\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u.test(clean);
  // "Retention" alone could be about anything.
  const words = isShort && title && !UNTELLING.test(title) ? `${title}: ${clean}` : clean;
  const length = [...words].length;
  const least = isShort ? CHARS.least : 4;
  return length >= least && length <= CHARS.most ? words : null;
}
