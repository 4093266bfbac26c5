"""The agents Recollect installs into, and the configuration a user of each may have."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import json5
from ruamel.yaml import YAML

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.install.conftest import Install

AGENTS = ("claude", "codex", "cursor", "vscode", "openclaw", "hermes")
CLAUDE = """{
  "numStartups": 12,
  "mcpServers": {
    "other": {
      "type": "stdio",
      "command": "other"
    }
  },
  "projects": {}
}"""
CLAUDE_SETTINGS = """{
  "hooks": {
    "Stop": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "say done"
          }
        ]
      }
    ]
  }
}
"""
CODEX = """# how I like it
model = "o9"   # the big one

[mcp_servers.other]
command = "other"
"""
OPENCLAW = """{
  "agents": {
    "defaults": {
      "workspace": "~/notes"
    }
  },
  "mcp": {
    "servers": {
      "docs": {
        "command": "uvx",
        "args": [
          "docs"
        ]
      }
    }
  }
}
"""
VSCODE = """{
\t"servers": {
\t\t"other": {
\t\t\t"command": "other"
\t\t}
\t},
\t"inputs": []
}
"""
HERMES = """# how I like it
model:
  default: "hermes-4"   # the big one

mcp_servers:
  # documentation
  docs:
    command: "uvx"
    args:
      - docs

# what it may do
terminal:
  backend: local
"""
COMMENTED = {
    "openclaw": """// my agent
{
  agents: { defaults: { workspace: "~/notes" } }, // where it lives
  mcp: {
    servers: {
      // documentation
      docs: { command: "uvx", args: ["docs"] },
    },
  },
}
""",
    "vscode": """{
\t// shared with the team
\t"servers": {
\t\t"other": { "command": "other" }, /* keep */
\t},
\t"inputs": []
}
""",
}
"""Files that programs understand, and that are not plain JSON."""
OWN = {
    "claude": {"user/.claude.json": CLAUDE, "user/.claude/settings.json": CLAUDE_SETTINGS},
    "codex": {"user/.codex/config.toml": CODEX},
    "cursor": {"user/.cursor/mcp.json": CLAUDE},
    "vscode": {"project/.vscode/mcp.json": VSCODE},
    "openclaw": {"user/.openclaw/openclaw.json": OPENCLAW},
    "hermes": {"user/.hermes/config.yaml": HERMES},
}
PLACES = {
    "claude": ("mcpServers", "recollect"),
    "codex": ("mcp_servers", "recollect"),
    "cursor": ("mcpServers", "recollect"),
    "vscode": ("servers", "recollect"),
    "openclaw": ("mcp", "servers", "recollect"),
    "hermes": ("mcp_servers", "recollect"),
}


def given_files(install: Install, agent: str) -> dict[str, str]:
    """Write what a user of the agent may have, and return it."""
    for path, text in OWN[agent].items():
        top, _, rest = path.partition("/")
        file = {"user": install.home, "project": install.project}[top] / rest
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    return OWN[agent]


def _yaml(text: str) -> Any:
    return YAML(typ="safe").load(text)


def entry_of(text: str, agent: str) -> Any:
    readers: dict[str, Callable[[str], Any]] = {"codex": tomllib.loads, "hermes": _yaml}
    read = readers.get(agent, json5.loads)
    tree: Any = read(text)
    for key in PLACES[agent]:
        tree = tree[key]
    return tree
