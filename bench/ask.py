"""Saving a note and asking for it at once, again and again, through one open Memory.

usage: python -m bench.ask WORKSPACE NAME     asks until its standard input is closed
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from bench.edits import closing_of

from recollect import Memory

_WAYS = 3


def save(workspace: Path, *, name: str, turn: int) -> tuple[str, str]:
    """Save a note that holds a word nobody used before; return its path and the word."""
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
    """Ask until told to stop; say how often, how long it took and what was not found."""
    workspace, name = Path(sys.argv[1]), sys.argv[2]
    stopped = closing_of(sys.stdin)
    searches, longest = 0, 0.0
    failures: list[str] = []
    with Memory.open(workspace) as memory:
        while not stopped.is_set():
            path, word = save(workspace, name=name, turn=searches)
            began = time.monotonic()
            results = memory.search(word)
            longest = max(longest, time.monotonic() - began)
            searches += 1
            found = [hit.path for hit in results.hits if word in hit.snippet]
            if path not in found:
                failures.append(f"{word} in {path} was not found: {results.notices}")
            if memory.is_behind:
                memory.finish_in_background()
    print(json.dumps({"searches": searches, "longest": longest, "failures": failures}))


if __name__ == "__main__":
    main()
