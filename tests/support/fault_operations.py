"""What the faults are tried on: each operation of the command line, and the disk it starts with.

A disk is a folder with `workspace`, `home` and `user`. It is copied for each run, to the same path:
an index knows the path of its workspace.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tests.support.faulty_runs import Ended

    Run = Callable[..., Ended]

EXPORTS = Path(__file__).parent.parent / "fixtures" / "exports"
CONVERSATION = "sessions/chatgpt/6957a1e0-aaaa-8001-a001-000000000001.jsonl"
_NOTES = {
    "MEMORY.md": "# Memory\n\nThe harbour opens at six.\n",
    "memory/2026-03-01.md": "# Sunday\n\nThe lighthouse was painted white.\n",
    "memory/boats.md": "# Boats\n\nThe Petrel needs a new sail.\n\n## Crew\n\nAda steers.\n",
}
_SETTINGS = '# mine\nsources = ["memory", "sessions"]\n'
_CLAUDE = '{\n  "theme": "dark"\n}\n'
_ID = re.compile(r"f-[0-9a-z]{13}")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z")


@dataclass(frozen=True, slots=True)
class Operation:
    """A command that is run on a failing disk."""

    name: str
    arguments: tuple[str, ...]
    disk: str = "indexed"
    """Where it starts: `empty`, `indexed`, `edited`, `installed` or `imported`."""
    answers: str = ""
    """What its output contains if it did what was asked."""


OPERATIONS = (
    Operation("index", ("index",), disk="empty"),
    Operation("index edits", ("index",), disk="edited"),
    Operation("search", ("search", "lighthouse"), answers="painted white"),
    Operation("search edits", ("search", "telescope"), disk="edited", answers="telescope"),
    Operation("recall", ("recall", "lighthouse", "--budget", "400"), answers="painted white"),
    Operation("get", ("get", "memory/boats.md"), answers="Petrel"),
    Operation("remember", ("remember", "Ada sails on Mondays", "--category", "pattern")),
    Operation("supersede", ("facts", "supersede", "{Friday}", "{tea}")),
    Operation("forget", ("facts", "forget", "{tea}")),
    Operation("sessions import", ("sessions", "import", "{disk}/user/export")),
    Operation("sessions forget", ("sessions", "forget", "--yes", CONVERSATION), disk="imported"),
    Operation("config set", ("config", "set", "mmr.enabled", "false")),
    Operation("install", ("install", "claude", "--hooks")),
    Operation("install --undo", ("install", "claude", "--undo"), disk="installed"),
    Operation("reset", ("reset", "--yes")),
    Operation("verify", ("doctor", "--verify")),
    Operation("status", ("status",)),
)


class Disks:
    """Makes the disks that operations start with, each once, and copies them."""

    def __init__(self, folder: Path, *, run: Run) -> None:
        self.disk = folder / "disk"
        """Where the run sees it."""
        self._kept = folder / "kept"
        self._run = run

    def restore(self, name: str) -> None:
        """Put a disk in place."""
        kept = self._kept / name
        if not kept.exists():
            self._make(name)
            shutil.copytree(self.disk, kept, symlinks=True)
            return
        self._clear()
        shutil.copytree(kept, self.disk, symlinks=True)

    def arguments(self, operation: Operation) -> list[str]:
        """Return the arguments of an operation."""
        return self.filled(operation.arguments)

    def filled(self, arguments: Iterable[str]) -> list[str]:
        """Return arguments with the ids of facts and paths filled in."""
        return [self._filled(part) for part in arguments]

    def _filled(self, part: str) -> str:
        part = part.replace("{disk}", str(self.disk))
        if part.startswith("{"):
            [line] = [
                line
                for file in (self.disk / "workspace" / "memory" / "facts").glob("*.md")
                for line in file.read_text(encoding="utf-8").splitlines()
                if part[1:-1] in line
            ]
            part = _ID.findall(line)[0]
        return part

    def _clear(self) -> None:
        shutil.rmtree(self.disk, ignore_errors=True)

    def _make(self, name: str) -> None:
        if name == "empty":
            self._make_empty()
        elif name == "indexed":
            self.restore("empty")
            self._facts()
            self._done("index")
        elif name == "edited":
            self.restore("indexed")
            self._edit()
        elif name == "installed":
            self.restore("indexed")
            self._done("install", "claude", "--hooks")
        elif name == "imported":
            self.restore("indexed")
            self._done("sessions", "import", f"{self.disk}/user/export")
            self._done("index")

    def _make_empty(self) -> None:
        self._clear()
        workspace, user = self.disk / "workspace", self.disk / "user"
        for path, text in _NOTES.items():
            _write(workspace / path, text)
        _write(user / ".config" / "recollect" / "config.toml", _SETTINGS)
        _write(user / ".claude.json", _CLAUDE)
        shutil.copytree(EXPORTS / "chatgpt", user / "export")

    def _facts(self) -> None:
        facts = self.disk / "workspace" / "memory" / "facts"
        for number, (name, text) in enumerate(
            (
                ("decision", "Deploys run on Friday"),
                ("preference", "Ada prefers tea"),
                ("fact", "The crane lifts ten tons"),
                ("technical", "Ten tons is what the crane lifts"),
            )
        ):
            comment = f"f-d1w0000000{number}00 by=owner created=2026-03-0{number + 1}T09:00:00Z"
            _write(facts / f"{name}.md", f"# Facts: {name}\n\n- {text} <!-- {comment} -->\n")
        (facts / ".lock").touch()

    def _edit(self) -> None:
        workspace = self.disk / "workspace"
        _write(workspace / "memory" / "boats.md", "# Boats\n\nThe Petrel was sold.\n")
        _write(workspace / "memory" / "tools.md", "# Tools\n\nA new telescope was bought.\n")
        (workspace / "memory" / "2026-03-01.md").unlink()

    def _done(self, *arguments: str) -> None:
        ended = self._run(arguments)
        if ended.code != 0:
            raise RuntimeError(f"{arguments}: {ended.said}")


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def files_of(disk: Path, *, known: frozenset[str]) -> dict[str, str]:
    """Return the content of every file outside the home; what differs each time is made equal.

    Temporary files are left out: what is left of them at the end counts.

    Args:
        disk: holds workspace and user.
        known: ids and moments that were there before.

    """

    def name(found: re.Match[str]) -> str:
        return found[0] if found[0] in known else "new"

    return {
        path: _MOMENT.sub(name, _ID.sub(name, text))
        for path, text in _texts(disk)
        if not path.endswith((".tmp", "/.lock"))
    }


def ids_of(disk: Path) -> frozenset[str]:
    """Return the ids of facts and the moments in all files outside the home."""
    return frozenset(
        found for _, text in _texts(disk) for each in (_ID, _MOMENT) for found in each.findall(text)
    )


def _texts(disk: Path) -> Iterator[tuple[str, str]]:
    for top in ("workspace", "user"):
        for file in sorted((disk / top).rglob("*")):
            if file.is_file():
                text = file.read_text(encoding="utf-8", errors="surrogateescape")
                yield file.relative_to(disk).as_posix(), text


def names_of(disk: Path) -> frozenset[str]:
    """Return the paths of all files, except those that SQLite and locks may leave."""
    found = (file.relative_to(disk).as_posix() for file in disk.rglob("*") if not file.is_dir())
    return frozenset(name for name in found if not name.endswith(("-wal", "-shm", "/.lock")))
