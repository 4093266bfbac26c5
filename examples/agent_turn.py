"""Put what memory holds in front of an agent's turn.

usage: python examples/agent_turn.py "how do we keep backups safe?"
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from recollect import Memory

WORKSPACE = Path(__file__).parent / "workspace"
SYSTEM = "You are Wren. What you remember comes before the message; cite it by its path."


def messages(memory: Memory, prompt: str) -> list[dict[str, str]]:
    """Return the turn as a list of chat messages."""
    recalled = memory.recall(prompt, budget_tokens=600)
    for part, why in (recalled.results.degraded or {}).items():
        print(f"Without {part}: {why.reason} {why.action}", file=sys.stderr)
    # If nothing answers, the block is empty or names what may be related: better than a wrong one.
    content = f"{recalled.block}\n\n{prompt}" if recalled.block else prompt
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": content}]


if __name__ == "__main__":
    if not sys.argv[1:]:
        print('usage: python examples/agent_turn.py "QUESTION"', file=sys.stderr)
        raise SystemExit(2)
    with Memory.open(WORKSPACE) as memory:
        print(json.dumps(messages(memory, " ".join(sys.argv[1:])), ensure_ascii=False, indent=2))
