"""How often is ordinary text taken for a secret, by which rule, and what does looking cost?

usage: python bench/find_secrets.py FOLDER [FOLDER …]

A folder holds texts: `corpus.jsonl` of a set, transcripts (`.jsonl`), or `.md` and `.py` files, of
which each paragraph counts as a message. Prints what is found of each kind per 1,000 messages, and
the same for a rule that goes by randomness alone. `--show` prints the places, to be looked at.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.text.redact import redact
from recollect.text.secrets import find_secrets
from recollect.text.secrets.values import is_irregular

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_CHARS = 6_000_000
CONTEXT_CHARS = 40
BARE = re.compile(r"(?<![\w/+.-])[A-Za-z0-9_+=-]{24,}(?![\w/+-])")


def texts_in(folder: Path) -> Iterator[str]:
    """Yield the messages of a folder."""
    corpus = folder / "corpus.jsonl"
    if corpus.is_file():
        for line in corpus.open(encoding="utf-8"):
            yield str(json.loads(line)["text"])
        return
    for file in sorted(folder.rglob("*.jsonl")):
        for line in file.open(encoding="utf-8"):
            yield from filter(None, strings(json.loads(line)))
    for file in sorted([*folder.rglob("*.md"), *folder.rglob("*.py")]):
        yield from file.read_text(encoding="utf-8", errors="replace").split("\n\n")


def strings(value: object) -> Iterator[str]:
    """Yield every text in a JSON document."""
    if isinstance(value, str):
        yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in inner:
        yield from strings(each)


def main(folders: list[str], *, show: bool) -> None:
    """Print a line per folder."""
    print(f"{'folder':<24}{'messages':>9}{'MB':>6}{'ms/MB':>7}{'/1,000':>8}{'bare':>7}  kinds")
    for folder in folders:
        messages: list[str] = []
        size = 0
        for text in texts_in(Path(folder)):
            messages.append(text)
            size += len(text)
            if size > MOST_CHARS:
                break
        start = time.process_time()
        for text in messages:
            redact(text)
        took = time.process_time() - start
        kinds: Counter[str] = Counter()
        marked = bare = 0
        for text in messages:
            found = find_secrets(text)
            marked += bool(found)
            bare += any(is_irregular(each) for each in BARE.findall(text))
            kinds.update(each.kind for each in found)
            for each in found if show else ():
                before, after = (
                    text[: each.start][-CONTEXT_CHARS:],
                    text[each.end :][:CONTEXT_CHARS],
                )
                print(f"  {each.kind}: {before!r} [{text[each.start : each.end]!r}] {after!r}")
        thousand = 1000 / max(1, len(messages))
        listed = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common()) or "none"
        print(
            f"{Path(folder).name:<24}{len(messages):>9}{size / 1e6:>6.1f}{took / size * 1e9:>7.0f}"
            f"{marked * thousand:>8.2f}{bare * thousand:>7.2f}  {listed}"
        )


if __name__ == "__main__":
    main([each for each in sys.argv[1:] if each != "--show"], show="--show" in sys.argv)
