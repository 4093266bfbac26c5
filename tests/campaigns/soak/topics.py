"""Facts that many clients change at once, every call of which is recorded.

A topic is an entity. In half of the topics a new value replaces the last one, in the others facts
stand beside each other and are superseded by id. A topic has a fixed set of words, used again and
again: with ever new ones, the caches of a process would fill for days and hide what it leaks.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.campaigns.soak.clients import Commands, Http, LostError, RefusedError
from tests.support.history import LOST, Call, is_behind, now

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from tests.campaigns.soak.clients import Client, Json
    from tests.support.history import Recorder

_MOST = 6  # facts of a topic, about
_WORDS = 60  # of a topic
_CATEGORIES = ("technical", "project")  # two files, so that one change may touch both
_REFUSALS = {"not_found": "missing", "conflict": "refused", "usage": "refused"}


class Topics:
    """The topics of one ledger, and the ids of their facts as far as answers told them."""

    def __init__(self, recorder: Recorder, *, count: int, prefix: str = "zt") -> None:
        self._recorder = recorder
        self._names = [f"{prefix}{number}" for number in range(count)]
        self._ids: dict[str, dict[str, str]] = {name: {} for name in self._names}
        self._unsure: dict[str, set[str]] = {name: set() for name in self._names}
        """Words of facts that may be stored, with an id that no answer told."""
        self._words = {name: itertools.cycle(range(_WORDS)) for name in self._names}
        self._lock = threading.Lock()

    def change(self, client: Client, chance: random.Random) -> str:
        """Make one call about one topic; return its kind."""
        topic = chance.choice(self._names)
        with self._lock:
            known = dict(self._ids[topic])
        kinds = {self._remember: 4, self._read: 3, self._search: 2}
        if known:
            kinds[self._forget] = 2 if len(known) < _MOST else 9
            if topic in self._named and isinstance(client, Commands | Http):
                kinds[self._supersede] = 2
        [kind] = chance.choices(list(kinds), weights=list(kinds.values()))
        return kind(client, topic, known, chance)

    @property
    def _named(self) -> list[str]:
        """Topics whose facts are superseded by id."""
        return self._names[len(self._names) // 2 :]

    def _remember(
        self, client: Client, topic: str, known: dict[str, str], chance: random.Random
    ) -> str:
        word = self._unused(topic)
        fact = {
            "text": f"The sensor {topic} reports {word}",
            "entity": topic,
            "category": chance.choice(_CATEGORIES),
        }
        old = ""
        if topic not in self._named:
            fact |= {"key": "state", "value": word}
        elif known and chance.random() < 1 / 3:
            old = chance.choice(list(known))
            fact["supersedes"] = known[old]
        call = Call(client.name, "add" if topic in self._named else "remember", topic, word, old)

        def ask() -> str:
            answer = client.remember(fact)
            with self._lock:
                self._ids[topic][word] = answer["id"]
                self._unsure[topic].discard(word)
            return str(answer["verdict"])

        self._record(replace(call, confidence=client.confidence), ask)
        return "remember"

    def _unused(self, topic: str) -> str:
        """Return a word that no stored fact can have."""
        with self._lock:
            while True:
                word = f"{topic}x{next(self._words[topic])}w"
                if word not in self._ids[topic] and word not in self._unsure[topic]:
                    self._unsure[topic].add(word)
                    return word

    def _forget(
        self, client: Client, topic: str, known: dict[str, str], chance: random.Random
    ) -> str:
        word = chance.choice(list(known))

        def ask() -> str:
            client.forget(known[word])
            return "done"

        ended = self._record(Call(client.name, "forget", topic, word), ask)
        if ended.outcome in {"done", "missing"}:
            with self._lock:
                self._ids[topic].pop(word, None)
        return "forget"

    def _supersede(
        self, client: Client, topic: str, known: dict[str, str], chance: random.Random
    ) -> str:
        assert isinstance(client, Commands | Http)
        old, new = chance.choice(list(known)), chance.choice(list(known))

        def ask() -> str:
            client.supersede(known[old], known[new])
            return "done"

        self._record(Call(client.name, "supersede", topic, old, new), ask)
        return "supersede"

    def _read(
        self, client: Client, topic: str, known: dict[str, str], chance: random.Random
    ) -> str:
        if not isinstance(client, Commands | Http):
            return self._search(client, topic, known, chance)
        self._show(client.name, topic, lambda: words_of(client.facts(topic)["facts"], topic))
        if self._unsure[topic]:
            self._learn(client, topic)
        return "list"

    def _learn(self, client: Commands | Http, topic: str) -> None:
        """Take in the ids of facts whose answers were lost."""
        with contextlib.suppress(LostError):
            for fact in client.facts(topic, include_superseded=True)["facts"]:
                word = fact["text"].split()[-1]
                with self._lock:
                    if word in self._unsure[topic]:
                        self._unsure[topic].discard(word)
                        self._ids[topic][word] = fact["id"]

    def _search(
        self, client: Client, topic: str, known: dict[str, str], chance: random.Random
    ) -> str:
        del known, chance

        def ask() -> tuple[str, ...]:
            answer = client.search(topic, source="facts")
            if not client.syncs_on_search or says_behind(answer):
                raise LostError(is_over=True)
            return words_of(answer["results"], topic)

        self._show(client.name, topic, ask)
        return "search"

    def _show(self, client: str, topic: str, ask: Callable[[], tuple[str, ...]]) -> None:
        found: tuple[str, ...] = ()

        def look() -> str:
            nonlocal found
            found = ask()
            return "done"

        self._record(Call(client, "read", topic), look, found=lambda: found)

    def _record(
        self,
        call: Call,
        ask: Callable[[], str],
        found: Callable[[], tuple[str, ...]] = lambda: (),
    ) -> Call:
        began, ended = now(), math.inf
        try:
            outcome = ask()
        except LostError as error:
            outcome = LOST
            ended = now() if error.is_over else math.inf
        except RefusedError as error:
            if error.kind not in _REFUSALS:
                raise
            outcome, ended = _REFUSALS[error.kind], now()
        else:
            ended = now()
        done = replace(call, began=began, ended=ended, outcome=outcome, found=found())
        self._recorder.add(done)
        return done


def words_of(shown: list[Json], topic: str) -> tuple[str, ...]:
    """Return the words of the facts of a topic, from a list of facts or hits."""
    texts = [str(each.get("text") or each.get("snippet")) for each in shown]
    return tuple(sorted(text.split()[-1] for text in texts if topic in text.split()))


def says_behind(answer: Json) -> bool:
    """Return whether an answer says that it may lack what was saved before it."""
    notices = [*answer.get("notices", ()), str(answer.get("warning", ""))]
    return bool(answer.get("partial")) or is_behind(notices)
