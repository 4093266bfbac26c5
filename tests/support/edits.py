"""Edits a workspace at random, as people and their tools do. The same seed makes the same edits.

usage: python -m tests.support.edits WORKSPACE SEED     runs until standard input is closed

Prints one JSON line per edit.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

_WORDS = (  # noqa: SIM905 - a list of them would take a page
    "harbour violin ledger cactus turbine meadow proposal lantern router biscuit anchor quarry "
    "velvet magnet orchard pencil glacier saddle tunnel whistle copper lagoon monsoon thistle"
).split()
_FOLDERS = ("people", "projects", "projects/alpha", "projects/beta", "journal")
_LONGEST_PAUSE_SECONDS = 0.15
_MANY = 30  # files a busy tool writes at once
_LONG_NOTE = 40  # paragraphs: several chunks
_WAYS_TO_SAVE = 3
_LONG_SHARE = 0.1  # of the notes that are created


class Editor:
    """Edits the notes of one workspace. Everything in memory/notes belongs to it."""

    def __init__(self, workspace: Path, *, seed: int) -> None:
        self._workspace = workspace
        self._top = workspace / "memory" / "notes"
        self._chance = random.Random(seed)
        self._number = 0

    def populate(self, count: int) -> None:
        """Write this many notes."""
        self._write(self._workspace / "MEMORY.md", paragraphs=4)
        for _ in range(count):
            self._write(self._fresh())

    def trim(self, count: int) -> None:
        """Delete notes until only this many are left."""
        while sum(1 for _ in self._top.rglob("*.md")) > count:
            self._delete()

    def edit(self) -> None:
        """Make one change of a random kind."""
        kinds: dict[Callable[[], None], int] = {
            self._change: 40,
            self._replace: 20,
            self._create: 12,
            self._delete: 8,
            self._rename: 8,
            self._change_curated: 4,
            self._write_many: 2,
            self._rename_folder: 3,
            self._recreate_folder: 1,
            self._touch: 2,
        }
        [kind] = self._chance.choices(list(kinds), weights=list(kinds.values()))
        kind()

    def _change(self) -> None:
        if note := self._any_note():
            with note.open("a", encoding="utf-8") as stream:
                stream.write(self._text(1))

    def _replace(self) -> None:
        """Save as careful editors do: write another file, then rename it."""
        if note := self._any_note():
            beside = note.with_name(f".{note.name}.swp")
            self._write(beside)
            beside.replace(note)

    def _create(self) -> None:
        is_long = self._chance.random() < _LONG_SHARE
        self._write(self._fresh(), paragraphs=_LONG_NOTE if is_long else 3)

    def _delete(self) -> None:
        if note := self._any_note():
            note.unlink()

    def _rename(self) -> None:
        if note := self._any_note():
            target = self._fresh()
            target.parent.mkdir(parents=True, exist_ok=True)
            note.rename(target)

    def _change_curated(self) -> None:
        self._write(self._workspace / "MEMORY.md", paragraphs=self._chance.randint(2, 8))

    def _write_many(self) -> None:
        for _ in range(_MANY):
            self._write(self._any_note() or self._fresh())

    def _rename_folder(self) -> None:
        if folder := self._any_folder():
            self._number += 1
            folder.rename(folder.with_name(f"{folder.name.split('-')[0]}-{self._number}"))

    def _recreate_folder(self) -> None:
        """Remove a folder and create it again at once, as a checkout does."""
        if folder := self._any_folder():
            count = sum(1 for _ in folder.rglob("*.md"))
            shutil.rmtree(folder)
            for _ in range(count):
                self._number += 1
                self._write(folder / f"note-{self._number}.md")

    def _touch(self) -> None:
        if note := self._any_note():
            note.touch()

    def _fresh(self) -> Path:
        self._number += 1
        return self._top / self._chance.choice(_FOLDERS) / f"note-{self._number}.md"

    def _any_note(self) -> Path | None:
        notes = sorted(self._top.rglob("*.md"))
        return self._chance.choice(notes) if notes else None

    def _any_folder(self) -> Path | None:
        folders = sorted(path for path in self._top.iterdir() if path.is_dir())
        return self._chance.choice(folders) if folders else None

    def _write(self, file: Path, *, paragraphs: int = 3) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self._text(paragraphs), encoding="utf-8")

    def _text(self, paragraphs: int) -> str:
        lines = [
            " ".join(self._chance.choices(_WORDS, k=self._chance.randint(5, 40)))
            for _ in range(paragraphs)
        ]
        return f"# {self._chance.choice(_WORDS)}\n\n" + "\n\n".join(lines) + "\n"


def save(workspace: Path, *, name: str, turn: int) -> tuple[str, str]:
    """Save a note with a word that no note had before; return its path and the word."""
    word = f"zq{name}{turn}w"
    text = f"# Saved by {name}\n\nThe word of turn {turn} is {word}.\n"
    file = workspace / "memory" / "own" / f"{name}-{turn % _WAYS_TO_SAVE}.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    if turn % _WAYS_TO_SAVE == 0:
        file.unlink(missing_ok=True)
        file.write_text(text, encoding="utf-8")
    elif turn % _WAYS_TO_SAVE == 1:
        file.write_text(text, encoding="utf-8")
    else:
        beside = file.with_name(f".{file.name}.tmp")
        beside.write_text(text, encoding="utf-8")
        beside.replace(file)
    return file.relative_to(workspace).as_posix(), word


def closing_of(stream: TextIO) -> threading.Event:
    """Return an event that is set when the stream is closed."""
    closed = threading.Event()

    def read_all() -> None:
        stream.read()
        closed.set()

    threading.Thread(target=read_all, daemon=True).start()
    return closed


def main() -> None:
    """Edit until standard input is closed."""
    workspace, seed = Path(sys.argv[1]), int(sys.argv[2])
    editor = Editor(workspace, seed=seed)
    pause = random.Random(seed)
    stopped = closing_of(sys.stdin)
    while not stopped.is_set():
        editor.edit()
        print(json.dumps({"failure": ""}), flush=True)
        time.sleep(pause.uniform(0, _LONGEST_PAUSE_SECONDS))


if __name__ == "__main__":
    main()
