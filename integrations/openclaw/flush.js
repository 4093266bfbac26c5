// The turn before a compaction, in which an agent writes down what would be lost. OpenClaw gets it from the
// memory plugin; its settings are in `agents.defaults.compaction.memoryFlush`.

const SOFT_THRESHOLD_TOKENS = 4000;
const FORCE_BYTES = 2 * 1024 * 1024;
const RESERVE_TOKENS = 20_000;
const RESERVE_SHARE = 0.2; // of a small context window
const UNITS = { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 };

export function planFlush({ cfg, nowMs = Date.now(), contextWindowTokens } = {}) {
  const given = cfg?.agents?.defaults?.compaction?.memoryFlush ?? {};
  if (given.enabled === false) return null;
  const day = dayOf(nowMs, cfg?.agents?.defaults?.userTimezone);
  const file = `memory/${day}.md`;
  const reserve = contextWindowTokens
    ? Math.min(RESERVE_TOKENS, Math.floor(contextWindowTokens * RESERVE_SHARE))
    : RESERVE_TOKENS;
  const soft = wholeNumber(given.softThresholdTokens) ?? SOFT_THRESHOLD_TOKENS;
  const rules =
    `Write to ${file} only, and only append to it. ` +
    "Do not change MEMORY.md, USER.md or any other file. Leave secrets out. " +
    "If there is nothing worth keeping, or nothing to tell the user, reply with NO_REPLY.";
  return {
    softThresholdTokens: contextWindowTokens
      ? Math.min(soft, Math.floor((contextWindowTokens - reserve) / 2))
      : soft,
    forceFlushTranscriptBytes: bytes(given.forceFlushTranscriptBytes) ?? FORCE_BYTES,
    reserveTokensFloor: reserve,
    model: given.model?.trim() || undefined,
    prompt:
      "This conversation is about to be compacted. Write down now what later sessions will need: decisions, " +
      `facts, open tasks, each a short statement that makes sense on its own. ${rules}`,
    systemPrompt: `You are taking notes before a conversation is compacted. ${rules}`,
    relativePath: file,
  };
}

function dayOf(nowMs, timeZone) {
  const shape = { year: "numeric", month: "2-digit", day: "2-digit" };
  try {
    return new Intl.DateTimeFormat("en-CA", { ...shape, timeZone }).format(new Date(nowMs));
  } catch {
    return new Intl.DateTimeFormat("en-CA", shape).format(new Date(nowMs)); // unknown time zone
  }
}

function wholeNumber(value) {
  return Number.isFinite(value) && value >= 0 ? Math.floor(value) : undefined;
}

function bytes(value) {
  if (typeof value === "number") return wholeNumber(value);
  const found = /^\s*(\d+(?:\.\d+)?)\s*(b|kb|mb|gb)?\s*$/i.exec(value ?? "");
  return found ? Math.floor(Number(found[1]) * UNITS[(found[2] ?? "b").toLowerCase()]) : undefined;
}
