"""Damages the files of a small index in many ways, and checks what a memory makes of each.

Whatever is damaged, nothing raises, the notes and facts stay as they are, a search answers as it
does from the sound index, and a file that was set aside is told of. Only pages that are sound by
themselves and not those that belong there may lead to another answer.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support import hashing

from recollect import Memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recollect.types import Hit

    Files = dict[str, bytes]
    """The index and the files beside it, by the end of their names."""

QUESTIONS = ("which lantern hangs in the harbour?", "who has the spare key", "boiler october")
TORN_LOGS = "torn logs"
PAGE = 4096
SECTOR = 512
LOG_HEADER = 32
EVERYTHING_EVERY, RESET_EVERY, CHECK_EVERY = 41, 25, 10
"""Cases that do every step, start with a reset, read every page at the end."""
_SETTINGS = {"provider": hashing.NAME}
_ROOT = Path(__file__).parent.parent.parent
_SYNC = f"""
import json, sys, time
from tests.support import hashing
from recollect import Memory
hashing.register()
memory = Memory.open(sys.argv[1], environ=json.loads(sys.argv[2]), settings={_SETTINGS})
memory.sync()
print("synced", flush=True)
time.sleep(1000)
"""


class AnswerError(Exception):
    """A search did not answer as it does from the sound index."""


@dataclass(frozen=True)
class Case:
    """One damaged index."""

    number: int
    kind: str
    files: Files


@dataclass
class Ground:
    """A workspace and its home, with the sound files of its index."""

    folder: Path
    sound: Files = field(default_factory=dict)
    logged: Files = field(default_factory=dict)
    """The files of a process that was killed before it wrote its log into the index."""

    def __post_init__(self) -> None:
        self.workspace = self.folder / "workspace"
        self.home = self.folder / "home"
        self.environ = {"HOME": str(self.folder / "user"), "RECOLLECT_HOME": str(self.home)}
        (self.workspace / "memory").mkdir(parents=True)
        self._write("MEMORY.md", "# Home\n\n" + "The boiler is serviced in October. " * 9)
        for number in range(1):
            self._write(f"memory/{number}.md", _note(number))
        with self.open() as memory:
            memory.facts.remember("The spare key is under the lantern.")
            memory.facts.remember("Mireille has the spare key of the harbour office.")
            memory.sync()
        self.index = next((self.home / "memory").glob("*.sqlite"))
        for number in range(1, 2):
            self._write(f"memory/{number}.md", _note(number))
        self.logged = self._left_by_killed_process()
        with self.open() as memory:
            memory.sync()
        self.sound = self._files()
        self.notes = self._notes()
        with self.open() as memory:
            self.answers = answers(memory)

    def _left_by_killed_process(self) -> Files:
        """Sync in another process, and kill it before it writes its log into the index."""
        command = [sys.executable, "-c", _SYNC, str(self.workspace), json.dumps(self.environ)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=_ROOT) as child:
            assert child.stdout is not None
            assert b"synced\n" == child.stdout.readline()
            child.kill()
        return self._files()

    def open(self) -> Memory:
        """Open the memory, whatever state its index is in."""
        return Memory.open(self.workspace, environ=self.environ, settings=_SETTINGS)

    def _write(self, path: str, text: str) -> None:
        (self.workspace / path).write_text(text, encoding="utf-8")

    def _files(self) -> Files:
        ends = ("", "-wal", "-shm")
        files = {end: self.index.with_name(self.index.name + end) for end in ends}
        return {end: file.read_bytes() for end, file in files.items() if file.exists()}

    def _notes(self) -> Files:
        files = (file for file in self.workspace.rglob("*") if file.is_file())
        return {str(file.relative_to(self.workspace)): file.read_bytes() for file in files}

    def put(self, files: Files) -> None:
        """Put damaged files in the place of the index."""
        for file in self.index.parent.iterdir():
            file.unlink()
        for end, content in files.items():
            self.index.with_name(self.index.name + end).write_bytes(content)

    def set_aside(self) -> bool:
        """Tell whether a damaged file was set aside."""
        return any("damaged" in file.name for file in self.index.parent.iterdir())

    def untouched(self) -> bool:
        """Tell whether notes and facts are what they were."""
        return self.notes == self._notes()

    def close(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.folder)


def _note(number: int) -> str:
    return f"# Note {number}\n\n" + f"Lantern {number} hangs in harbour {number * 7}.\n" * (
        number + 1
    )


def answers(memory: Memory) -> list[tuple[Hit, ...]]:
    """Ask every question."""
    return [memory.search(question).hits for question in QUESTIONS]


@dataclass
class Outcome:
    """What came of many cases."""

    cases: Counter[str] = field(default_factory=Counter)
    rebuilt: Counter[str] = field(default_factory=Counter)
    repaired: Counter[str] = field(default_factory=Counter)
    misled: Counter[str] = field(default_factory=Counter)
    """Other answers from pages that were sound and stale."""
    failures: list[str] = field(default_factory=list)

    def add(self, case: Case, ground: Ground) -> list[str]:
        """Drive one case and note how it ended; return what failed."""
        self.cases[case.kind] += 1
        before = len(self.failures)
        try:
            notices = _Run(case, ground).drive()
        except AnswerError as error:
            if case.kind in STALE_KINDS:
                self.misled[case.kind] += 1
            else:
                self.failures.append(f"{case.kind} {case.number}: {error}")
        except AssertionError as error:
            self.failures.append(f"{case.kind} {case.number}: {error}")
        except Exception as error:  # noqa: BLE001 - what the campaign looks for
            self.failures.append(f"{case.kind} {case.number}: {type(error).__name__}: {error}")
        else:
            kind = self.rebuilt if ground.set_aside() else self.repaired
            kind[case.kind] += bool(notices)
        return self.failures[before:]


@dataclass
class _Run:
    """Everything that reads an index, in an order of its own for each case."""

    case: Case
    ground: Ground
    told: list[str] = field(default_factory=list)

    def drive(self) -> list[str]:
        """Return what the user was told."""
        number = self.case.number
        is_reset = number % RESET_EVERY == 0
        self.ground.put(self.case.files)
        steps = [self._ask, self._sync, self._look, self._verify, self._recall, self._list]
        first = number % len(steps)
        steps = steps[first:] + steps[:first]
        if not self._does_everything:
            steps = steps[:1]
        with self.ground.open() as memory:
            if is_reset:
                memory.reset()
            for step in steps:
                step(memory)
            # A log that is lost takes the newest notes with it, a reset all, and a file of no bytes
            # is a new index, which says that it is empty: they are read again.
            is_less = self.case.kind == TORN_LOGS or is_reset or not self.case.files[""]
            self._ask(memory, sync=is_less)
            if number % CHECK_EVERY == 0:
                self._check(memory)
            self.told += memory.parts.take_notices()
        assert self.ground.untouched(), "a note or a fact was changed"
        assert self.told or not self.ground.set_aside(), "set aside in silence"
        return self.told

    @property
    def _does_everything(self) -> bool:
        return self.case.number % EVERYTHING_EVERY == 0

    def _ask(self, memory: Memory, *, sync: bool = True) -> None:
        for turn, (question, expected) in enumerate(
            zip(QUESTIONS, self.ground.answers, strict=True)
        ):
            if self._does_everything or turn == self.case.number % len(QUESTIONS):
                found = memory.search(question, sync=sync)
                self.told += found.notices
                if expected != found.hits:
                    raise AnswerError(f"{question!r} has another answer")

    def _sync(self, memory: Memory) -> None:
        self.told += memory.sync().notices

    def _look(self, memory: Memory) -> None:
        self.told += memory.status().notices
        self.told += memory.parts.verify_store()

    def _verify(self, memory: Memory) -> None:
        self.told += memory.verify().notices

    def _recall(self, memory: Memory) -> None:
        self.told += memory.recall(QUESTIONS[0], budget_tokens=400).results.notices

    def _list(self, memory: Memory) -> None:
        memory.overview.documents()

    def _check(self, memory: Memory) -> None:
        """Pages that nothing has read may be damaged until somebody reads all of them."""
        problems = memory.parts.verify_store()
        if problems:
            self.told += problems
            memory.sync(force=True)
            assert not memory.parts.verify_store(), problems
            self._ask(memory)


# The ways to damage


def flips(files: Files, *, places: range) -> Iterator[Files]:
    """Flip one bit of each of these bytes of the index."""
    for place in places:
        yield {**files, "": _flipped(files[""], place, bit=(place * 5 + place // PAGE) % 8)}


def _flipped(content: bytes, place: int, *, bit: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 1 << bit]) + content[place + 1 :]


def overwritten_pages(files: Files, chance: random.Random) -> Files:
    """Overwrite some pages with noise."""
    content = bytearray(files[""])
    for _ in range(chance.choice((1, 1, 2, 5))):
        start = chance.randrange(len(content) // PAGE) * PAGE
        content[start : start + PAGE] = chance.randbytes(PAGE)
    return {**files, "": bytes(content)}


def zeroed_blocks(files: Files, chance: random.Random) -> Files:
    """Overwrite pages or sectors with zeroes."""
    content = bytearray(files[""])
    size = chance.choice((SECTOR, PAGE, PAGE, PAGE, 4 * PAGE))
    start = chance.randrange(len(content) // size) * size
    content[start : start + size] = bytes(size)
    return {**files, "": bytes(content)}


def noise(files: Files, chance: random.Random) -> Files:
    """Overwrite a stretch anywhere with noise, some of it beyond a page."""
    content = bytearray(files[""])
    size = chance.choice((1, 2, 16, 300, 5000, 20_000))
    start = chance.randrange(len(content))
    stretch = content[start : start + size]
    content[start : start + size] = chance.randbytes(len(stretch))
    return {**files, "": bytes(content)}


def truncated(files: Files, chance: random.Random) -> Files:
    """Cut the end off, at a page or anywhere."""
    content = files[""]
    at_page = chance.randrange(len(content) // PAGE) * PAGE
    return {**files, "": content[: chance.choice((at_page, chance.randrange(len(content))))]}


def torn_log(files: Files, chance: random.Random) -> Files:
    """Damage, cut or lose the log of a process that was killed, or its shared memory."""
    log, shared = files["-wal"], files["-shm"]
    place = chance.randrange(len(log))
    match chance.randrange(7):
        case 0:
            log = _flipped(log, place, bit=chance.randrange(8))
        case 1:
            log = log[:place]
        case 2:
            log = log[:place] + bytes(min(SECTOR, len(log) - place)) + log[place + SECTOR :]
        case 3:
            log = log[:place] + chance.randbytes(min(PAGE, len(log) - place)) + log[place + PAGE :]
        case 4:
            shared = chance.randbytes(len(shared))
        case 5:
            shared = shared[: chance.randrange(len(shared))]
        case _:
            log = log[:LOG_HEADER]
    return {"": files[""], "-wal": log, "-shm": shared}


def misplaced_pages(files: Files, chance: random.Random) -> Files:
    """Write some pages over others."""
    content = bytearray(files[""])
    pages = range(0, len(content), PAGE)
    for _ in range(chance.choice((1, 1, 3))):
        source, target = chance.choice(pages), chance.choice(pages[1:])
        content[target : target + PAGE] = content[source : source + PAGE]
    return {**files, "": bytes(content)}


def half_moved_logs(files: Files, newer: bytes, chance: random.Random) -> Files:
    """Move a part of the log's pages into the index, and cut the log."""
    content = bytearray(files[""].ljust(len(newer), b"\0"))
    for start in range(0, len(newer), PAGE):
        if chance.random() < 1 / 2:
            content[start : start + PAGE] = newer[start : start + PAGE]
    log = files["-wal"]
    return {"": bytes(content), "-wal": log[: chance.randrange(len(log))]}


STALE_KINDS = ("misplaced pages", "half-moved logs")
RANDOM_KINDS = {
    "overwritten pages": overwritten_pages,
    "zeroed blocks": zeroed_blocks,
    "noise": noise,
    "truncated": truncated,
    STALE_KINDS[0]: misplaced_pages,
}


def cases(ground: Ground, *, every: int, others: int, seed: int) -> Iterator[Case]:
    """Yield flips of every so many bytes, and so many cases of each other kind."""
    number = 0
    makers = {kind: partial(make, ground.sound) for kind, make in RANDOM_KINDS.items()}
    makers[TORN_LOGS] = partial(torn_log, ground.logged)
    makers[STALE_KINDS[1]] = partial(half_moved_logs, ground.logged, ground.sound[""])
    for kind, make in makers.items():
        chance = random.Random(f"{seed} {kind}")
        for _ in range(others):
            yield Case(number, kind, make(chance))
            number += 1
    for files in flips(ground.sound, places=range(0, len(ground.sound[""]), every)):
        yield Case(number, "flipped bits", files)
        number += 1
