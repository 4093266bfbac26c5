"""Records what clients asked and were told, and checks it against a sequential model of the facts.

A history is right if every call can be given one moment between its start and its end at which it
happened at once, so that all answers are those of the calls in that order (linearizability, Herlihy
and Wing 1990). A call without an answer, because its process was killed, may have happened or not.

Facts of different topics do not affect each other, so each topic is checked alone. The check sweeps
over the starts and ends of calls and keeps every state that is still possible (as in Lowe, Testing
for linearizability, 2017): when an answer arrives, its call must have happened.
"""

from __future__ import annotations

import json
import math
import threading
import time
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from recollect.facts.files import FolderFiles
from recollect.facts.ledger import Ledger
from recollect.facts.state import active

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

READS = frozenset({"read", "all"})
LOST = "lost"
"""Outcome of a call whose answer never came."""
OWNER, AGENT = 1.0, 0.9
"""Confidence of facts by the command line or HTTP, and of facts by MCP."""
_SHOWN = 12
_BEHIND = ("is not up to date", "is not indexed", "are not read yet")


@dataclass(frozen=True, slots=True)
class Call:
    """One call of one client."""

    client: str
    kind: str
    """Of facts: add; remember, whose value replaces the last one; supersede, restore, forget. Of a
    note with one word: write, delete. Of both: read what is valid, or all that is stored."""
    topic: str
    fact: str = ""
    """The fact's own word, which no other fact has."""
    other: str = ""
    """The fact that supersedes it, or that it is asked to supersede."""
    confidence: float = OWNER
    began: float = 0.0
    ended: float = math.inf
    """Of a lost call: when nothing was left that could still do it."""
    outcome: str = ""
    """add, supersede, contradicts, done, missing, refused, or lost."""
    found: tuple[str, ...] = ()
    """The words of the valid facts that a read showed."""

    @property
    def is_lost(self) -> bool:
        """Whether its answer never came."""
        return self.outcome == LOST


def now() -> float:
    """Return the clock that calls are recorded with, the same in all processes."""
    return time.monotonic()


def is_behind(notices: Iterable[str]) -> bool:
    """Return whether an answer says that it may lack what was saved before it."""
    return any(words in notice for notice in notices for words in _BEHIND)


class Recorder:
    """Collects the calls of many threads, in memory and as JSON lines."""

    def __init__(self, file: Path) -> None:
        self._stream = file.open("a", encoding="utf-8")
        self._lock = threading.Lock()
        self.calls: list[Call] = []

    def add(self, call: Call) -> None:
        """Take in a call that has ended."""
        with self._lock:
            self.calls.append(call)
            self._stream.write(json.dumps(asdict(call)) + "\n")
            self._stream.flush()

    def close(self) -> None:
        """Close the file."""
        self._stream.close()


def load(file: Path) -> list[Call]:
    """Return the calls of a recorded history."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return [call_of(json.loads(line)) for line in lines]


def call_of(row: dict[str, Any]) -> Call:
    """Return a call from its JSON."""
    return Call(**{**row, "found": tuple(row["found"])})


def look_up(folder: Path, calls: Iterable[Call]) -> Iterator[Call]:
    """Return what a ledger stores now about the topics of these calls, as further calls."""
    state, began = Ledger(FolderFiles(folder)).read(), now()
    valid = {fact.id for fact in active(state.facts, now=datetime.now(tz=UTC))}
    for topic in {call.topic for call in calls if call.kind in {"add", "remember"}}:
        own = [fact for fact in state.facts.values() if fact.entity == topic]
        for kind, facts in (("read", [each for each in own if each.id in valid]), ("all", own)):
            words = tuple(fact.text.split()[-1] for fact in facts)
            yield Call("the end", kind, topic, "", "", OWNER, began, now(), "done", words)


@dataclass(frozen=True, slots=True)
class Stored:
    """One fact in the model."""

    word: str
    confidence: float
    successor: str = ""


Facts = frozenset[Stored]
"""The state of a topic."""


def step(facts: Facts, call: Call) -> tuple[Facts, str, frozenset[str]]:
    """Return the state after a call, its outcome, and what it shows."""
    if call.kind in READS:
        is_all = call.kind == "all"
        shown = (each.word for each in facts if is_all or not each.successor)
        return facts, "done", frozenset(shown)
    by_word = {each.word: each for each in facts}
    after, outcome = _CHANGES[call.kind](by_word, call)
    return after, outcome, frozenset()


def _remembered(facts: dict[str, Stored], call: Call) -> tuple[Facts, str]:
    before = frozenset(facts.values())
    fact = Stored(call.fact, call.confidence)
    if call.other:
        if call.other not in facts:
            return before, "missing"
        ended = {_chain(facts, call.other)[-1]}
    else:
        is_replacing = call.kind == "remember"
        ended = {each.word for each in before if is_replacing and not each.successor}
    if not ended:
        return before | {fact}, "add"
    if not call.other and any(facts[word].confidence > call.confidence for word in ended):
        return before | {fact}, "contradicts"
    changed = {word: replace(facts[word], successor=call.fact) for word in ended}
    return frozenset({**facts, **changed, call.fact: fact}.values()), "supersede"


def _superseded(facts: dict[str, Stored], call: Call) -> tuple[Facts, str]:
    old, by = call.fact, call.other
    before = frozenset(facts.values())
    if old not in facts or by not in facts:
        return before, "missing"
    _, *successors = chain = _chain(facts, old)
    if by in successors:  # it is superseded by it already
        return before, "done"
    head = chain[-1]
    if head in _chain(facts, by):
        return before, "refused"
    return frozenset({**facts, head: replace(facts[head], successor=by)}.values()), "done"


def _restored(facts: dict[str, Stored], call: Call) -> tuple[Facts, str]:
    word = call.fact
    before = frozenset(facts.values())
    if word not in facts:
        return before, "missing"
    if not facts[word].successor:
        return before, "refused"
    return frozenset({**facts, word: replace(facts[word], successor="")}.values()), "done"


def _forgotten(facts: dict[str, Stored], call: Call) -> tuple[Facts, str]:
    word = call.fact
    if word not in facts:
        return frozenset(facts.values()), "missing"
    heir = facts[word].successor
    left = (each for each in facts.values() if each.word != word)
    return frozenset(
        replace(each, successor=heir) if each.successor == word else each for each in left
    ), "done"


def _written(_facts: dict[str, Stored], call: Call) -> tuple[Facts, str]:
    return frozenset({Stored(call.fact, OWNER)}), "done"


def _deleted(facts: dict[str, Stored], _call: Call) -> tuple[Facts, str]:
    return frozenset(), "done" if facts else "missing"


_CHANGES = {
    "add": _remembered,
    "remember": _remembered,
    "supersede": _superseded,
    "restore": _restored,
    "forget": _forgotten,
    "write": _written,
    "delete": _deleted,
}


def _chain(facts: dict[str, Stored], word: str) -> list[str]:
    """Return a fact and its successors."""
    found = [word]
    while successor := facts[found[-1]].successor:
        found.append(successor)
    return found


@dataclass(frozen=True, slots=True)
class Violation:
    """A call whose answer no order of the calls explains."""

    topic: str
    call: Call
    possible: tuple[str, ...]
    """The states that were possible before it."""
    around: tuple[Call, ...]
    """The calls that were open with it."""

    def __str__(self) -> str:
        lines = [f"topic {self.topic}: no order explains {self.call}", "possible states before:"]
        lines += [f"  {state}" for state in self.possible]
        lines += ["calls at the same time:", *(f"  {call}" for call in self.around)]
        return "\n".join(lines)


def check(calls: Iterable[Call]) -> list[Violation]:
    """Return the first violation of each topic."""
    topics: dict[str, list[Call]] = {}
    for call in calls:
        topics.setdefault(call.topic, []).append(call)
    found = (_check_topic(topic, own) for topic, own in sorted(topics.items()))
    return [violation for violation in found if violation is not None]


@dataclass(frozen=True, slots=True)
class _Possible:
    """A state, and which of the open calls have happened in it."""

    facts: Facts = frozenset()
    happened: frozenset[int] = frozenset()


@dataclass(slots=True)
class _Sweep:
    calls: list[Call]
    opened: set[int] = field(default_factory=set)
    possible: set[_Possible] = field(default_factory=lambda: {_Possible()})

    def end(self, number: int) -> bool:
        """Let a call end; return whether a state is left."""
        is_lost = self.calls[number].is_lost
        reached = self._reach(None if is_lost else number)
        self.opened.discard(number)
        self.possible = {
            _Possible(each.facts, each.happened - {number})
            for each in reached
            if is_lost or number in each.happened
        }
        return bool(self.possible)

    def _reach(self, until: int | None) -> set[_Possible]:
        """Return all states that open calls can lead to; a path ends where `until` happened."""
        reached, waiting = set(self.possible), list(self.possible)
        while waiting:
            at = waiting.pop()
            if until in at.happened:
                continue
            for after in self._next(at):
                if after not in reached:
                    reached.add(after)
                    waiting.append(after)
        return reached

    def _next(self, at: _Possible) -> Iterator[_Possible]:
        for number in self.opened - at.happened:
            call = self.calls[number]
            facts, outcome, shown = step(at.facts, call)
            is_told = outcome == call.outcome and (
                call.kind not in READS or sorted(shown) == sorted(call.found)
            )
            if call.is_lost or is_told:
                yield _Possible(facts, at.happened | {number})


def _check_topic(topic: str, calls: list[Call]) -> Violation | None:
    # A read without an answer tells nothing.
    calls = [call for call in calls if call.kind not in READS or not call.is_lost]
    moments = [(call.began, 0, number) for number, call in enumerate(calls)]
    moments += [(call.ended, 1, number) for number, call in enumerate(calls)]
    sweep = _Sweep(calls)
    for moment, is_end, number in sorted(moments):
        if not is_end:
            sweep.opened.add(number)
        elif moment < math.inf:
            opened, before = sorted(sweep.opened), sweep.possible
            if not sweep.end(number):
                return Violation(
                    topic,
                    calls[number],
                    tuple(sorted(map(_shown, before))[:_SHOWN]),
                    tuple(calls[each] for each in opened if each != number),
                )
    return None


def _shown(state: _Possible) -> str:
    facts = sorted(state.facts, key=lambda each: each.word)
    return ", ".join(
        f"{each.word} → {each.successor}" if each.successor else each.word for each in facts
    )
