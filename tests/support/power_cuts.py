"""Runs commands, cuts the power at any change they make, and looks at what is left."""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.support.contents import contents, differences, index_file
from tests.support.fault_operations import files_of, ids_of
from tests.support.power_loss import DiskModel, read_journal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.support.faults import Faults
    from tests.support.power_loss import Change

    Files = dict[str, str]

COMMANDS = (
    ("remember", "Ada sails on Mondays", "--category", "pattern"),
    ("remember", "Deploys run on Friday", "--category", "decision"),
    ("index",),
    ("facts", "supersede", "{Friday}", "{Mondays}"),
    ("config", "set", "mmr.enabled", "false"),
    ("facts", "forget", "{Mondays}"),
    ("sessions", "import", "{disk}/user/export"),
    ("install", "claude", "--hooks"),
    ("index",),
    ("install", "claude", "--undo"),
    ("remember", "The crane lifts ten tons", "--category", "fact"),
    ("reset", "--yes"),
    ("index",),
)
"""One after the other on a disk without an index and without facts."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Where the power is cut, and how much of what was not synced is there all the same."""

    place: int
    share: float
    seed: int


class PowerCuts:
    """The commands, and the states of the disk after them."""

    def __init__(
        self, faults: Faults, folder: Path, *, commands: Sequence[Sequence[str]] = COMMANDS
    ) -> None:
        """Run the commands on a disk that keeps a journal."""
        self._faults = faults
        self._disk = faults.disks.disk
        faults.disks.restore("empty")
        self._model_start = DiskModel(self._disk)
        journal = folder / "journal"
        self._states: list[Files] = [self._files()]
        for command in commands:
            ended = faults.run(faults.disks.filled(command), journal=journal)
            if ended.code != 0:
                raise RuntimeError(f"{command}: {ended.said}")
            self._states.append(self._files())
        self.changes = read_journal(journal)

    def cuts(self, count: int, *, seed: int) -> Iterator[Cut]:
        """Yield random cuts: a third keeps nothing that was not synced, a few keep everything."""
        chance = random.Random(seed)
        for _ in range(count):
            share = chance.choice((0.0, 0.0, chance.random(), chance.random(), 1.0))
            yield Cut(chance.randint(0, len(self.changes)), share, chance.randrange(1 << 30))

    def cuts_after_commands(self) -> list[Cut]:
        """Return cuts right after each command that keep nothing that was not synced."""
        return [
            Cut(place, 0.0, seed=0)
            for place, change in enumerate(self.changes, start=1)
            if change.event == "mark"
        ]

    def attempt(self, cut: Cut) -> Iterator[str]:
        """Cut the power; yield what is wrong afterwards."""
        done = self._cut(cut)
        before, after = self._states[done], self._states[min(done + 1, len(self._states) - 1)]
        found = self._files()
        for name in sorted({*before, *after, *found}):
            if found.get(name) not in (before.get(name), after.get(name)):
                yield f"{name} is neither as before nor as after command {done + 1}"
        for command in (("index",), ("facts", "list"), ("search", "lighthouse")):
            ended = self._faults.run(command)
            if ended.code != 0 or "Traceback" in ended.said:
                yield f"{command[0]} fails afterwards: {ended.said}"
                return
        expected = self._faults.rebuild()
        yield from differences(expected, contents(index_file(self._disk / "home")))[:1]

    def _cut(self, cut: Cut) -> int:
        """Put the state in place; return how many commands had ended."""
        shutil.rmtree(self._disk)
        model = self._model_start.copy()
        for change in self.changes[: cut.place]:
            model.apply(change)
        model.cut(self._disk, chance=random.Random(cut.seed), share=cut.share)
        return sum(each.event == "mark" for each in self.changes[: cut.place])

    def _files(self) -> Files:
        return files_of(self._disk, known=ids_of(self._disk))


def syncs(changes: list[Change]) -> int:
    """Return how often something was synced."""
    return sum(change.event == "sync" for change in changes)
