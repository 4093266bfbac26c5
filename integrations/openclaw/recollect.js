// Runs Recollect's command line and reads its JSON. One process per call: it starts in well under a second,
// and none is left behind when OpenClaw ends.

import { execFile } from "node:child_process";

const MOST_BYTES = 16 * 1024 * 1024;
const COOL_DOWN_MS = 60_000;

export class RecollectError extends Error {
  constructor(message, action, type = "error") {
    super(message);
    this.name = "RecollectError";
    this.action = action;
    this.type = type;
  }
}

// The plugin's settings, with their defaults.
export function readSettings(given = {}) {
  const command = given.command ?? process.env.RECOLLECT ?? "recollect";
  return {
    command: Array.isArray(command) ? command : [command],
    home: given.home,
    timeoutMs: given.timeoutMs ?? 30_000,
    sessions: given.sessions === true,
  };
}

// Returns a function that runs one command for a workspace. If the program cannot be started, it is not tried
// again for a minute, so a broken installation does not slow down every turn.
export function createRunner(settings, { now = Date.now } = {}) {
  let broken;
  return async function run(workspace, args, { signal } = {}) {
    if (broken && now() - broken.since < COOL_DOWN_MS) throw broken.error;
    broken = undefined;
    try {
      return await call(settings, ["-w", workspace, "--json", ...args], signal);
    } catch (error) {
      if (error.type === "not_started") broken = { since: now(), error };
      throw error;
    }
  };
}

function call(settings, args, signal) {
  const [program, ...before] = settings.command;
  const env = settings.home ? { ...process.env, RECOLLECT_HOME: settings.home } : process.env;
  const options = { env, signal, timeout: settings.timeoutMs, maxBuffer: MOST_BYTES, windowsHide: true };
  return new Promise((resolve, reject) => {
    const child = execFile(program, [...before, ...args], options, (error, stdout, stderr) => {
      const answer = parsed(stdout);
      if (answer && answer.ok !== false) resolve(answer);
      else reject(reason(error, answer, stderr, settings));
    });
    child.stdin?.end();
  });
}

function parsed(stdout) {
  try {
    return JSON.parse(stdout);
  } catch {
    return undefined;
  }
}

function reason(error, answer, stderr, settings) {
  if (answer?.error) return new RecollectError(answer.error.message, answer.error.action, answer.error.type);
  if (error?.code === "ENOENT" || error?.code === "EACCES") {
    return new RecollectError(
      `The program ${settings.command[0]} cannot be started (${error.code}).`,
      "Install Recollect, or set plugins.entries.recollect.config.command to its absolute path.",
      "not_started",
    );
  }
  if (error?.name === "AbortError") return error;
  if (error?.killed) {
    return new RecollectError(
      `Recollect did not answer within ${settings.timeoutMs} ms.`,
      "Run `recollect index` once, or set plugins.entries.recollect.config.timeoutMs higher.",
      "timeout",
    );
  }
  const last = String(stderr ?? "").trim().split("\n").at(-1);
  return new RecollectError(
    `Recollect failed: ${last || error?.message || "it printed no answer"}`,
    "Run `recollect doctor`.",
  );
}
