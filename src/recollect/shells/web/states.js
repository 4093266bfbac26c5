// How it looks while waiting, when nothing is there, and when something is wrong: always with what
// to do next.

import { count, h } from "./dom.js";

const MOST_CHARS = 4000; // of a question, as the server takes it

export function waiting(sentence) {
  return h("p", { class: "waiting" }, sentence);
}

export function note(kind, what, next = null, ...more) {
  return h(
    "div", { class: `note ${kind}` },
    h("strong", {}, commands(what)), next ? h("span", { class: "next" }, commands(next)) : null,
    ...more,
  );
}

export function trouble(error, again = null) {
  const retry = again
    ? h("button", { type: "button", on: { click: again } }, "Try again")
    : null;
  return h("div", { role: "alert" }, note("bad", error.message, error.action ?? null, retry));
}

export function isTooLong(question) {
  return [...question].length > MOST_CHARS;
}

export function tooLong(question) {
  const length = count([...question].length, "character");
  const most = MOST_CHARS.toLocaleString("en");
  return h("div", { role: "alert" },
    note("bad", `This question is too long: it has ${length}.`, `Ask it in at most ${most}.`));
}

// What an answer says of itself besides its content.
export function remarks({ degraded, notices = [] }) {
  const legs = Object.entries(degraded?.legs ?? {});
  return [
    ...legs.map(([leg, why]) => note("warn", `${whatFailed(leg)}: ${why.reason}`, why.action)),
    ...notices.map((sentence) => note("warn", sentence)),
  ];
}

function whatFailed(leg) {
  if (leg === "rerank") return "Not reranked";
  if (leg === "vector") return "Not searched by meaning";
  if (leg === "keyword") return "Not searched by words";
  return `Without ${leg}`;
}

// `like this` in a sentence is a command.
function commands(sentence) {
  return sentence.split("`").map((part, place) => (place % 2 ? h("code", {}, part) : part));
}
