// `openclaw recollect …`, and `openclaw memory …` if OpenClaw's own plugin is off: Recollect's command line for
// the workspace of an agent.

export const DESCRIPTION = "Search, index and inspect memory with Recollect";

export function registerCommands(program, name, { memoryOf }) {
  const root = program.command(name).description(DESCRIPTION);

  root
    .command("search <query...>")
    .description("Search memory")
    .option("--agent <id>", "Agent (default: the default agent)")
    .option("--max-results <n>", "Maximum number of hits", Number)
    .option("--json", "Print JSON")
    .action(guarded(async (query, options) => {
      const answer = await memoryOf(options.agent).answer(query.join(" "), { maxResults: options.maxResults });
      if (options.json) return print(JSON.stringify(answer, null, 2));
      for (const hit of answer.results) {
        print(`${hit.score.toFixed(3)} ${hit.path}:${hit.startLine}-${hit.endLine}\n${hit.snippet}\n`);
      }
      if (answer.results.length === 0) print("No matches.");
      return undefined;
    }));

  root
    .command("index")
    .description("Bring the index up to date")
    .option("--agent <id>", "Agent (default: the default agent)")
    .option("--force", "Read every file again")
    .action(guarded(async (options) => {
      const memory = memoryOf(options.agent);
      await memory.sync({ force: options.force });
      const { files, chunks } = memory.status();
      print(`${files} files, ${chunks} chunks.`);
    }));

  root
    .command("status")
    .description("Show what is indexed and which provider embeds it")
    .option("--agent <id>", "Agent (default: the default agent)")
    .action(guarded(async (options) => {
      print(JSON.stringify(await memoryOf(options.agent).refreshStatus(), null, 2));
    }));
}

function guarded(action) {
  return async (...args) => {
    try {
      await action(...args);
    } catch (error) {
      process.stderr.write(`Error: ${error.message}\n${error.action ? `  → ${error.action}\n` : ""}`);
      process.exitCode = 1;
    }
  };
}

function print(text) {
  process.stdout.write(`${text}\n`);
}
