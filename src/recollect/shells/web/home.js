// What the search view shows before a question: recent notes, what is in memory, questions to start with.

import { fileLink, link } from "./address.js";
import { editorChoice } from "./actions.js";
import { count, day, h, note, tag } from "./dom.js";
import { forgetQuestions, lastQuestions } from "./history.js";
import { summaryOf } from "./health.js";
import { plain, reveal } from "./text.js";

const LISTED = 6; // recent notes
const READ = 200; // documents whose headings may become questions
const QUESTIONS = 6;
const LEDGER_FILES = 1000;
const CHARS = { least: 5, most: 60 }; // of a heading that works as a question
const TELLING = 2; // the worth of a heading of four words, or of a short question
// How a source is counted: a fact is a chunk of its file.
const AMOUNTS = {
  memory: ({ documents }) => count(documents, "note"),
  sessions: ({ documents }) => count(documents, "conversation"),
  agents: ({ documents }) => count(documents, "agent's note"),
  facts: ({ chunks }) => count(chunks, "fact"),
};
const CLOCK = /^\d{1,2}[:.]\d{2}(?:\s*[–-]\s*\d{1,2}[:.]\d{2})?\s+/u; // before the heading of a diary
const ASKING = /^(?:how|what|why|when|where|who|which|wie|was|warum|comment|pourquoi|cómo|qué|por qué)\s/iu;
const WIDE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/gu; // written without spaces
// Dates and numbers say when or which, not what.
const UNTELLING = /^[\d\s.:/,–-]*$|^\d{4}-\d{2}-\d{2}/u;

export async function home(request) {
  const [status, { documents }, { documents: ledger }] = await Promise.all([
    request("/api/status"), request("/api/documents", { params: { limit: READ } }),
    request("/api/documents", { params: { limit: LEDGER_FILES, source: "facts" } }),
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

// Headings of the user's own notes that say what they are about, one per note, the most telling first.
export function questionsFrom(documents) {
  const notes = documents.filter(({ source }) => source === "memory");
  const uses = new Map(); // a heading of several notes, such as "Open questions", is about none of them
  for (const { headings } of notes) {
    for (const key of new Set(headings.map(keyOf))) uses.set(key, (uses.get(key) ?? 0) + 1);
  }
  const found = new Map(); // by their words, so that each is offered once
  for (const { title, headings } of notes) {
    const own = headings.filter((heading) => uses.get(keyOf(heading)) === 1);
    const best = [...own, title ?? ""].map((heading) => questionOf(heading, title)).filter(Boolean)
      .reduce((first, next) => (next.worth > (first?.worth ?? 0) ? next : first), null);
    if (best) found.set(keyOf(best.words), best);
  }
  const all = [...found.values()].sort((one, other) => other.worth - one.worth);
  const telling = all.filter(({ worth }) => worth >= TELLING);
  const offered = telling.length >= QUESTIONS ? telling : all.slice(0, QUESTIONS);
  const length = Math.min(QUESTIONS, offered.length);
  return Array.from({ length }, (_, place) => offered[Math.floor((place * offered.length) / length)].words);
}

function keyOf(heading) {
  return heading.replace(CLOCK, "").trim().toLowerCase();
}

function questionOf(heading, title) {
  const clean = heading.replace(/[`*_[\]#]/gu, "").trim().replace(CLOCK, "");
  if (UNTELLING.test(clean)) return null;
  const isQuestion = /[?？]$/u.test(clean) || ASKING.test(clean);
  const size = clean.split(/\s+/u).length + [...clean.matchAll(WIDE)].length / 3; // of words, about
  const isTitled = title && !UNTELLING.test(title) && keyOf(title) !== keyOf(clean);
  // "Retention" or "Why at all" could be about anything.
  const words = size < 3 && !isTitled ? null : size < 4 && isTitled ? `${title}: ${clean}` : clean;
  const length = [...(words ?? "")].length;
  if (length < CHARS.least || length > CHARS.most) return null;
  return { words, worth: (isQuestion ? 2 : 0) + Math.min(size, 6) / 2 };
}
