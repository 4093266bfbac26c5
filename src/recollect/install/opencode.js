// Recollect: puts what memory holds into the summary when OpenCode compacts a session.
// Written by `recollect install opencode --hooks`; `--undo` removes it.
import { execFile } from "node:child_process"

const COMMAND = ["the command"]
const ENVIRONMENT = {}
const LAST_PROMPTS = 3
const PROMPT_CHARS = 600
const BUDGET_TOKENS = 800
const MILLISECONDS = 8000

// Whatever goes wrong, the session is compacted.
const recall = (prompt, budget) =>
  new Promise((resolve) => {
    const [program, ...before] = COMMAND
    const options = { env: { ...process.env, ...ENVIRONMENT }, timeout: MILLISECONDS }
    execFile(program, [...before, "--budget", `${budget}`, "--", prompt], options, (error, printed) => {
      try {
        resolve(error ? "" : JSON.parse(printed).block)
      } catch {
        resolve("")
      }
    })
  })

const textOf = (message) =>
  message.parts
    .filter((part) => part.type === "text" && !part.synthetic)
    .map((part) => part.text)
    .join("\n")
    .slice(0, PROMPT_CHARS)
    .trim()

export const Recollect = async ({ client }) => ({
  "experimental.session.compacting": async ({ sessionID }, output) => {
    const found = await client.session.messages({ path: { id: sessionID } }).catch(() => ({}))
    const said = (found.data ?? []).filter((message) => message.info.role === "user").map(textOf)
    const prompts = [...new Set(said.filter(Boolean).reverse())].slice(0, LAST_PROMPTS)
    const budget = Math.floor(BUDGET_TOKENS / (prompts.length || 1))
    const blocks = await Promise.all(prompts.map((prompt) => recall(prompt, budget)))
    output.context.push(...blocks.filter(Boolean))
  },
})
