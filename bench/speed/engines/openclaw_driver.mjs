// Opens OpenClaw's own index manager and does what standard input says, one JSON object a line.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const AGENT = "main";
let manager;

const actions = {
  async open({ package: folder, workspace, url, decay = true }) {
    const cfg = {
      agents: { defaults: { workspace } },
      memory: {
        search: {
          provider: "openai",
          model: "given",
          remote: { baseUrl: url, apiKey: "none" },
          query: { maxResults: 10, minScore: 0 },
        },
      },
    };
    const load = (file) => import(pathToFileURL(`${folder}/dist/${file}`).href);
    const memory = await load("extensions/memory-core/runtime-api.js");
    const { createPluginStateKeyedStore } = await load("plugin-sdk/plugin-state-store-runtime.js");
    memory.configureMemoryCoreDreamingState((options) =>
      createPluginStateKeyedStore("memory-core", options),
    );
    const opened = await memory.getMemorySearchManager({ cfg, agentId: AGENT });
    if (!opened.manager) throw new Error(opened.error ?? "no manager");
    manager = opened.manager;
    // There is no setting for it.
    if (!decay) manager.settings.query.hybrid.temporalDecay = { enabled: false };
    return {};
  },
  async search({ query, count }) {
    const found = await manager.search(query, { maxResults: count, minScore: 0 });
    const rows = Array.isArray(found) ? found : (found.results ?? []);
    return { found: rows.map((row) => [row.path, row.startLine]) };
  },
  async sync() {
    // As in the fresh process of `openclaw memory index`; else it waits for what its watcher says.
    manager.dirty = true;
    await manager.sync({ reason: "cli" });
    return {};
  },
  async status() {
    return { status: manager.status() };
  },
  async close() {
    await manager.close?.();
    return {};
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { do: what, ...given } = JSON.parse(line);
  let answer;
  try {
    answer = await actions[what](given);
  } catch (error) {
    answer = { error: String(error?.stack ?? error) };
  }
  process.stdout.write(`@${JSON.stringify(answer)}\n`);
  if (what === "close") process.exit(0);
}
