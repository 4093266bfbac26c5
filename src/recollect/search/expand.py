"""Query expansion by a language model: a made-up answer (HyDE), or the question in other words.

HyDE (Gao et al., 2022, arxiv.org/abs/2212.10496): a made-up answer is nearer to true answers than
the question is, so its vector finds them better. Whether it is true does not matter; it is never
shown or stored. Only the vector leg uses it: its words would mislead the keyword leg. If anything
goes wrong, the search runs with the plain question and reports why.
"""

from __future__ import annotations

import re
import threading
import time
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.errors import ProviderError, RecollectError
from recollect.providers.registry import prepared_chat
from recollect.records import dataclass
from recollect.search.options import EXPAND, HYDE
from recollect.text.json_objects import objects_in
from recollect.text.scripts import normalised
from recollect.types import Degradation, Leg

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from recollect.providers.base import Chat
    from recollect.search.options import WordingOptions
    from recollect.types import Query

_ANSWER_TOKENS = 150
_VARIANTS_TOKENS = 300
_TEMPERATURE = 0.3
_MOST_VARIANTS = 4
_LEAST_CHARS = 10  # a shorter answer says nothing
_MOST_CHARS = 1000  # the prompt asks for two sentences, and a vector holds no more
_QUESTION_CHARS = 2000
_VARIANT_CHARS = range(3, 301)

_ANSWER_SYSTEM = (
    "You imagine what a note in somebody's memory files might say. State the likely answer to the "
    "question as plain fact, in one or two sentences, in the language of the question. Where you "
    "do not know a name or a number, invent a likely one. No introduction, no doubt, no quotes."
)
_VARIANTS_SYSTEM = (
    f"You reword search questions. Write up to {_MOST_VARIANTS} short rewordings of the question, "
    "one a line, in its own language: other terms for the same things, same meaning, nothing "
    "added. No numbers, no introduction."
)
_DECLINES = re.compile(
    r"\W*(i'?m sorry|i am sorry|sorry,|i (can(no|')?t|do not|don't|am unable)|as an ai\b|"
    r"unfortunately|es tut mir leid|je suis désolé|lo siento)",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^\s*(?:[-*•]|\(?[0-9]{1,2}[.):])\s*")
_AROUND = " \t\"'“”„«»`,"
_CACHED_ANSWERS = 100


class QueryExpander:
    """Adds what a language model makes of a question, if that is turned on."""

    def __init__(self, chat: Chat | None, *, options: WordingOptions, cache: AnswerCache) -> None:
        self._chat = chat
        self._options = options
        self._cache = cache

    def expand(self, query: Query) -> tuple[Query, Mapping[str, Degradation]]:
        """Return the query with its expansions, and why any of them is missing; never raises."""
        wanted = self._options.wanted
        if not wanted or Leg.VECTOR not in query.legs:
            return query, {}
        try:
            chat = prepared_chat(self._chat)
        except ProviderError as error:
            return query, dict.fromkeys(wanted, Degradation(error.message, error.action))
        # All are asked at the same time.
        waits = {
            task.name: self._start(query.text, chat, task=task)
            for task in _tasks(query.text)
            if task.name in wanted
        }
        outcomes = {name: wait() for name, wait in waits.items()}
        texts = {name: read for name, read in outcomes.items() if isinstance(read, tuple)}
        expanded = replace(
            query,
            imagined=texts[HYDE][0] if HYDE in texts else None,
            rewordings=texts.get(EXPAND, ()),
        )
        return expanded, {
            name: why for name, why in outcomes.items() if isinstance(why, Degradation)
        }

    def _start(
        self, question: str, chat: Chat, *, task: _Task
    ) -> Callable[[], tuple[str, ...] | Degradation]:
        """Start asking; return a function that waits for the texts, or for why there are none."""
        seconds = self._options.seconds
        key = (task.name, chat.name, chat.model, question)
        cached = self._cache.get(key)
        if cached is not None:
            return lambda: cached
        outcome: list[tuple[str, ...] | Degradation] = []

        def ask() -> None:
            read = _answer(question, chat, seconds=seconds, task=task)
            if isinstance(read, tuple):
                self._cache.put(key, read)  # a late answer still helps if the question comes again
            outcome.append(read)

        # The client keeps to the time limit, but looking up a host name does not.
        thread = threading.Thread(target=ask, name=f"recollect-{task.name}", daemon=True)
        ends_at = time.monotonic() + seconds
        thread.start()

        def wait() -> tuple[str, ...] | Degradation:
            thread.join(max(ends_at - time.monotonic(), 0.0))
            if outcome:
                return outcome[0]
            return Degradation(
                f"{chat.name} did not answer in {seconds:.3g} s",
                "Allow more time (llm.seconds), or choose a faster model.",
            )

        return wait


class AnswerCache:
    """The most recently used answers. Safe to use from several threads."""

    def __init__(self, size: int = _CACHED_ANSWERS) -> None:
        self._size = size
        self._answers: OrderedDict[tuple[str, ...], tuple[str, ...]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the answer stored under a key."""
        with self._lock:
            if key not in self._answers:
                return None
            self._answers.move_to_end(key)
            return self._answers[key]

    def put(self, key: tuple[str, ...], answer: tuple[str, ...]) -> None:
        """Store an answer; the one unused for longest makes room."""
        with self._lock:
            self._answers[key] = answer
            self._answers.move_to_end(key)
            while len(self._answers) > self._size:
                self._answers.popitem(last=False)


@dataclass(frozen=True, slots=True)
class _Task:
    """One thing to ask the model for."""

    name: str
    system: str
    tokens: int
    read: Callable[[str], tuple[str, ...] | str]
    """Returns the texts, or why there are none."""


def _tasks(question: str) -> tuple[_Task, ...]:
    return (
        _Task(HYDE, _ANSWER_SYSTEM, _ANSWER_TOKENS, _statement),
        _Task(
            EXPAND,
            _VARIANTS_SYSTEM,
            _VARIANTS_TOKENS,
            lambda answer: _rewordings(answer, question),
        ),
    )


def _answer(
    question: str, chat: Chat, *, seconds: float, task: _Task
) -> tuple[str, ...] | Degradation:
    try:
        answer = chat.complete(
            f"Question: {question[:_QUESTION_CHARS]}",
            system=task.system,
            max_tokens=task.tokens,
            temperature=_TEMPERATURE,
            seconds=seconds,
        )
        read = task.read(answer.text)
    except RecollectError as error:
        return Degradation(error.message, error.action)
    except Exception as error:  # noqa: BLE001 - in this thread nobody else would see it
        return Degradation(
            f"{chat.name} failed ({type(error).__name__})", "Report this as a bug of Recollect."
        )
    if isinstance(read, tuple):
        return read
    if answer.is_cut:
        return Degradation(
            f"{chat.model} used up its {task.tokens} tokens without an answer",
            "Choose a model that does not think before it answers.",
        )
    return Degradation(read, "Nothing is broken; another model may answer better.")


def _statement(answer: str) -> tuple[str, ...] | str:
    text = " ".join(answer.split()).strip(_AROUND)[:_MOST_CHARS]
    if len(text) <= _LEAST_CHARS:
        return "the model's answer was empty or too short"
    if _DECLINES.match(text):
        return "the model declined to make up an answer"
    return (text,)


def _rewordings(answer: str, question: str) -> tuple[str, ...] | str:
    """Return the distinct rewordings in an answer, or why there are none."""
    found: dict[str, str] = {}
    for line in _lines(answer):
        text = " ".join(_BULLET.sub("", line).split()).strip(_AROUND)
        is_usable = len(text) in _VARIANT_CHARS and not text.endswith(":")
        if is_usable and not _DECLINES.match(text) and normalised(text) != normalised(question):
            found.setdefault(normalised(text), text)
    texts = tuple(found.values())[:_MOST_VARIANTS]
    return texts or "the model's answer contains no rewording"


def _lines(answer: str) -> Iterable[str]:
    """Return the strings of a JSON answer, or the lines of any other."""
    wrapped = f'{{"": {answer}}}' if answer.lstrip().startswith("[") else answer
    strings = [text for read in objects_in(wrapped) for text in _strings(read)]
    plain = (line for line in answer.splitlines() if not line.lstrip().startswith("```"))
    return strings or plain


def _strings(read: object) -> Iterator[str]:
    """Yield the texts of an object, and of the lists in it."""
    for value in read.values() if isinstance(read, dict) else ():
        parts = value if isinstance(value, list) else [value]
        yield from (part for part in parts if isinstance(part, str))
