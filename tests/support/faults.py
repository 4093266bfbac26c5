"""Lets one call of a command fail and looks at everything afterwards."""

from __future__ import annotations

import contextlib
import re
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.support.contents import contents, differences, index_file
from tests.support.fault_kinds import KINDS, MEMORY_KINDS, Kind
from tests.support.fault_operations import Disks, files_of, ids_of, names_of
from tests.support.faulty_runs import FaultyRuns
from tests.support.loopback import loopback_vendor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.contents import Rows
    from tests.support.fault_operations import Operation
    from tests.support.faulty_runs import Ended

    Files = dict[str, str]

_SHOWN_CHARS = 400
_BEHIND = ("not up to date", "is not indexed", "is not updated", "not read yet")
"""Said with an answer that could not look at the newest state of the files."""
_SOME_FAILED = re.compile(r"[1-9]\d* failed")
_MISUSED = "Error: Invalid value for"  # a folder that cannot be looked at; click says so


@dataclass(frozen=True, slots=True)
class Fault:
    """A call that fails."""

    number: int
    call: str
    path: str
    kind: Kind

    @property
    def title(self) -> str:
        """What fails, for people."""
        if not self.number:
            return self.kind.name
        return f"{self.kind.name} at call {self.number}, {self.call} {self.path}"


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[Faults]:
    """Start what the commands need: a failing disk in this folder, an embedding server."""
    (folder / "own").mkdir()
    with loopback_vendor(folder) as environ, FaultyRuns(folder / "own") as runs:
        yield Faults(folder, runs=runs, environ=environ)


class Faults:
    """The faults of operations on one disk."""

    def __init__(self, folder: Path, *, runs: FaultyRuns, environ: dict[str, str]) -> None:
        self._folder = folder
        self._runs = runs
        self._environ = environ
        self.disks = Disks(folder, run=self.run)
        self._undisturbed: dict[str, tuple[Files, Files, frozenset[str]]] = {}
        self._rebuilt: dict[object, dict[str, Rows]] = {}

    def of(self, operation: Operation) -> list[Fault]:
        """Return every fault of an operation."""
        self.disks.restore(operation.disk)
        ended = self.run(self.disks.arguments(operation), wants_calls=True)
        if ended.code != 0:
            raise RuntimeError(f"{operation.name} fails by itself: {ended.said}")
        return [
            Fault(number, call.name, call.path.replace(str(self._folder), ""), kind)
            for number, call in enumerate(ended.made, start=1)
            for kind in KINDS
            if kind.can_hit(call.name, call.doing)
        ]

    def limits(self) -> list[Fault]:
        """Return every limit of memory."""
        return [Fault(0, "", "", kind) for kind in MEMORY_KINDS]

    def attempt(self, operation: Operation, fault: Fault) -> Iterator[str]:
        """Let one call fail; yield what is wrong afterwards."""
        before, wanted, names = self._undisturbed_files(operation)
        disk = self.disks.disk
        self.disks.restore(operation.disk)
        known = ids_of(disk)
        arguments = self.disks.arguments(operation)
        ended = self.run(arguments, fault=fault)
        after = files_of(disk, known=known)
        is_done = after == wanted
        yield from _said_wrong(ended, heals=fault.kind.heals)
        if ended.code == 0:
            yield from self._done_wrong(operation, ended, is_done=is_done)
        elif not is_done and after != before and not fault.kind.lasts_for:
            yield f"left half done ({_differing(after, before)}): {_shown(ended)}"
        if ended.code != 0 or not is_done:
            again = self.run(arguments)
            after = files_of(disk, known=known)
            if again.code != 0 and not is_done and after != wanted:
                yield f"cannot be repeated ({_differing(after, wanted)}): {_shown(again)}"
        yield from self._next_run_wrong(names)

    def run(
        self,
        arguments: list[str] | tuple[str, ...],
        *,
        fault: Fault | None = None,
        home: Path | None = None,
        journal: Path | None = None,
        wants_calls: bool = False,
    ) -> Ended:
        """Run a command on the disk."""
        disk = self.disks.disk
        return self._runs.run(
            ["-w", str(disk / "workspace"), *arguments],
            environ={
                **self._environ,
                "HOME": str(disk / "user"),
                "RECOLLECT_HOME": str(home or disk / "home"),
            },
            watched=disk,
            kind=fault.kind if fault else None,
            number=fault.number if fault else 0,
            journal=journal,
            wants_calls=wants_calls,
        )

    def _done_wrong(self, operation: Operation, ended: Ended, *, is_done: bool) -> Iterator[str]:
        """Yield what is wrong with a run that claims to have done its work."""
        if not is_done:
            yield f"ended well, but was not done: {_shown(ended)}"
        is_behind = any(part in ended.said for part in _BEHIND)
        if operation.answers not in ended.said and not is_behind:
            yield f"ended well without the answer: {_shown(ended)}"
        if operation.arguments == ("index",) and not _SOME_FAILED.search(ended.said):
            found = contents(index_file(self.disks.disk / "home"))
            for difference in differences(self.rebuild(), found)[:1]:
                yield f"ended well with another index: {difference}: {_shown(ended)}"

    def _next_run_wrong(self, names: frozenset[str]) -> Iterator[str]:
        """Index again; yield what is wrong with the index and what was left behind."""
        disk = self.disks.disk
        ended = self.run(["index"])
        if ended.code != 0:
            yield f"the next run fails: {_shown(ended)}"
            return
        yield from differences(self.rebuild(), contents(index_file(disk / "home")))[:1]
        if left := sorted(names_of(disk) - names):
            yield f"left behind: {left}"

    def _undisturbed_files(self, operation: Operation) -> tuple[Files, Files, frozenset[str]]:
        """Return the files before and after the operation, and all names after the next run."""
        if operation.name not in self._undisturbed:
            disk = self.disks.disk
            self.disks.restore(operation.disk)
            known = ids_of(disk)
            before = files_of(disk, known=known)
            self.run(self.disks.arguments(operation))
            after = files_of(disk, known=known)
            self.run(["index"])
            self._undisturbed[operation.name] = before, after, names_of(disk)
        return self._undisturbed[operation.name]

    def rebuild(self) -> dict[str, Rows]:
        """Return what a new index of the same files holds."""
        disk = self.disks.disk
        files = [
            file
            for top in ("workspace", "user", "home/sessions")
            for file in sorted((disk / top).rglob("*"))
            if file.is_file()
        ]
        state = tuple((str(each), each.stat().st_mtime_ns, each.stat().st_size) for each in files)
        if state not in self._rebuilt:
            home = self._folder / "rebuilt"
            shutil.rmtree(home, ignore_errors=True)
            home.mkdir()
            if (disk / "home" / "sessions").exists():
                shutil.copytree(disk / "home" / "sessions", home / "sessions")
            ended = self.run(["index"], home=home)
            if ended.code != 0:
                raise RuntimeError(ended.said)
            self._rebuilt = {state: contents(index_file(home))}  # only the last: states differ
        return self._rebuilt[state]


def _said_wrong(ended: Ended, *, heals: bool) -> Iterator[str]:
    """Yield what is wrong with the way a command ended."""
    lines = ended.said.splitlines()
    if ended.hangs:
        yield "hangs"
    elif ended.code not in (0, 1, 2):
        yield f"ended with {ended.code}: {_shown(ended)}"
    elif "Traceback" in ended.said or "Exception ignored" in ended.said:
        ours = [line.strip() for line in lines if "src/recollect/" in line]
        yield f"traceback: {ours[-1:]} {lines[-1]}"
    elif ended.code != 0 and "→" not in ended.said and _MISUSED not in ended.said:
        yield f"failed without a next step: {_shown(ended)}"
    elif ended.code != 0 and heals:
        yield f"failed over a call that was to be repeated: {_shown(ended)}"


def _shown(ended: Ended) -> str:
    return ended.said[-_SHOWN_CHARS:].strip() or "(it said nothing)"


def _differing(one: Files, other: Files) -> str:
    return ", ".join(sorted(name for name in {*one, *other} if one.get(name) != other.get(name)))
