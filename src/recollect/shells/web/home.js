// What the search view shows before a question: recent notes, what is in memory, questions to start with.

import { link } from "./address.js";
import { editorChoice } from "./actions.js";
import { count, h, note, tag } from "./dom.js";
import { forgetQuestions, lastQuestions } from "./history.js";
import { summaryOf } from "./health.js";
import { byDate, noteEntry } from "./notes.js";
import { plain, reveal } from "./text.js";

const LISTED = 6; // recent notes
const READ = 200; // documents whose headings may become questions
const QUESTIONS = 4;
const MOST_CHARS = 60; // of a question to choose
// How a source is counted: a fact is a chunk of its file.
const AMOUNTS = {
  memory: ({ documents }) => count(documents, "note"),
  sessions: ({ documents }) => count(documents, "conversation"),
  agents: ({ documents }) => count(documents, "agent's note"),
  facts: ({ chunks }) => count(chunks, "fact"),
};
const CLOCK = /^\d{1,2}[:.]\d{2}(?:\s*[–-]\s*\d{1,2}[:.]\d{2})?\s+/u; // before the heading of a diary
const ASKED = /^\S+(?:\s+\S+){2,}\s*[?？]$/u; // a question of three words or more
const PERSON = /^(?:owner|author|lead|leader|contact|manager|partner|doctor|teacher|captain)$/iu;
const TITLED = /^(?!.*\.md$)\p{L}\S*(?:\s+\p{L}\S*){1,4}$/u; // two to five words: what a note is about

export async function home(request) {
  const [status, { documents }, { facts }] = await Promise.all([
    request("/api/status"), request("/api/documents", { params: { limit: READ } }), request("/api/facts"),
  ]);
  if (!documents.length) {
    return [healthLine(status, facts), note("", "This memory is empty.",
      "Write notes such as MEMORY.md or memory/2026-02-01.md; they are found after the next sync.")];
  }
  const notes = documents.filter(({ source }) => source === "memory" || source === "agents");
  const questions = questionsFrom(notes, facts);
  return [
    h("div", { class: "home" },
      healthLine(status, facts),
      questions.length ? h("section", { class: "try", "aria-label": "Questions to start with" },
        h("h2", {}, "Ask in your own words, for example"), chips(questions)) : "",
      askedBefore() ?? "",
      h("section", { class: "recent", "aria-label": "Recent notes" },
        h("h2", {}, "Recent notes"),
        h("ul", { class: "documents" },
          ...byDate(notes).slice(0, LISTED).map(noteEntry)),
        h("p", {}, h("a", { href: link("notes") }, "All notes"))),
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
function healthLine(status, facts) {
  const { isGood, words } = summaryOf(status);
  const held = { ...status.index.bySource };
  // Only facts that hold, as the view of facts counts them.
  held.facts = facts.length ? { chunks: facts.length } : null;
  const amounts = Object.entries(AMOUNTS)
    .filter(([source]) => held[source])
    .map(([source, words]) => tag(source, words(held[source])));
  return h("p", { class: "state numbers" }, ...amounts,
    h("a", { class: isGood ? "good" : "outdated", href: link("health") }, plain(words)));
}

// Questions that this memory can answer: asked by a heading, about a value that a fact has, or about what a
// lasting note is about. The most telling first; none rather than a heading that is no question.
export function questionsFrom(notes, facts) {
  const asked = notes.flatMap(({ title, headings }) => [title ?? "", ...headings]).map(cleaned)
    .filter((words) => ASKED.test(words));
  const valued = facts.filter(({ entity, key, value }) => entity && key && value)
    .map(({ entity, key }) => `${PERSON.test(key) ? "Who" : "What"} is the ${key} of ${entity}?`);
  const lasting = notes.filter(({ date, title }) => !date && title && TITLED.test(title))
    .map(({ title }) => `What do I know about ${cleaned(title)}?`);
  const kinds = [valued, asked, lasting].map((each) => [...new Set(each)].filter(({ length }) => length <= MOST_CHARS));
  const found = [];
  for (let place = 0; found.length < QUESTIONS && kinds.some((kind) => place < kind.length); place += 1) {
    found.push(...kinds.flatMap((kind) => kind.slice(place, place + 1)));
  }
  return found.slice(0, QUESTIONS);
}

function cleaned(heading) {
  return heading.replace(/[`*_[\]#]/gu, "").trim().replace(CLOCK, "");
}
