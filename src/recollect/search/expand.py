"""Query expansion by a language model: a made-up answer (HyDE), or the question in other words.

HyDE (Gao et al., 2022, arxiv.org/abs/2212.10496): a made-up answer is nearer to true answers than
the question is. It is never shown or stored, and only the vector leg uses it: its words would
mislead the keyword leg. If anything goes wrong, the plain question is searched, with a notice.
"""

from __future__ import annotations

import re
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from recollect.errors import ProviderError, RecollectError
from recollect.providers.deadline import begin
from recollect.providers.registry import prepared_chat
from recollect.search.options import EXPAND, HYDE
from recollect.text.scripts import normalised
from recollect.types import Degradation, Leg

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from recollect.providers.base import Chat
    from recollect.search.options import WordingOptions
    from recollect.types import Query

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
_AROUND = " \t\"'“”„«»`,[]"


class QueryExpander:
    """Adds what a language model makes of a question, if that is turned on."""

    def __init__(self, chat: Chat | None, *, options: WordingOptions) -> None:
        self._chat = chat
        self._options = options

    def expand(self, query: Query) -> tuple[Query, Mapping[str, Degradation]]:
        """Return the query with its expansions, and why any of them is missing; never raises."""
        wanted = self._options.wanted
        if not wanted or Leg.VECTOR not in query.legs:
            return query, {}
        try:
            chat = prepared_chat(self._chat)
        except ProviderError as error:
            return query, dict.fromkeys(wanted, Degradation(error.message, error.action))
        seconds = self._options.seconds
        ends_at = time.monotonic() + seconds
        # All are asked at the same time. The client keeps to the time limit, but looking up a host
        # name does not.
        begun = {
            name: begin(partial(_ask, query.text, chat, task=_TASKS[name], seconds=seconds))
            for name in wanted
        }
        texts: dict[str, tuple[str, ...]] = {}
        degraded: dict[str, Degradation] = {}
        for name, outcome in begun.items():
            try:
                texts[name] = outcome.result(max(ends_at - time.monotonic(), 0.0))
            except TimeoutError:
                degraded[name] = Degradation(
                    f"{chat.name} did not answer in {seconds:.3g} s",
                    "Allow more time (llm.seconds), or choose a faster model.",
                )
            except RecollectError as error:
                degraded[name] = Degradation(error.message, error.action)
            except Exception as error:  # noqa: BLE001 - the search goes on without it
                degraded[name] = Degradation(
                    f"{chat.name} failed ({type(error).__name__})",
                    "Report this as a bug of Recollect.",
                )
        imagined = texts[HYDE][0] if HYDE in texts else None
        return replace(query, imagined=imagined, rewordings=texts.get(EXPAND, ())), degraded


def _ask(question: str, chat: Chat, *, task: _Task, seconds: float) -> tuple[str, ...]:
    """Return the texts that a model writes."""
    answer = chat.complete(
        f"Question: {question[:_QUESTION_CHARS]}",
        system=task.system,
        max_tokens=task.tokens,
        temperature=_TEMPERATURE,
        seconds=seconds,
    )
    read = task.read(answer.text, question)
    if isinstance(read, tuple):
        return read
    if answer.is_cut:
        raise ProviderError(
            f"{chat.model} used up its {task.tokens} tokens without an answer",
            action="Choose a model that does not think before it answers.",
        )
    raise ProviderError(read, action="Nothing is broken; another model may answer better.")


def _statement(answer: str, question: str) -> tuple[str, ...] | str:
    """Return the imagined answer, or why there is none."""
    del question
    text = " ".join(answer.split()).strip(_AROUND)[:_MOST_CHARS]
    if len(text) <= _LEAST_CHARS:
        return "the model's answer was empty or too short"
    if _DECLINES.match(text):
        return "the model declined to make up an answer"
    return (text,)


def _rewordings(answer: str, question: str) -> tuple[str, ...] | str:
    """Return the distinct rewordings in an answer, or why there are none."""
    found: dict[str, str] = {}
    for line in answer.splitlines():
        text = " ".join(_BULLET.sub("", line).split()).strip(_AROUND)
        is_usable = len(text) in _VARIANT_CHARS and not text.endswith(":")
        if is_usable and not _DECLINES.match(text) and normalised(text) != normalised(question):
            found.setdefault(normalised(text), text)
    texts = tuple(found.values())[:_MOST_VARIANTS]
    return texts or "the model's answer contains no rewording"


class _Task(NamedTuple):
    """One thing to ask the model for."""

    system: str
    tokens: int
    read: Callable[[str, str], tuple[str, ...] | str]
    """Returns the texts in an answer to a question, or why there are none."""


_TASKS = {
    HYDE: _Task(_ANSWER_SYSTEM, 150, _statement),
    EXPAND: _Task(_VARIANTS_SYSTEM, 300, _rewordings),
}
