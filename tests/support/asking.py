"""Saves a note and searches for it at once, again and again, through one open Memory.

usage: python -m tests.support.asking WORKSPACE NAME     runs until standard input is closed

Prints one JSON line per search: its seconds, and what failed or "".
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from tests.support.edits import closing_of

from recollect import Memory

_WAYS = 3


def save(workspace: Path, *, name: str, turn: int) -> tuple[str, str]:
    """Save a note with a word that no note had before; return its path and the word."""
    word = f"zq{name}{turn}w"
    text = f"# Saved by {name}\n\nThe word of turn {turn} is {word}.\n"
    file = workspace / "memory" / "own" / f"{name}-{turn % _WAYS}.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    if turn % _WAYS == 0:
        file.unlink(missing_ok=True)
        file.write_text(text, encoding="utf-8")
    elif turn % _WAYS == 1:
        file.write_text(text, encoding="utf-8")
    else:
        beside = file.with_name(f".{file.name}.tmp")
        beside.write_text(text, encoding="utf-8")
        beside.replace(file)
    return file.relative_to(workspace).as_posix(), word


def main() -> None:
    """Save and search until standard input is closed."""
    workspace, name = Path(sys.argv[1]), sys.argv[2]
    stopped = closing_of(sys.stdin)
    turn = 0
    with Memory.open(workspace) as memory:
        while not stopped.is_set():
            path, word = save(workspace, name=name, turn=turn)
            turn += 1
            began = time.monotonic()
            results = memory.search(word)
            seconds = time.monotonic() - began
            found = path in [hit.path for hit in results.hits if word in hit.snippet]
            failure = "" if found else f"{word} in {path} was not found: {results.notices}"
            print(json.dumps({"seconds": seconds, "failure": failure}), flush=True)
            if memory.is_behind:
                memory.finish_in_background()


if __name__ == "__main__":
    main()
