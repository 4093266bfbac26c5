"""Other texts to search with in a question's place: an answer made up by a model, or other words.

HyDE (Gao et al., 2022, arxiv.org/abs/2212.10496): a made-up answer lies nearer to true answers than
the question does, so its vector finds them better. Whether what it says is true does not matter,
and nothing of it is ever shown or stored. For the vector leg only: its words would lead the keyword
leg astray. Whatever goes wrong, the caller gets a reason and searches with the question itself.
"""

from __future__ import annotations

import re
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from recollect.errors import RecollectError
from recollect.text.json_objects import objects_in
from recollect.text.scripts import normalised
from recollect.text.setting import number, switch, user_setting
from recollect.types import Degradation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from recollect.providers.chat.base import Chat
    from recollect.search.answer_cache import AnswerCache

_ANSWER_TOKENS = 150
_VARIANTS_TOKENS = 300
_TEMPERATURE = 0.3
HYDE = "hyde"
"""Name under which an answer that could not be imagined is reported."""
EXPAND = "expand"
"""Name under which it is reported that a question could not be reworded."""
_MOST_VARIANTS = 4
_LEAST_CHARS = 10  # an answer has to be longer
_MOST_CHARS = 1000  # two sentences were asked for, and a vector holds no more
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


@dataclass(frozen=True, slots=True)
class WordingOptions:
    """What a model is asked for before a search."""

    hyde: bool = user_setting(
        "hyde.enabled", False, switch, "let the language model imagine an answer for the vector leg"
    )
    expand: bool = user_setting(
        "expand.enabled",
        False,
        switch,
        "let the language model reword the question for the vector leg",
    )
    seconds: float = user_setting(
        "llm.seconds", 4.0, number(0.1, 60), "search without hyde and expand if they take longer"
    )

    @property
    def wanted(self) -> tuple[str, ...]:
        """Names of what is asked for."""
        return tuple(name for name, on in ((HYDE, self.hyde), (EXPAND, self.expand)) if on)


@dataclass(frozen=True, slots=True)
class Wording:
    """What the vector leg searches with besides the question or in its place."""

    imagined: str | None = None
    rewordings: tuple[str, ...] = ()
    degraded: Mapping[str, Degradation] = field(default_factory=dict)
    """What was wanted and could not be had, by name."""


def worded(question: str, chat: Chat, *, options: WordingOptions, cache: AnswerCache) -> Wording:
    """Ask for all that is wanted at the same time, within the time; never raises."""
    begun = {
        what.name: _begun(question, chat, cache=cache, seconds=options.seconds, what=what)
        for what in _whats(question)
        if what.name in options.wanted
    }
    outcomes = {name: outcome() for name, outcome in begun.items()}
    texts = {name: read for name, read in outcomes.items() if isinstance(read, tuple)}
    return Wording(
        imagined=texts[HYDE][0] if HYDE in texts else None,
        rewordings=texts.get(EXPAND, ()),
        degraded={name: why for name, why in outcomes.items() if isinstance(why, Degradation)},
    )


@dataclass(frozen=True, slots=True)
class _What:
    """One kind of thing to ask for."""

    name: str
    system: str
    tokens: int
    read: Callable[[str], tuple[str, ...] | str]
    """Returns the texts, or why there are none."""


def _whats(question: str) -> tuple[_What, ...]:
    return (
        _What(HYDE, _ANSWER_SYSTEM, _ANSWER_TOKENS, _statement),
        _What(
            EXPAND,
            _VARIANTS_SYSTEM,
            _VARIANTS_TOKENS,
            lambda answer: _rewordings(answer, question),
        ),
    )


def _begun(
    question: str, chat: Chat, *, cache: AnswerCache, seconds: float, what: _What
) -> Callable[[], tuple[str, ...] | Degradation]:
    """Begin to ask, and return what waits for the texts, or for why there are none."""
    key = (what.name, chat.name, chat.model, question)
    kept = cache.get(key)
    if kept is not None:
        return lambda: kept
    outcome: list[tuple[str, ...] | Degradation] = []

    def ask() -> None:
        read = _answer(question, chat, seconds=seconds, what=what)
        if isinstance(read, tuple):
            cache.put(key, read)  # late is not in vain: the question may come again
        outcome.append(read)

    # The sender keeps to the time, but looking up a host's name does not: nobody waits for that.
    thread = threading.Thread(target=ask, name=f"recollect-{what.name}", daemon=True)
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


def _answer(
    question: str, chat: Chat, *, seconds: float, what: _What
) -> tuple[str, ...] | Degradation:
    try:
        answer = chat.complete(
            f"Question: {question[:_QUESTION_CHARS]}",
            system=what.system,
            max_tokens=what.tokens,
            temperature=_TEMPERATURE,
            seconds=seconds,
        )
        read = what.read(answer.text)
    except RecollectError as error:
        return Degradation(error.message, error.action)
    except Exception as error:  # noqa: BLE001 - in a thread of its own nobody else would see it
        return Degradation(
            f"{chat.name} failed ({type(error).__name__})", "Report this as a bug of Recollect."
        )
    if isinstance(read, tuple):
        return read
    if answer.is_cut:
        return Degradation(
            f"{chat.model} used up its {what.tokens} tokens without an answer",
            "Choose a model that does not think before it answers.",
        )
    return Degradation(read, "Nothing has to be done; another model may answer better.")


def _statement(answer: str) -> tuple[str, ...] | str:
    text = " ".join(answer.split()).strip(_AROUND)[:_MOST_CHARS]
    if len(text) <= _LEAST_CHARS:
        return "the model's answer was empty or too short"
    if _DECLINES.match(text):
        return "the model declined to make up an answer"
    return (text,)


def _rewordings(answer: str, question: str) -> tuple[str, ...] | str:
    """Return the lines, or the strings of JSON where the answer is written in that."""
    found: dict[str, str] = {}
    for line in _lines(answer):
        text = " ".join(_BULLET.sub("", line).split()).strip(_AROUND)
        is_usable = len(text) in _VARIANT_CHARS and not text.endswith(":")
        if is_usable and not _DECLINES.match(text) and normalised(text) != normalised(question):
            found.setdefault(normalised(text), text)
    texts = tuple(found.values())[:_MOST_VARIANTS]
    return texts or "the model's answer held no rewording"


def _lines(answer: str) -> Iterable[str]:
    """Return the strings of JSON where the answer is written in it, else its lines."""
    wrapped = f'{{"": {answer}}}' if answer.lstrip().startswith("[") else answer
    strings = [text for read in objects_in(wrapped) for text in _strings(read)]
    plain = (line for line in answer.splitlines() if not line.lstrip().startswith("```"))
    return strings or plain


def _strings(read: object) -> Iterator[str]:
    """Return the texts of an object, and of the lists in it."""
    for value in read.values() if isinstance(read, dict) else ():
        yield from (part for part in _listed(value) if isinstance(part, str))


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]
