"""Eight processes index, search, watch and edit one workspace while some of them are killed.

usage: python bench/stress.py [--seconds 300] [--seed 1]

Two run `recollect index` again and again, two `recollect watch`, two save a note and ask for it by
`recollect search`, one does so through the façade, one edits, deletes and renames notes and
folders. Index and watch are killed by chance and begun anew. Every exit code and every word on
standard error is looked at: besides the kills nothing may go wrong, every note just saved must be
found, and in the end the index must equal one built from nothing. Exits 1 otherwise.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from bench.ask import save  # noqa: E402 - found from the folder above
from bench.contents import contents, differences, index_file  # noqa: E402
from bench.edits import Editor  # noqa: E402
from bench.vendor import loopback_vendor  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NOTES = 300
_ANSWER_SECONDS = 0.02  # of the embedding server, so that a run can be killed while it waits
_KILL_PAUSE_SECONDS = (0.1, 1.5)
_STOP_SECONDS = 60.0
_FORCED_SHARE = 0.2  # index runs that look at every file again
_WRONG = ("Traceback", "locked", "Error")


@dataclass(frozen=True, slots=True)
class Cast:
    """How many do what."""

    indexing: int = 2
    watching: int = 2
    searching: int = 2
    asking: int = 1
    editing: int = 1


@dataclass(frozen=True, slots=True)
class Told:
    """What a script says of itself when it ends."""

    searches: int = 0
    edits: int = 0
    longest: float = 0.0
    failures: tuple[str, ...] = ()


@dataclass(slots=True)
class Ledger:
    """What happened."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    longest_command: float = 0.0
    """The longest `recollect search`, with the start of its interpreter, in seconds."""
    longest_search: float = 0.0
    """The longest search through the façade, in seconds."""


class Stress:
    """One run over one folder."""

    def __init__(self, folder: Path, *, environ: dict[str, str], cast: Cast, seed: int) -> None:
        self._folder = folder
        self._workspace = folder / "workspace"
        self._environ = environ
        self._cast = cast
        self._seed = seed
        self._chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._mortal: list[subprocess.Popen[bytes]] = []
        self._killed: set[int] = set()
        self.ledger = Ledger()

    def run(self, *, seconds: float, notes: int) -> Ledger:
        """Let them all loose for so long, stop them, and look at what is left."""
        self._workspace.mkdir(parents=True)
        Editor(self._workspace, seed=self._seed).populate(notes)
        threads = [threading.Thread(target=role) for role in self._roles()]
        for thread in threads:
            thread.start()
        self._stopped.wait(seconds)
        self._stopped.set()
        for thread in threads:
            thread.join()
        wait_for_descendants(self._environ)
        self._conclude()
        return self.ledger

    def _roles(self) -> Iterator[Callable[[], None]]:
        for number in range(self._cast.indexing):
            yield lambda number=number: self._index(number)  # type: ignore[misc]  # bound now
        for _ in range(self._cast.watching):
            yield self._watch
        for number in range(self._cast.searching):
            yield lambda number=number: self._search(f"command{number}")  # type: ignore[misc]
        for number in range(self._cast.asking):
            yield lambda number=number: self._ask(f"facade{number}")  # type: ignore[misc]
        for number in range(self._cast.editing):
            yield lambda number=number: self._edit(self._seed + 1 + number)  # type: ignore[misc]
        yield self._kill

    def _index(self, number: int) -> None:
        chance = random.Random(self._seed * 100 + number)  # noqa: S311 - as above
        while not self._stopped.is_set():
            forced = ("--force",) if chance.random() < _FORCED_SHARE else ()
            self._command("index", *forced)
            self._count("index runs")

    def _watch(self) -> None:
        while not self._stopped.is_set():
            syncs = self._command("watch", "--json", until_stopped=True).count("\n")
            self._count("watch starts")
            self._count("syncs of watch", syncs)

    def _search(self, name: str) -> None:
        turn = 0
        while not self._stopped.is_set():
            path, word = save(self._workspace, name=name, turn=turn)
            turn += 1
            began = time.monotonic()
            answer = self._command("search", word, "--json", is_mortal=False)
            with self._lock:
                took = time.monotonic() - began
                self.ledger.longest_command = max(self.ledger.longest_command, took)
            self._count("searches by command")
            hits = json.loads(answer or "{}").get("results", [])
            if not any(hit["path"] == path and word in hit["snippet"] for hit in hits):
                self._fail(f"{word} in {path} was not found by the command: {answer}")

    def _ask(self, name: str) -> None:
        told = self._script("bench.ask", str(self._workspace), name)
        self._count("searches by façade", told.searches)
        with self._lock:
            self.ledger.longest_search = max(self.ledger.longest_search, told.longest)
        for failure in told.failures:
            self._fail(f"façade: {failure}")

    def _edit(self, seed: int) -> None:
        told = self._script("bench.edits", str(self._workspace), str(seed))
        self._count("edits", told.edits)

    def _kill(self) -> None:
        while not self._stopped.wait(self._chance.uniform(*_KILL_PAUSE_SECONDS)):
            with self._lock:
                alive = [child for child in self._mortal if child.poll() is None]
                if alive:
                    victim = self._chance.choice(alive)
                    self._killed.add(victim.pid)
                    victim.send_signal(signal.SIGKILL)

    def _command(self, *arguments: str, is_mortal: bool = True, until_stopped: bool = False) -> str:
        """Run a command to its end, note how it ended, and return what it printed."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as said:
            child = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-m", "recollect", "-w", str(self._workspace), *arguments],
                env=self._environ,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=said,
            )
            with self._lock:
                if is_mortal:
                    self._mortal.append(child)
            self._wait(child, until_stopped=until_stopped)
            with self._lock:
                if is_mortal:
                    self._mortal.remove(child)
                was_killed = child.pid in self._killed and child.returncode == -signal.SIGKILL
                self._killed.discard(child.pid)
            out.seek(0)
            said.seek(0)
            complaint = said.read().decode()
            is_wrong = child.returncode != 0 or any(word in complaint for word in _WRONG)
            if until_stopped and not complaint and child.returncode == -signal.SIGTERM:
                is_wrong = False  # it was told to end before it had begun to watch
            if was_killed:
                self._count("kills")
            elif is_wrong:
                self._fail(f"{' '.join(arguments)} ended with {child.returncode}: {complaint}")
            return out.read().decode()

    def _wait(self, child: subprocess.Popen[bytes], *, until_stopped: bool) -> None:
        while until_stopped and child.poll() is None and not self._stopped.wait(0.05):
            pass
        if until_stopped:
            child.terminate()
        try:
            child.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._fail(f"{child.args!r} did not end within {_STOP_SECONDS:.0f} s")
            child.kill()
            child.wait()

    def _script(self, name: str, *arguments: str) -> Told:
        """Run a script until all is stopped; return what it told."""
        child = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-m", name, *arguments],
            cwd=ROOT,
            env=self._environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        while child.poll() is None and not self._stopped.wait(0.05):
            pass
        told, complaint = child.communicate()  # closes its standard input: it ends
        if child.returncode != 0 or complaint:
            self._fail(f"{name} ended with {child.returncode}: {complaint}")
            return Told()
        return Told(**json.loads(told))

    def _conclude(self) -> None:
        """Index once more, verify, and compare with an index built from nothing."""
        scratch = {**self._environ, "RECOLLECT_HOME": str(self._folder / "scratch")}
        for arguments, environ in (
            (("index", "--json"), self._environ),
            (("verify",), self._environ),
            (("index", "--json"), scratch),
        ):
            done = subprocess.run(  # noqa: S603 - our own program
                [sys.executable, "-m", "recollect", "-w", str(self._workspace), *arguments],
                env=environ,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode != 0 or any(word in done.stderr for word in _WRONG):
                self._fail(f"the last {arguments[0]}: {done.stdout} {done.stderr}")
        expected, actual = (
            contents(index_file(Path(environ["RECOLLECT_HOME"])))
            for environ in (scratch, self._environ)
        )
        self._count("chunks at the end", len(expected["chunks"]))
        self._count("vectors at the end", sum(row[-1] is not None for row in expected["vectors"]))
        if not self.ledger.counts["vectors at the end"]:
            self._fail("the index has no vectors")
        for difference in differences(expected, actual):
            self._fail(f"the index differs from one built from nothing: {difference}")
        damaged = list(index_file(self._folder / "home").parent.glob("*.damaged-*"))
        if damaged:
            self._fail(f"an index was set aside as damaged: {damaged}")

    def _count(self, what: str, times: int = 1) -> None:
        with self._lock:
            self.ledger.counts[what] += times

    def _fail(self, failure: str) -> None:
        with self._lock:
            self.ledger.failures.append(failure)


def wait_for_descendants(environ: dict[str, str], *, seconds: float = _STOP_SECONDS) -> None:
    """Wait for what a search has started in the background: it is nobody's child any more."""
    mark = f"RECOLLECT_HOME={environ['RECOLLECT_HOME']}".encode()
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at and any(_runs_with(mark)):
        time.sleep(0.1)


def _runs_with(mark: bytes) -> Iterator[bool]:
    for place in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            yield mark in place.read_bytes().split(b"\0")


def stress(folder: Path, *, seconds: float, seed: int, cast: Cast, notes: int = NOTES) -> Ledger:
    """Run it in an empty folder and return what happened."""
    with loopback_vendor(folder, answer_seconds=_ANSWER_SECONDS) as environ:
        return Stress(folder, environ=environ, cast=cast, seed=seed).run(
            seconds=seconds, notes=notes
        )


def main() -> int:
    """Run it and print what happened."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="recollect-stress-") as folder:
        ledger = stress(Path(folder), seconds=given.seconds, seed=given.seed, cast=Cast())
    for what, times in sorted(ledger.counts.items()):
        print(f"{times:8} {what}")
    print(f"{ledger.longest_command:8.2f} s the longest search by command, start-up included")
    print(f"{ledger.longest_search:8.2f} s the longest search by façade")
    for failure in ledger.failures:
        print(f"FAILED   {failure}")
    print(f"{given.seconds:.0f} s, seed {given.seed}: {len(ledger.failures)} failures")
    return 1 if ledger.failures else 0


if __name__ == "__main__":
    sys.exit(main())
