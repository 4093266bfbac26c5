// What `openclaw memory` prints, in the lines that OpenClaw's own command prints. Values in, lines out.

import { homedir } from "node:os";

export function hitLines(hits) {
  return hits.flatMap((hit) => [
    `${hit.score.toFixed(3)} ${shortened(hit.path)}:${hit.startLine}-${hit.endLine}`,
    hit.snippet,
    "",
  ]);
}

export function statusLines({ agentId, recollect: told, notice }) {
  const { index, provider, legs, cache, probe } = told;
  const [changed, gone] = [told.stale?.changed ?? [], told.stale?.gone ?? []];
  const sources = Object.entries(index?.bySource ?? {});
  const requested = provider?.requested ?? "auto";
  return [
    `Memory Search (${agentId})`,
    `Provider: ${provider?.name ?? "none"} (requested: ${requested})`,
    `Model: ${provider?.model ?? "none"}`,
    `Sources: ${sources.map(([name]) => name).join(", ") || "none"}`,
    `Indexed: ${counted(index)}`,
    `Dirty: ${changed.length + gone.length ? `yes (${changed.length} changed, ${gone.length} gone)` : "no"}`,
    `Store: ${shortened(index?.path ?? "<unknown>")}`,
    `Workspace: ${shortened(told.workspace)}`,
    ...(probe ? [`Embeddings: ${probe.works ? "ready" : "unavailable"}`] : []),
    ...(probe && !probe.works && probe.reason ? [`Embeddings error: ${probe.reason}`] : []),
    ...(sources.length ? ["By source:"] : []),
    ...sources.map(([name, counts]) => `  ${name} · ${counted(counts)}`),
    `Vector store: ${vectorState(legs?.vector, provider)}`,
    ...(provider?.dimensions ? [`Vector dims: ${provider.dimensions}`] : []),
    `Keyword index: ${told.legs?.keyword?.chunks ?? 0} chunks`,
    ...(cache ? [`Embedding cache: enabled (${cache.vectors ?? 0} entries)`] : []),
    ...Object.entries(provider?.skipped ?? {}).map(([name, why]) => `Fallback: ${name}: ${said(why)}`),
    ...(told.notices ?? []).map((each) => `Notice: ${each}`),
    ...(notice ? [`Notice: ${notice}`] : []),
  ];
}

export function indexLine(agentId, told, report) {
  const files = told.index?.documents ?? 0;
  if (files === 0) return `No memory files found in ${shortened(told.workspace)}; nothing indexed (${agentId}).`;
  const done = `Memory index updated (${agentId}): ${files} ${files === 1 ? "file" : "files"} indexed.`;
  return [done, ...degradedLines(report).map((line) => `Memory index WARNING (${agentId}): ${line}`)].join("\n");
}

// Why a leg did not run, and what to do.
export function degradedLines(answer) {
  return Object.values(answer?.degraded?.legs ?? {}).map(said);
}

function said({ reason, action }) {
  return [reason, action].filter(Boolean).join(" ");
}

function counted(counts) {
  return `${counts?.documents ?? 0} files · ${counts?.chunks ?? 0} chunks`;
}

function vectorState(leg, provider) {
  if (!provider?.name) return "disabled";
  return leg?.pending ? `index incomplete (${leg.pending} pending)` : "ready";
}

function shortened(path) {
  const home = homedir();
  return path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}
