"""The agents Recollect installs into, and the configuration a user of each may have."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import json5

if TYPE_CHECKING:
    from tests.install.conftest import Install

AGENTS = (
    *("claude", "codex", "cursor", "vscode", "openclaw", "claude-desktop", "opencode", "gemini"),
    *("copilot", "zed", "windsurf", "cline"),
)
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
OPENCODE = """{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "other": {
      "type": "local",
      "command": [
        "other"
      ]
    }
  }
}
"""
ZED = """{
  "theme": "One Dark",
  "context_servers": {
    "other": {
      "command": "other"
    }
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
HOOKS = {"claude": ("--hooks",)}
"""Options with which all files of `OWN` are changed."""
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
    "zed": """// Zed settings
{
  "theme": "One Dark",
  "context_servers": {},
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
    "claude-desktop": {"user/.config/Claude/claude_desktop_config.json": CLAUDE},
    "opencode": {"user/.config/opencode/opencode.json": OPENCODE},
    "gemini": {"user/.gemini/settings.json": CLAUDE},
    "copilot": {"user/.copilot/mcp-config.json": CLAUDE},
    "zed": {"user/.config/zed/settings.json": ZED},
    "windsurf": {"user/.codeium/windsurf/mcp_config.json": CLAUDE},
    "cline": {"user/.cline/data/settings/cline_mcp_settings.json": CLAUDE},
}
PLACES = {
    "codex": ("mcp_servers", "recollect"),
    "vscode": ("servers", "recollect"),
    "openclaw": ("mcp", "servers", "recollect"),
    "opencode": ("mcp", "recollect"),
    "zed": ("context_servers", "recollect"),
}
"""Where an entry is, if not with those of most agents."""


def given_files(install: Install, agent: str) -> dict[str, str]:
    """Write what a user of the agent may have, and return it."""
    for path, text in OWN[agent].items():
        top, _, rest = path.partition("/")
        file = {"user": install.home, "project": install.project}[top] / rest
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    return OWN[agent]


def entry_of(text: str, agent: str) -> Any:
    """Return an entry as most agents have it: the command, its arguments, its environment."""
    tree: Any = tomllib.loads(text) if agent == "codex" else json5.loads(text)
    for key in PLACES.get(agent, ("mcpServers", "recollect")):
        tree = tree[key]
    if agent == "opencode":
        program, *arguments = tree.pop("command")
        tree |= {"command": program, "args": arguments, "env": tree.pop("environment", {})}
    return tree
