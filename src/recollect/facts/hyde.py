"""Other texts to search with in a question's place: an answer made up by a model, or other words.

HyDE (Gao et al., 2022, arxiv.org/abs/2212.10496): a made-up answer lies nearer to true answers than
the question does, so its vector finds them better. Whether what it says is true does not matter,
and nothing of it is ever shown or stored. For the vector leg only: its words would lead the keyword
leg astray. Whatever goes wrong, the caller gets a reason and searches with the question itself.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.errors import RecollectError
from recollect.facts.extract_json import objects_in
from recollect.facts.identity import normalised
from recollect.types import Degradation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from recollect.facts.hyde_cache import AnswerCache
    from recollect.providers.chat.base import Chat

_ANSWER_TOKENS = 150
_VARIANTS_TOKENS = 300
_TEMPERATURE = 0.3
HYDE = "hyde"
"""Name under which an answer that could not be imagined is reported."""
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
    "You reword search questions. Write up to {most} short rewordings of the question, one a "
    "line, in its own language: other terms for the same things, same meaning, nothing added. No "
    "numbers, no introduction."
)
_DECLINES = re.compile(
    r"\W*(i'?m sorry|i am sorry|sorry,|i (can(no|')?t|do not|don't|am unable)|as an ai\b|"
    r"unfortunately|es tut mir leid|je suis désolé|lo siento)",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^\s*(?:[-*•]|\(?[0-9]{1,2}[.):])\s*")
_AROUND = " \t\"'“”„«»`,"


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A made-up answer, to be embedded in the question's place."""

    text: str
    was_cached: bool


@dataclass(frozen=True, slots=True)
class Variants:
    """The question in other words."""

    texts: tuple[str, ...]
    was_cached: bool


def hypothetical(
    question: str, chat: Chat, *, cache: AnswerCache, seconds: float
) -> Hypothesis | Degradation:
    """Return what a note that answers the question might say, within the time; never raises."""
    read = _asked(
        question,
        chat,
        cache=cache,
        seconds=seconds,
        what=_What("hyde", _ANSWER_SYSTEM, _ANSWER_TOKENS, _statement),
    )
    return read if isinstance(read, Degradation) else Hypothesis(read[0][0], read[1])


def variants(
    question: str, chat: Chat, *, cache: AnswerCache, seconds: float, most: int = _MOST_VARIANTS
) -> Variants | Degradation:
    """Return the question in up to so many other wordings, within the time; never raises."""
    read = _asked(
        question,
        chat,
        cache=cache,
        seconds=seconds,
        what=_What(
            f"variants-{most}",
            _VARIANTS_SYSTEM.format(most=most),
            _VARIANTS_TOKENS,
            lambda answer: _rewordings(answer, question, most=most),
        ),
    )
    return read if isinstance(read, Degradation) else Variants(*read)


@dataclass(frozen=True, slots=True)
class _What:
    """One kind of thing to ask for."""

    name: str
    system: str
    tokens: int
    read: Callable[[str], tuple[str, ...] | str]
    """Returns the texts, or why there are none."""


def _asked(
    question: str, chat: Chat, *, cache: AnswerCache, seconds: float, what: _What
) -> tuple[tuple[str, ...], bool] | Degradation:
    key = (what.name, chat.name, chat.model, question)
    if (kept := cache.get(key)) is not None:
        return kept, True
    outcome: list[tuple[str, ...] | Degradation] = []

    def ask() -> None:
        read = _answer(question, chat, seconds=seconds, what=what)
        if isinstance(read, tuple):
            cache.put(key, read)  # late is not in vain: the question may come again
        outcome.append(read)

    # The sender keeps to the time, but looking up a host's name does not: nobody waits for that.
    thread = threading.Thread(target=ask, name=f"recollect-{what.name}", daemon=True)
    thread.start()
    thread.join(seconds)
    if not outcome:
        return Degradation(
            f"{chat.name} did not answer in {seconds:.3g} s",
            "Allow more time, or choose a faster model.",
        )
    return outcome[0] if isinstance(outcome[0], Degradation) else (outcome[0], False)


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


def _rewordings(answer: str, question: str, *, most: int) -> tuple[str, ...] | str:
    """Return the lines, or the strings of JSON where the answer is written in that."""
    found: dict[str, str] = {}
    for line in _lines(answer):
        text = " ".join(_BULLET.sub("", line).split()).strip(_AROUND)
        is_usable = len(text) in _VARIANT_CHARS and not text.endswith(":")
        if is_usable and not _DECLINES.match(text) and normalised(text) != normalised(question):
            found.setdefault(normalised(text), text)
    texts = tuple(found.values())[:most]
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
