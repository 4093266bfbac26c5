// `openclaw memory …` where OpenClaw's own plugin is off, and `openclaw recollect …` always: the options and the
// output of OpenClaw's own command, answered by Recollect for the workspace of each agent.

import { createInterface } from "node:readline/promises";

import { RecollectError } from "./recollect.js";
import { degradedLines, hitLines, indexLine, statusLines } from "./render.js";
import { print, terminalJson } from "./terminal.js";

export const DESCRIPTION = "Search, index and inspect the memory that Recollect keeps";

const NEVER_REWRITTEN = "Recollect never rewrites memory files; `recollect ingest` collects facts beside them";
const ABSENT = {
  forget: "`recollect sessions forget ID` hides one conversation; notes that were written from it stay",
  promote: NEVER_REWRITTEN,
  "promote-explain": NEVER_REWRITTEN,
  "rem-backfill": NEVER_REWRITTEN,
  "rem-harness": NEVER_REWRITTEN,
  "session-backfill": NEVER_REWRITTEN,
};
const ALL_AGENTS = "Agent id (default: all configured agents)";
const REPAIR = "Repair: nothing to do; `recollect doctor --verify` checks the index, `recollect index` mends it.";

export function registerCommands(program, name, { memoryOf, agentIds, defaultAgent }) {
  const root = program.command(name).description(DESCRIPTION).addHelpText("after", `\n${absentHelp()}`);
  const chosen = (options) => (options.agent ? [options.agent] : agentIds());

  root
    .command("status")
    .description("Show memory search index status")
    .option("--agent <id>", ALL_AGENTS)
    .option("--deep", "Probe embedding provider availability")
    .option("--index", "Reindex if dirty (implies --deep)")
    .option("--fix", "Accepted; there are no recall locks to repair")
    .option("--json", "Print JSON")
    .option("--verbose", "Accepted")
    .action(guarded(async (options) => {
      const shown = [];
      for (const agentId of chosen(options)) {
        const memory = memoryOf(agentId);
        if (options.index) await memory.sync();
        const told = await memory.refreshStatus({ deep: options.deep || options.index });
        const pending = await memory.pendingImport(agentId);
        const answer = { agentId, status: memory.status(), embeddingProbe: asProbe(told.probe), recollect: told };
        shown.push(pending ? { ...answer, notice: pending } : answer);
      }
      if (options.json) return print(terminalJson(shown));
      for (const each of shown) {
        if (options.index) print(indexLine(each.agentId, each.recollect));
        print([...statusLines(each), ...(options.fix ? [REPAIR] : []), ""].join("\n"));
      }
      return undefined;
    }));

  root
    .command("index")
    .description("Reindex memory files")
    .option("--agent <id>", ALL_AGENTS)
    .option("--force", "Force full reindex", false)
    .option("--verbose", "Show provider, model and sources first", false)
    .action(guarded(async (options) => {
      for (const agentId of chosen(options)) {
        const memory = memoryOf(agentId);
        if (options.verbose) {
          print(statusLines({ agentId, recollect: await memory.refreshStatus() }).slice(0, 4).join("\n"));
        }
        let report;
        try {
          report = await memory.sync({ force: options.force });
        } catch (error) {
          throw new RecollectError(`Memory index failed (${agentId}): ${error.message}`, error.action, error.type);
        }
        print(indexLine(agentId, await memory.refreshStatus(), report));
      }
    }));

  root
    .command("reset")
    .description("Clear the derived memory index without deleting sessions")
    .option("--agent <id>", ALL_AGENTS)
    .option("--yes", "Do not ask for confirmation")
    .action(guarded(async (options) => {
      const agents = chosen(options);
      if (!options.yes && !(await isConfirmed(agents))) return print("Memory reset cancelled.");
      for (const agentId of agents) {
        await memoryOf(agentId).reset();
        print(`Memory index reset (${agentId}).`);
      }
      return undefined;
    }));

  root
    .command("search [query]")
    .description("Search memory files")
    .option("--query <text>", "Search query (alternative to positional argument)")
    .option("--agent <id>", "Agent id (default: default agent)")
    .option("--max-results <n>", "Max results")
    .option("--min-score <n>", "Minimum score")
    .option("--json", "Print JSON")
    .action(guarded(async (given, options) => {
      const query = options.query ?? given;
      if (!query?.trim()) throw new RecollectError("Missing search query.", "Name it, or use --query <text>.");
      const maxResults = positiveInteger(options.maxResults);
      const minScore = finite(options.minScore);
      const answer = await memoryOf(options.agent ?? defaultAgent()).answer(query, { maxResults, minScore });
      if (options.json) return print(terminalJson(answer));
      for (const line of degradedLines(answer)) print(line, process.stderr);
      return print(answer.results.length ? hitLines(answer.results).join("\n") : "No matches.");
    }));

  for (const [absent, instead] of Object.entries(ABSENT)) {
    root
      .command(absent, { hidden: true })
      .allowUnknownOption()
      .allowExcessArguments()
      .action(guarded(async () => {
        throw new RecollectError(`Recollect has no \`${absent}\`.`, `${instead}.`);
      }));
  }
}

function absentHelp() {
  const width = Math.max(...Object.keys(ABSENT).map((name) => name.length)) + 2;
  const lines = Object.entries(ABSENT).map(([name, instead]) => `  ${name.padEnd(width)}${instead}`);
  return ["Not in Recollect:", ...lines].join("\n");
}

function positiveInteger(given) {
  if (given === undefined) return undefined;
  if (!/^[1-9][0-9]*$/.test(given)) throw new RecollectError("--max-results must be a positive integer.");
  return Number(given);
}

function finite(given) {
  if (given === undefined) return undefined;
  const score = given.trim() === "" ? Number.NaN : Number(given);
  if (!Number.isFinite(score)) throw new RecollectError("--min-score must be a finite number.");
  return score;
}

async function isConfirmed(agents) {
  if (!process.stdin.isTTY || !process.stdout.isTTY) {
    throw new RecollectError("Memory reset requires confirmation. Re-run with --yes in non-interactive mode.");
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    const question = `Reset the memory index of ${agents.join(", ")}? Sessions and memory files stay. [y/N] `;
    return /^y(es)?$/i.test((await terminal.question(question)).trim());
  } finally {
    terminal.close();
  }
}

function asProbe(probe) {
  return probe ? { ok: probe.works, ...(probe.works ? {} : { error: probe.reason }) } : undefined;
}

// The last argument but one of an action are its options, whatever comes before.
function guarded(action) {
  return async (...args) => {
    try {
      await action(...args);
    } catch (error) {
      process.exitCode = 1;
      if (args.at(-2)?.json) {
        const told = { type: "cli_error", message: error.message, action: error.action };
        print(terminalJson({ ok: false, error: told }));
      } else {
        print(`Error: ${error.message}${error.action ? `\n  → ${error.action}` : ""}`, process.stderr);
      }
    }
  };
}
