// OpenClaw's two memory tools, with its parameters and its shapes of answers.

const SEARCH = {
  name: "memory_search",
  label: "Memory Search",
  description:
    "Search memory (MEMORY.md, USER.md, memory/**/*.md and facts) by keyword and by meaning. A mandatory " +
    "step before answering about prior work, decisions, dates, people, preferences or todos. Returns the best " +
    "passages with path, lines and score; cite them as path#lines. If confident is false, say that you do not " +
    "remember. If degraded is set or unavailable is true, tell the user and name the action.",
  parameters: {
    type: "object",
    properties: {
      query: { type: "string", description: "The question, in the user's words." },
      maxResults: { type: "integer", minimum: 1 },
      minScore: { type: "number" },
      corpus: { type: "string", enum: ["memory", "sessions", "all"] },
    },
    required: ["query"],
    additionalProperties: false,
  },
};

const GET = {
  name: "memory_get",
  label: "Memory Get",
  description:
    "Read lines of a memory file that memory_search returned. Use from and lines to read only what you need.",
  parameters: {
    type: "object",
    properties: {
      path: { type: "string" },
      from: { type: "integer", minimum: 1 },
      lines: { type: "integer", minimum: 1 },
      corpus: { type: "string", enum: ["memory", "all"] },
    },
    required: ["path"],
    additionalProperties: false,
  },
};

export function createTools(memory, { citations }) {
  return [
    {
      ...SEARCH,
      execute: async (_id, params, signal) =>
        reported(async () => {
          const sources = params.corpus === "sessions" ? ["sessions"] : undefined;
          const answer = await memory.answer(params.query, { ...params, sources, signal });
          return { ...answer, results: answer.results.map((hit) => cited(hit, citations)), citations };
        }, { results: [] }, signal),
    },
    {
      ...GET,
      execute: async (_id, params, signal) =>
        reported(
          () => memory.readFile({ relPath: params.path, from: params.from, lines: params.lines }),
          { path: params.path, text: "" },
          signal,
        ),
    },
  ];
}

function cited(hit, citations) {
  return citations === "off" ? hit : { ...hit, snippet: `${hit.snippet}\n\nSource: ${hit.citation}` };
}

// What the model asked for was wrong: it can correct that, and memory works.
const WRONG_CALLS = new Set(["not_found", "usage", "query"]);

// A failure is an answer too: the model should tell the user.
async function reported(work, empty, signal) {
  try {
    return result(await work());
  } catch (error) {
    if (signal?.aborted) throw error;
    if (WRONG_CALLS.has(error.type)) return result({ ...empty, error: error.message, action: error.action });
    return result({
      ...empty,
      disabled: true,
      unavailable: true,
      error: error.message,
      warning: "Memory search is unavailable. Tell the user.",
      action: error.action ?? "Run `recollect doctor`.",
    });
  }
}

function result(details) {
  return { content: [{ type: "text", text: JSON.stringify(details) }], details };
}
