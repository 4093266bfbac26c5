// Everything that can go wrong, in words: what failed, and what to do next.

const MAX_QUERY_CHARS = 4000; // the server's limit

export class Failure extends Error {
  constructor(message, action, { type = "error", status = 0 } = {}) {
    super(message);
    this.action = action;
    this.type = type;
    this.status = status;
  }
}

export function offline() {
  return new Failure(
    "The server is not responding.",
    "Start it again with `recollect serve`. This page continues when the server is back.",
    { type: "offline" },
  );
}

export function invalidResponse() {
  return new Failure("The server sent an invalid response.", "Reload the page.");
}

export function refused(status, error = {}) {
  return new Failure(
    error.message ?? `The server refused the request (${status}).`,
    error.action ?? "See the server's output for details.",
    { type: error.type, status },
  );
}

export function unknownNote(name) {
  return new Failure(`There is no note called ${name}.`, "It may have been renamed; search for its words.");
}

export function brokenPage(reason) {
  return new Failure(`This page failed: ${reason}`, "Reload it.");
}

// Returns the failure of a question that is too long to send, or null.
export function tooLong(question) {
  const length = [...question].length;
  if (length <= MAX_QUERY_CHARS) return null;
  return new Failure(
    `The question is too long: ${length.toLocaleString("en")} characters.`,
    `Use at most ${MAX_QUERY_CHARS.toLocaleString("en")}.`,
  );
}

const SKIPPED = {
  rerank: "Not reranked", vector: "Not searched by meaning", keyword: "Not searched by words",
};

// Returns the parts of a search that did not run, as failures.
export function skippedLegs(degraded) {
  return Object.entries(degraded?.legs ?? {}).map(([leg, { reason, action }]) =>
    new Failure(`${SKIPPED[leg] ?? `Without ${leg}`}: ${reason}`, action));
}
