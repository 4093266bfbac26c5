// Opens qmd's own store and does what standard input says, one JSON object per line.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const COLLECTION = "notes";
let store;

const actions = {
  async open({ package: folder, database, workspace }) {
    const { createStore } = await import(pathToFileURL(`${folder}/dist/index.js`).href);
    store = await createStore({
      dbPath: database,
      config: { collections: { [COLLECTION]: { path: workspace, pattern: "**/*.md" } } },
    });
    return {};
  },
  async search({ query, count }) {
    const found = await store.searchLex(query, { limit: count, collection: COLLECTION });
    return { found: found.map((row) => row.displayPath.slice(COLLECTION.length + 1)) };
  },
  async sync() {
    return { updated: await store.update() };
  },
  async close() {
    await store.close();
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
