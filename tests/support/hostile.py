"""Makes hostile clones, and drives every command through them.

A clone is a small workspace with traps: links out at every place, pipes, sockets, devices, endless
and sparse files, names of control characters and of no encoding, dates of every year, settings and
rules made to take forever. Beside it is the user's home with a text in every file, the canary: it
must not be read, shown, stored or changed.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import sysconfig
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

import click
from tests.support.commands import ROOT, recollect_command
from tests.support.tracing import VARIABLE
from tests.support.traps import (
    CANARY,
    DECORATIONS,
    PLACES,
    SETTINGS,
    TRAPS,
    make_harmless,
    make_user,
    regular_files,
    remove,
    snapshot,
    wrote,
)

from recollect.shells.cli import cli

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator, Sequence

WATCHDOG_SECONDS = 120
"""A command that takes longer hangs. Most take a tenth of a second."""
MAX_PEAK_KIB = 1_000_000
"""Of a command at its largest, about 150,000 of which are the interpreter and its modules."""
TRACED = Path(__file__).parent / "traced"
NO_SERVER = "postgresql://nobody@127.0.0.1:1/none"

COMMANDS: dict[tuple[str, ...], list[list[str]]] = {
    ("config", "import-openclaw"): [[]],
    ("config", "path"): [[]],
    ("config", "set"): [["--workspace-file", "fusion", "rrf"], ["mmr.enabled", "true"]],
    ("config", "show"): [["--all"]],
    ("doctor",): [[], ["--verify"]],
    ("eval",): [["memory-cases.jsonl"]],
    ("facts", "export"): [[]],
    ("facts", "forget"): [["f-0000000000001"]],
    ("facts", "list"): [["--include-superseded"]],
    ("facts", "show"): [["f-0000000000001"]],
    ("facts", "supersede"): [["f-0000000000001", "f-0000000000002"]],
    ("get",): [["MEMORY.md"], ["memory/a.md"], ["notes/diary.md"], ["memory/facts/preference.md"]],
    ("hook",): [["session-start"], ["prompt"], ["stop"]],
    ("index",): [["--force"], ["--watch"]],
    ("facts", "ingest"): [["--dry-run"], ["--dry-run", "--paths", "skills/**/*,docs/*,*.md"]],
    ("install",): [
        *([name, "--scope", "project"] for name in ("claude", "codex", "cursor", "vscode")),
        ["claude", "--scope", "project", "--undo"],
    ],
    ("mcp",): [[]],
    ("server", "push"): [[".", "https://127.0.0.1:9/api/memories/ada"]],
    ("recall",): [["the green lamp", "--budget", "400"]],
    ("remember",): [["--category", "preference", "Ada likes tea"]],
    ("reset",): [["--yes"], ["clone", "--yes"]],
    ("search",): [["green lamp"], ["dark diary", "--explain", "--json"]],
    ("serve",): [["--port", "0"]],
    ("sessions", "forget"): [["sessions/nothing", "--yes"]],
    ("sessions", "import"): [[], ["sessions"]],
    ("sessions", "list"): [[]],
    ("status",): [[], ["--all"]],
    ("tidy",): [[]],
    ("server", "init"): [[NO_SERVER]],
    ("server", "index"): [[NO_SERVER]],
    ("server", "purge"): [["memory", "memory/lamp.md"]],
    ("server", "status"): [[], [NO_SERVER]],
    ("server", "tokens", "create"): [["memory"]],
    ("server", "tokens", "list"): [[]],
    ("server", "tokens", "revoke"): [["0123456789ab"]],
    ("server", "worker"): [["--once"]],
}  # fmt: skip
"""The arguments that every command is run with."""
_STOPPED = {"serve": "http://", "--watch": "Watching"}
"""Commands that run until they are stopped, and what they say once they work."""


_GIVEN: dict[str, list[object]] = {
    "hook": [{"prompt": "where is the green lamp?"}],
    "mcp": [
        {
            "jsonrpc": "2.0",
            "id": 0,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "hostile", "version": "1"},
            },
        },
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        *(
            {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            for number, params in enumerate(
                [
                    {"name": "memory_search", "arguments": {"query": "green lamp"}},
                    {"name": "memory_get", "arguments": {"path": "MEMORY.md"}},
                ],
                start=1,
            )
        ),
    ],
}
"""What each command is given on its standard input, one JSON object per line."""


def leaf_commands(
    command: click.Command = cli, path: tuple[str, ...] = ()
) -> Iterator[tuple[str, ...]]:
    """Yield the names of every command of the command line."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from leaf_commands(inner, (*path, name))
    else:
        yield path


@dataclass
class Clone:
    """A hostile clone, and the home of the user who cloned it."""

    base: Path
    choose: random.Random
    traps: list[str] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    """What the user sets in the environment."""
    peak_kib: int = 0
    processor_seconds: float = 0.0
    slowest: tuple[float, str] = (0.0, "")
    runs: int = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the clone: Python's own way to remove a folder fails on a deep one."""
        remove(self.base)

    @property
    def workspace(self) -> Path:
        return self.base / "clone"

    @property
    def user(self) -> Path:
        return self.base / "user"

    def environ(self, *, is_fresh: bool) -> dict[str, str]:
        """Return the environment of a command; a new interpreter has to be told to trace."""
        return {
            "HOME": str(self.user),
            "PATH": os.environ["PATH"],
            "RECOLLECT_HOME": str(self.base / "home"),
            "RECOLLECT_CONFIG": str(self.base / "home/config.toml"),
            "RECOLLECT_PROVIDER": "none",
            "RECOLLECT_WORKSPACE": str(self.workspace),
            "OPENBLAS_NUM_THREADS": "1",
            VARIABLE: str(self.base / "trace"),
            **self.settings,
            **({"PYTHONPATH": str(TRACED)} if is_fresh else {}),
        }

    def make(self, *, traps: int, in_settings: bool) -> None:
        """Make the home, a harmless workspace, and traps in it."""
        (self.base / "home").mkdir(parents=True)
        make_user(self.user)
        make_harmless(self.workspace)
        for _ in range(traps):
            place = self.choose.choice(PLACES)
            trap = self.choose.choice(TRAPS)
            self._set(trap, place)
        for decorate in self.choose.sample(DECORATIONS, k=2):
            decorate(self.workspace, self.choose)
            self.traps.append(decorate.__name__)
        if in_settings:
            self._set(
                self.choose.choice([*TRAPS, *[wrote(text) for text in SETTINGS]]), "recollect.toml"
            )

    def _set(self, trap: Callable[[Path, Path], None], place: str) -> None:
        file = self.workspace / place
        # A place below a trap is part of that trap.
        parents = [each for each in file.parents if each.is_relative_to(self.workspace)]
        if any(each.is_symlink() or (each.exists() and not each.is_dir()) for each in parents):
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        remove(file)
        trap(file, self.user)
        self.traps.append(f"{trap.__name__} at {place}")

    def run(self, *arguments: str, command: Sequence[str] = (), folder: Path | None = None) -> str:
        """Run a command and return what it said; check that it opens nothing outside."""
        (self.base / "trace").unlink(missing_ok=True)
        given = "\n".join(map(json.dumps, _GIVEN.get(" ".join(arguments[:1]), [])))
        started = subprocess.Popen(
            [*(command or recollect_command()), *arguments],
            env=self.environ(is_fresh=bool(command)),
            cwd=folder or self.workspace,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            mark = next((_STOPPED[each] for each in arguments if each in _STOPPED), None)
            if mark is not None:
                stop_when_working(started, mark)
                given = ""
            out, errors = started.communicate(given.encode(), timeout=WATCHDOG_SECONDS)
        except subprocess.TimeoutExpired:
            started.kill()
            started.communicate()
            raise AssertionError(f"{arguments} hangs; {self.traps}") from None
        said = (out + errors).decode("utf-8", "replace")
        where = f"{arguments} said {said[-2000:]}; {self.traps}"
        assert "Traceback" not in said, where
        assert "Please report" not in said, where
        assert started.returncode in (0, 1, 2), where
        assert CANARY not in said, f"{CANARY} is shown: {where}"
        self._check_trace(where)
        self.runs += 1
        return said

    def _check_trace(self, where: str) -> None:
        allowed = (*ALLOWED, str(self.workspace), str(self.base / "home"), str(self.base / "trace"))
        lines = (self.base / "trace").read_text("utf-8").splitlines()
        for report in map(json.loads, lines):
            path = report.get("path", str(self.workspace))
            is_allowed = path.startswith(allowed) or _PROCESS.fullmatch(path) is not None
            assert is_allowed or path in _own_places(self.user), (report, where)
            assert report.get("peak_kib", 0) < MAX_PEAK_KIB, where
            self.peak_kib = max(self.peak_kib, report.get("peak_kib", 0))
            seconds = report.get("processor_seconds", 0.0)
            self.processor_seconds += seconds
            self.slowest = max(self.slowest, (seconds, where[:60]))

    def check(self, before: dict[str, tuple[object, ...]]) -> None:
        """Check that the user's files are as they were, and no canary is stored anywhere."""
        assert before == snapshot(self.user), self.traps
        for folder in (self.base / "home", self.workspace):
            for file in regular_files(folder):
                if file.stat().st_size < 2**30:
                    assert CANARY.encode() not in file.read_bytes().lower(), (file, self.traps)


def _own_places(user: Path) -> set[str]:
    """Return the places in a user's home that are asked for transcripts and settings."""
    own = (".claude", ".claude/projects", ".codex/sessions", ".codex/archived_sessions")
    return {str(user / name) for name in (*own, ".openclaw/agents", ".openclaw/openclaw.json")}


_PROCESS = re.compile(r"/proc/[0-9]+/(stat|mountinfo)")
"""Tells whether another process is still alive."""
ALLOWED = tuple(
    {
        *(
            str(Path(path).resolve())
            for path in (*sysconfig.get_paths().values(), *sys.path)
            if path
        ),
        sys.prefix,
        sys.base_prefix + "/lib",
        str(ROOT),
        "/proc/self",
        "/proc/cpuinfo",
        "/proc/meminfo",
        "/proc/stat",
        "/sys/",
        "/dev/null",
        "/dev/urandom",
        "/etc/localtime",
        "/usr/share/zoneinfo",
        "/usr/lib",
        "/etc/mime.types",
        "/etc/host",
        "/etc/resolv.conf",
        "/etc/nsswitch.conf",
        "/etc/ssl",
        "pipe:",
        "socket:",
    }
)
"""What any program opens: its own code, its time zone, its machine."""


def stop_when_working(started: subprocess.Popen[bytes], mark: str) -> None:
    """Stop a command that runs until it is stopped, once it says that it works or has ended."""
    assert started.stderr is not None
    until = time.monotonic() + WATCHDOG_SECONDS
    os.set_blocking(started.stderr.fileno(), False)
    heard = b""
    while started.poll() is None and mark.encode() not in heard and time.monotonic() < until:
        with contextlib.suppress(BlockingIOError):
            heard += started.stderr.read(65536) or b""
        time.sleep(0.02)  # polling an outer process
    started.terminate()
    os.set_blocking(started.stderr.fileno(), True)
