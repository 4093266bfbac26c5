"""Runs index, search, watch and edits on one workspace at once, and kills some of them.

usage: python -m tests.support.stress [--count 300] [--seed 1]

Nine processes share the workspace: two run `recollect index` again and again, two
`recollect index --watch`, two save a note and find it with `recollect search`, two change facts and
notes through the façade, three threads each (acting.py), and one edits, deletes and renames notes
and folders. Index, watch and the users of the façade are killed at random and started again. All of
it goes on until every kind of work has happened `--count` times, however long that takes.

Nothing but the kills may go wrong: every exit code and all of standard error is checked, every note
must be found right after it was saved, the calls of the façade must be explained by a sequential
model (history.py), and in the end the index must equal one built from nothing. Exits 1 otherwise,
and keeps the history.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.contents import contents, differences, index_file
from tests.support.edits import Editor, save
from tests.support.history import Call, Recorder, call_of, check, is_behind, look_up, now
from tests.support.loopback import loopback_vendor
from tests.support.waiting import PATIENCE_SECONDS, wait_for_descendants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parent.parent.parent
NOTES = 300
_CALLS = 10
_LINES_OF_A_LIFE = 200  # that a user of the façade says at least before it is killed
_THREADS = 3  # of each process that uses the façade
_ANSWER_SECONDS = 0.02  # of the embedding server, so that a run can be killed while it waits
_KILL_PAUSE_SECONDS = (0.1, 1.5)
_FORCED_SHARE = 0.2  # index runs that look at every file again
_LOOK_AGAIN_SECONDS = 0.05
HISTORY = "history.jsonl"
_WRONG = ("Traceback", "locked", "Error")


@dataclass(frozen=True, slots=True)
class Cast:
    """How many processes do what."""

    indexing: int = 2
    watching: int = 2
    searching: int = 2
    acting: int = 2
    editing: int = 1

    def wanted(self, count: int) -> dict[str, int]:
        """Return how often each kind of work must happen; calls are quick, so more of them."""
        kinds = {
            "edits": self.editing,
            "searches by command": self.searching,
            "calls of the façade": _CALLS * self.acting,
        }
        return {"kills": count, **{kind: count * times for kind, times in kinds.items() if times}}


@dataclass(slots=True)
class Tally:
    """What happened, and what went wrong."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    longest_seconds: dict[str, float] = field(default_factory=dict)
    """The longest search of each kind. A command's includes the start of its interpreter."""


class Stress:
    """One run over one folder."""

    def __init__(self, folder: Path, *, environ: dict[str, str], cast: Cast, seed: int) -> None:
        self._folder = folder
        self._workspace = folder / "workspace"
        self._environ = environ
        self._cast = cast
        self._seed = seed
        self._chance = random.Random(seed)
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._mortal: list[subprocess.Popen[bytes]] = []
        self._killed: set[int] = set()
        self._recorder = Recorder(folder / HISTORY)
        self.tally = Tally()

    def run(self, *, count: int, notes: int) -> Tally:
        """Let everyone work until each kind of work has happened `count` times, then check."""
        self._workspace.mkdir(parents=True)
        Editor(self._workspace, seed=self._seed).populate(notes)
        threads = [threading.Thread(target=role) for role in self._roles()]
        for thread in threads:
            thread.start()
        self._wait_until_each_happened(count)
        self._stopped.set()
        for thread in threads:
            thread.join()
        wait_for_descendants(self._environ)
        self._conclude()
        return self.tally

    def _wait_until_each_happened(self, count: int) -> None:
        """Return when the counts are reached, at the first failure, or when nothing happens."""
        with self._changed:
            wanted = self._cast.wanted(count)
            while not self.tally.failures:
                if all(self.tally.counts[what] >= times for what, times in wanted.items()):
                    return
                if not self._changed.wait(PATIENCE_SECONDS):
                    self.tally.failures.append(f"nothing happens any more: {self.tally.counts}")

    def _roles(self) -> Iterator[Callable[[], None]]:
        for number in range(self._cast.indexing):
            yield lambda number=number: self._index(number)  # type: ignore[misc]  # bound now
        for _ in range(self._cast.watching):
            yield self._watch
        for number in range(self._cast.searching):
            yield lambda number=number: self._search(f"command{number}")  # type: ignore[misc]
        for number in range(self._cast.acting):
            yield lambda number=number: self._act(f"s{self._seed}p{number}")  # type: ignore[misc]
        for number in range(self._cast.editing):
            yield lambda number=number: self._edit(self._seed + 1 + number)  # type: ignore[misc]
        yield self._kill

    def _index(self, number: int) -> None:
        chance = random.Random(self._seed * 100 + number)
        while not self._stopped.is_set():
            forced = ("--force",) if chance.random() < _FORCED_SHARE else ()
            self._command("index", *forced)
            self._count("index runs")

    def _watch(self) -> None:
        while not self._stopped.is_set():
            syncs = self._command("index", "--watch", "--json", until_stopped=True).count("\n")
            self._count("watch starts")
            self._count("syncs of watch", syncs)

    def _search(self, name: str) -> None:
        turn = 0
        while not self._stopped.is_set():
            path, word = save(self._workspace, name=name, turn=turn)
            turn += 1
            began = time.monotonic()
            answer = self._command("search", word, "--json", is_mortal=False)
            self._count("searches by command", seconds=time.monotonic() - began)
            told = json.loads(answer or "{}")
            if is_behind(told.get("notices", ())):
                self._count("searches that said what they lack")
                continue
            hits = told.get("results", [])
            if not any(hit["path"] == path and word in hit["snippet"] for hit in hits):
                self._fail(f"{word} in {path} was not found by the command: {answer}")

    def _act(self, name: str) -> None:
        """Use the façade in one process after the other, each until it is killed."""
        life = 0
        while not self._stopped.is_set():
            life += 1
            opened: dict[str, Call] = {}

            def hear(line: str, opened: dict[str, Call] = opened) -> None:
                call = call_of(json.loads(line))
                if call.ended < math.inf:
                    del opened[call.client]
                    self._recorder.add(call)
                    self._count("calls of the façade")
                else:
                    opened[call.client] = call

            own = (str(self._workspace), f"{name}l{life}", str(_THREADS))
            self._script("acting", *own, hear=hear, mortal_after=_LINES_OF_A_LIFE)
            for call in opened.values():  # its process is gone: it happened until now, or never
                self._recorder.add(replace(call, ended=now()))
                self._count("calls that were killed")

    def _edit(self, seed: int) -> None:
        def hear(_line: str) -> None:
            self._count("edits")

        self._script("edits", str(self._workspace), str(seed), hear=hear)

    def _kill(self) -> None:
        while not self._stopped.wait(self._chance.uniform(*_KILL_PAUSE_SECONDS)):
            with self._lock:
                alive = [child for child in self._mortal if child.poll() is None]
                if alive:
                    victim = self._chance.choice(alive)
                    self._killed.add(victim.pid)
                    victim.send_signal(signal.SIGKILL)

    def _command(self, *arguments: str, is_mortal: bool = True, until_stopped: bool = False) -> str:
        """Run a command to its end, check how it ended, and return what it printed."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as said:
            child = subprocess.Popen(
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
                is_wrong = False  # it was stopped before it started to watch
            if was_killed:
                self._count("kills")
            elif is_wrong:
                self._fail(f"{' '.join(arguments)} ended with {child.returncode}: {complaint}")
            return out.read().decode()

    def _wait(self, child: subprocess.Popen[bytes], *, until_stopped: bool) -> None:
        while (
            until_stopped and child.poll() is None and not self._stopped.wait(_LOOK_AGAIN_SECONDS)
        ):
            pass
        if until_stopped:
            child.terminate()
        try:
            child.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._fail(f"{child.args!r} did not end within {PATIENCE_SECONDS:.0f} s")
            child.kill()
            child.wait()

    def _script(
        self, name: str, *arguments: str, hear: Callable[[str], None], mortal_after: int = 0
    ) -> None:
        """Run a script of this folder until all is stopped, and hear what it says.

        With `mortal_after` it may be killed once it has said that many lines.
        """
        child = subprocess.Popen(
            [sys.executable, "-m", f"tests.support.{name}", *arguments],
            cwd=ROOT,
            env=self._environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        stdin, ended = child.stdin, threading.Event()

        def stop_with_the_others() -> None:
            while not (self._stopped.wait(_LOOK_AGAIN_SECONDS) or ended.is_set()):
                pass
            stdin.close()

        threading.Thread(target=stop_with_the_others).start()
        for number, line in enumerate(child.stdout, 1):
            if line.endswith(b"\n"):  # else it was killed in the middle of it
                hear(line.decode())
            if number == mortal_after:
                with self._lock:
                    self._mortal.append(child)
        complaint = child.stderr.read().decode()
        child.stdout.close()
        child.stderr.close()
        code = child.wait()
        ended.set()
        with self._lock:
            if child in self._mortal:
                self._mortal.remove(child)
            was_killed = child.pid in self._killed and code == -signal.SIGKILL
            self._killed.discard(child.pid)
        if was_killed:
            self._count("kills")
        elif code != 0 or complaint:
            self._fail(f"{name} ended with {code}: {complaint}")

    def _conclude(self) -> None:
        """Check the history, and compare the index with one built from nothing."""
        self._recorder.close()
        calls = self._recorder.calls
        calls += look_up(self._workspace / "memory" / "facts", calls)
        self._count("calls explained by the model", len(calls))
        for violation in check(calls):
            self._fail(str(violation))
        scratch = {**self._environ, "RECOLLECT_HOME": str(self._folder / "scratch")}
        for arguments, environ in (
            (("index", "--json"), self._environ),
            (("doctor", "--verify"), self._environ),
            (("index", "--json"), scratch),
        ):
            done = subprocess.run(
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
        if not self.tally.counts["vectors at the end"]:
            self._fail("the index has no vectors")
        for difference in differences(expected, actual):
            self._fail(f"the index differs from one built from nothing: {difference}")
        damaged = list(index_file(self._folder / "home").parent.glob("*.damaged-*"))
        if damaged:
            self._fail(f"an index was set aside as damaged: {damaged}")

    def _count(self, what: str, times: int = 1, *, seconds: float = 0.0) -> None:
        with self._changed:
            self.tally.counts[what] += times
            if seconds:
                longest = self.tally.longest_seconds
                longest[what] = max(longest.get(what, 0.0), seconds)
            self._changed.notify_all()

    def _fail(self, failure: str) -> None:
        with self._changed:
            self.tally.failures.append(failure)
            self._changed.notify_all()


def stress(folder: Path, *, count: int, seed: int, cast: Cast, notes: int = NOTES) -> Tally:
    """Run it in an empty folder and return what happened."""
    with loopback_vendor(folder, answer_seconds=_ANSWER_SECONDS) as environ:
        return Stress(folder, environ=environ, cast=cast, seed=seed).run(count=count, notes=notes)


def main() -> int:
    """Run it and print the counts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="recollect-stress-") as folder:
        tally = stress(Path(folder), count=given.count, seed=given.seed, cast=Cast())
        if tally.failures:
            kept = Path(tempfile.mkdtemp(prefix="recollect-history-"))
            shutil.copy(Path(folder) / HISTORY, kept)
            print(f"the history is kept in {kept / HISTORY}")
    lines = [f"{times:8} {what}" for what, times in sorted(tally.counts.items())]
    lines += [
        f"{seconds:8.2f} s the longest of the {what}"
        for what, seconds in sorted(tally.longest_seconds.items())
    ]
    lines += [f"FAILED   {failure}" for failure in tally.failures]
    took = time.monotonic() - began
    lines.append(f"{took:.0f} s, seed {given.seed}: {len(tally.failures)} failures")
    print("\n".join(lines))
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
