"""Calls every method of a Memory on the workspace in RECOLLECT_WORKSPACE, whatever it answers.

usage: python -m tests.support.library_tour

Only errors that the library documents are expected; any other ends the tour with a traceback.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from recollect.errors import RecollectError
from recollect.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Callable


def tour(memory: Memory) -> dict[str, Callable[[], object]]:
    """Return a call of every public method, by its name."""
    return {
        "sync": lambda: memory.sync(force=True),
        "search": lambda: memory.search("green lamp", explain=True),
        "answer": lambda: memory.search("dark diary"),
        "recall": lambda: memory.recall("green lamp", budget_tokens=400),
        "get": lambda: memory.get("MEMORY.md"),
        "status": memory.status,
        "paths": memory.paths,
        "verify": memory.verify,
        "verify_store": memory.parts.verify_store,
        "facts.remember": lambda: memory.facts.remember("Ada likes tea", category="preference"),
        "facts.export": memory.facts.export,
        "sessions": memory.sessions.all,
        "extractor": memory.extractor.plan,
        "overview": memory.overview.documents,
        "reset": memory.reset,
    }


def main() -> None:
    """Open the memory and call everything."""
    try:
        with Memory.open(os.environ["RECOLLECT_WORKSPACE"]) as memory:
            for name, call in tour(memory).items():
                try:
                    print(name, repr(call())[:20_000])
                except RecollectError as error:
                    print(name, error.message)
    except RecollectError as error:
        sys.exit(f"{error.message} {error.action}")


if __name__ == "__main__":
    main()
