"""Changes facts and notes and looks at them, in several threads, and tells about every call.

usage: python -m tests.support.acting WORKSPACE NAME THREADS     runs until standard input is closed

All processes change the same topics, through the façade; the threads of one share a Memory. Prints
a JSON line before each call and one after it, so that of a killed process it is known what it was
about to do. See history.py.
"""

from __future__ import annotations

import itertools
import json
import random
import sys
import threading
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.edits import closing_of
from tests.support.history import AGENT, LOST, OWNER, Call, is_behind, now

from recollect import Memory
from recollect.errors import NotFoundError, UsageError
from recollect.facts.book import FactFilter
from recollect.facts.record import Provenance

if TYPE_CHECKING:
    from collections.abc import Callable

_REPLACED = ("ztred", "ztgreen")
"""Topics in which a new value replaces the last one."""
_LISTED = ("ztblue", "ztwhite")
"""Topics whose facts stand beside each other until one is superseded by id."""
_NOTES = ("znoak", "znelm")
"""Topics that are one note each, with one word."""
_CATEGORIES = ("technical", "project", "person")  # three files: a change may touch all of them
_MOST = 5  # facts of a topic, about
_MANY = 50


class Actor:
    """One thread."""

    def __init__(self, memory: Memory, workspace: Path, name: str) -> None:
        self._memory = memory
        self._workspace = workspace
        self._name = name
        self._chance = random.Random(name)
        self._numbers = itertools.count()
        self._ids: dict[str, str] = {}

    def act(self) -> None:
        """Make one call, or sync."""
        kinds: dict[Callable[[], None], int] = {self._fact: 12, self._note: 7, self._sync: 1}
        [kind] = self._chance.choices(list(kinds), weights=list(kinds.values()))
        kind()

    def _fact(self) -> None:
        topic = self._chance.choice(_REPLACED + _LISTED)
        known = [*self._list(topic)]
        kinds = {"remember": 1 if len(known) >= _MOST else 4, "search": 3}
        if known:
            kinds |= {"forget": 3, "supersede": 2, "restore": 1}
        [kind] = self._chance.choices(list(kinds), weights=list(kinds.values()))
        if kind == "remember":
            self._remember(topic, known)
        elif kind == "search":
            self._search(topic, source="facts")
        else:
            self._change(kind, topic, self._chance.choice(known), self._chance.choice(known))

    def _list(self, topic: str) -> tuple[str, ...]:
        """Look at the valid facts; return also those that were superseded."""
        every: tuple[str, ...] = ()

        def look() -> tuple[str, ...]:
            nonlocal every
            listing = self._memory.facts.listed(FactFilter(entity=topic))
            past = self._memory.facts.listed(FactFilter(entity=topic), include_superseded=True)
            self._ids |= {fact.text.split()[-1]: fact.id for fact in past.facts}
            every = tuple(fact.text.split()[-1] for fact in past.facts)
            return tuple(fact.text.split()[-1] for fact in listing.facts)

        self._show(topic, look)
        return every

    def _remember(self, topic: str, known: list[str]) -> None:
        word = self._word()
        is_replacing = topic in _REPLACED
        old = self._chance.choice(known) if known and self._chance.random() < 1 / 3 else ""
        provenance = self._chance.choice((Provenance.OWNER, Provenance.OWNER, Provenance.AGENT))
        call = Call(
            self._name,
            "remember" if is_replacing else "add",
            topic,
            word,
            old,
            confidence=OWNER if provenance is Provenance.OWNER else AGENT,
        )

        def ask() -> str:
            done = self._memory.facts.remember(
                f"The sensor {topic} reports {word}",
                category=self._chance.choice(_CATEGORIES),
                entity=topic,
                key="state" if is_replacing else "",
                value=word if is_replacing else "",
                supersedes=[self._ids[old]] if old else [],
                provenance=provenance,
            )
            return str(done.decision.verdict)

        self._record(call, ask)

    def _change(self, kind: str, topic: str, word: str, other: str) -> None:
        facts = self._memory.facts

        def ask() -> str:
            if kind == "forget":
                facts.forget(self._ids[word])
            elif kind == "supersede":
                facts.supersede(self._ids[word], by=self._ids[other])
            else:
                facts.restore(self._ids[word])
            return "done"

        named = other if kind == "supersede" else ""
        self._record(Call(self._name, kind, topic, word, named), ask)

    def _note(self) -> None:
        topic = self._chance.choice(_NOTES)
        file = self._workspace / "memory" / "own" / f"{topic}.md"
        kind = self._chance.choices(("write", "delete", "search"), weights=(3, 1, 4))[0]
        if kind == "search":
            self._search(topic, source="memory")
            return
        word = self._word() if kind == "write" else ""

        def ask() -> str:
            if kind == "delete":
                try:
                    file.unlink()
                except FileNotFoundError:
                    return "missing"
                return "done"
            beside = file.with_name(f".{file.name}.{self._name}.tmp")
            beside.parent.mkdir(parents=True, exist_ok=True)
            beside.write_text(f"The buoy {topic} shows {word}\n", encoding="utf-8")
            beside.replace(file)
            return "done"

        self._record(Call(self._name, kind, topic, word), ask)

    def _search(self, topic: str, *, source: str) -> None:
        def look() -> tuple[str, ...] | None:
            results = self._memory.search(topic, source=source, max_results=_MANY)
            if is_behind(results.notices):
                return None
            texts = (hit.snippet.split() for hit in results.hits)
            return tuple(words[-1] for words in texts if topic in words)

        self._show(topic, look)

    def _sync(self) -> None:
        self._memory.sync()

    def _show(self, topic: str, look: Callable[[], tuple[str, ...] | None]) -> None:
        shown: tuple[str, ...] | None = None

        def ask() -> str:
            nonlocal shown
            shown = look()
            return LOST if shown is None else "done"

        self._record(Call(self._name, "read", topic), ask, found=lambda: shown or ())

    def _record(
        self,
        call: Call,
        ask: Callable[[], str],
        found: Callable[[], tuple[str, ...]] = tuple,
    ) -> None:
        begun = replace(call, began=now(), outcome=LOST)
        tell(begun)
        try:
            outcome = ask()
        except NotFoundError:
            outcome = "missing"
        except UsageError:
            outcome = "refused"
        tell(replace(begun, ended=now(), outcome=outcome, found=tuple(sorted(found()))))

    def _word(self) -> str:
        return f"zw{self._name}n{next(self._numbers)}w"


def tell(call: Call) -> None:
    """Print a call; one line at a time, whatever the other threads print."""
    sys.stdout.write(json.dumps(asdict(call)) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Act until standard input is closed."""
    workspace, name, threads = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    stopped = closing_of(sys.stdin)

    def run(actor: Actor) -> None:
        while not stopped.is_set():
            actor.act()

    with Memory.open(workspace) as memory:
        actors = [Actor(memory, workspace, f"{name}t{number}") for number in range(threads)]
        running = [threading.Thread(target=run, args=(actor,)) for actor in actors]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()


if __name__ == "__main__":
    main()
