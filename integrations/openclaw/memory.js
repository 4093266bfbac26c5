// The memory of one workspace, with the interface of OpenClaw's host: search, read, sync, status.

import { RecollectError } from "./recollect.js";

const DEFAULT_RESULTS = 6;
const MOST_RESULTS = 1000;
const HONOURED = ["max_results", "min_score"]; // of OpenClaw's settings, those that `defaults` brings

// `defaults` returns what OpenClaw's configuration says now about `query`.
export function createMemory({ run, workspace, settings, defaults = () => ({}) }) {
  let state = { provider: "recollect", files: undefined, chunks: undefined, error: undefined };

  async function search(query, options = {}) {
    const configured = defaults();
    const limit = options.maxResults ?? configured.maxResults ?? DEFAULT_RESULTS;
    // A configured floor is meant for OpenClaw's scale, where good hits score lower; no floor is the same on both.
    const floor = options.minScore ?? (configured.minScore === 0 ? 0 : undefined);
    const wanted = Math.min(MOST_RESULTS, Math.max(1, Math.floor(limit)));
    const asksSessions = options.sources?.length === 1 && options.sources[0] === "sessions";
    const args = ["search"];
    if (asksSessions) args.push("--source", "sessions");
    // Transcripts are dropped below, so ask for more hits than needed.
    args.push("-n", String(settings.sessions ? wanted : Math.min(MOST_RESULTS, wanted * 2)));
    if (typeof floor === "number") args.push("--min-score", String(Math.min(1, Math.max(0, floor))));
    args.push("--", query); // it may start with a dash
    const answer = await run(workspace, args, { signal: options.signal });
    const shown = answer.results.filter((hit) => settings.sessions || hit.source !== "sessions");
    state = { ...state, provider: answer.provider ?? "none", error: undefined };
    return { ...answer, results: shown.slice(0, wanted).map(asHit) };
  }

  async function read({ relPath, from, lines }) {
    const args = ["get"];
    if (from !== undefined) args.push("--from", String(from));
    if (lines !== undefined) args.push("--lines", String(lines));
    args.push("--", relPath);
    try {
      return { status: "ok", ...(await run(workspace, args)) };
    } catch (error) {
      if (error instanceof RecollectError && error.type === "not_found") {
        return { status: "not_found", text: "", path: relPath };
      }
      throw error;
    }
  }

  async function refreshStatus({ deep = false } = {}) {
    const told = await run(workspace, deep ? ["status", "--deep"] : ["status"]);
    state = {
      ...state,
      provider: told.provider?.name ?? "none",
      requestedProvider: told.provider?.requested,
      bySource: told.index?.bySource,
      model: told.provider?.model ?? undefined,
      files: told.index?.documents,
      chunks: told.index?.chunks,
      dbPath: told.index?.path,
      dirty: (told.stale?.changed?.length ?? 0) + (told.stale?.gone?.length ?? 0) > 0,
      dims: told.provider?.dimensions ?? undefined,
    };
    return told;
  }

  // Settings of OpenClaw's own memory that Recollect does not have yet, in one line; undefined if there are none.
  async function pendingImport(agentId) {
    let changes;
    try {
      ({ changes } = await run(workspace, ["config", "import-openclaw", "--agent", agentId]));
    } catch {
      return undefined; // no file that Recollect can read, so nothing to bring over
    }
    const names = Object.keys(changes ?? {}).filter((name) => !HONOURED.includes(name));
    if (names.length === 0) return undefined;
    const command = `recollect config import-openclaw --agent ${agentId} --write`;
    return `OpenClaw's ${names.join(", ")} not taken over yet: \`${command}\` does that.`;
  }

  return {
    answer: search,
    status: () => hostStatus(state, workspace),
    search: async (query, options) => (await search(query, options)).results,
    readFile: read,
    refreshStatus,
    sync: async (params = {}) => {
      const report = await run(workspace, params.force ? ["index", "--force"] : ["index"]);
      await refreshStatus();
      return report;
    },
    reset: () => run(workspace, ["reset", "--yes"]),
    pendingImport,
    probeEmbeddingAvailability: async () => {
      const told = await refreshStatus({ deep: true });
      const works = told.probe?.works === true;
      return works ? { ok: true } : { ok: false, error: told.probe?.reason ?? "no provider" };
    },
    probeVectorAvailability: async () => ((await refreshStatus()).legs?.vector?.chunks ?? 0) > 0,
    close: async () => {},
  };
}

// OpenClaw knows two sources; facts are memory files.
function asHit(hit) {
  const { vectorScore, textScore, ...rest } = hit;
  return {
    ...rest,
    ...(vectorScore === null ? {} : { vectorScore }),
    ...(textScore === null ? {} : { textScore }),
    source: hit.source === "sessions" ? "sessions" : "memory",
    corpus: hit.source === "sessions" ? "sessions" : "memory",
  };
}

function hostStatus(state, workspace) {
  const hasVectors = state.provider !== "none";
  return {
    backend: "builtin",
    provider: state.provider,
    requestedProvider: state.requestedProvider,
    model: state.model,
    files: state.files,
    chunks: state.chunks,
    dirty: state.dirty,
    workspaceDir: workspace,
    dbPath: state.dbPath,
    sources: ["memory"],
    sourceCounts: Object.entries(state.bySource ?? {}).map(([source, counts]) => ({
      source,
      files: counts.documents,
      chunks: counts.chunks,
    })),
    fts: { enabled: true, available: true },
    vector: { enabled: hasVectors, available: hasVectors, dims: state.dims },
    custom: { searchMode: hasVectors ? "hybrid" : "fts-only", engine: "recollect" },
  };
}
