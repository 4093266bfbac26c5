"""Asking a model for a likely answer or other words, in bounded time and never in vain."""

from __future__ import annotations

import threading
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.clock import Clock
from tests.support.waiting import PATIENCE_SECONDS
from tests.vendors.chat import KEY, KNOWN_CHATS, KnownChat, chat_server
from tests.vendors.server import VendorServer, hang, refuse

from recollect.errors import ProviderBusyError
from recollect.providers.base import Completion
from recollect.search.expand import QueryExpander
from recollect.search.options import EXPAND, HYDE, WordingOptions
from recollect.types import Degradation, Query

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tests.vendors.server import Fault, Request

    from recollect.providers.base import Chat

QUESTION = "When do we cut releases?"
ANSWER = "Releases are cut every Thursday morning."


@dataclass
class Scripted:
    """A model that does what it is told."""

    act: Callable[[], str | Completion]
    name: str = "scripted"
    model: str = "scripted-1"
    told: list[dict[str, Any]] = field(default_factory=list)

    def prepare(self) -> None:
        """Need nothing."""

    def close(self) -> None:
        """Hold nothing."""

    def complete(self, prompt: str, **told: Any) -> Completion:
        self.told.append({"prompt": prompt, **told})
        said = self.act()
        return said if isinstance(said, Completion) else Completion(said, None, None, is_cut=False)


@dataclass
class Wording:
    """What a model added to a question."""

    imagined: str | None = None
    rewordings: tuple[str, ...] = ()
    degraded: Mapping[str, Degradation] = field(default_factory=dict)


def worded(question: str, chat: Chat, *, options: WordingOptions) -> Wording:
    expander = QueryExpander(chat, options=options)
    query, degraded = expander.expand(Query(question, max_results=1))
    return Wording(query.imagined, query.rewordings, degraded)


def imagined(chat: Chat, *, seconds: float = PATIENCE_SECONDS) -> str | Degradation:
    """Return what was imagined, or why nothing was."""
    options = WordingOptions(hyde=True, seconds=seconds)
    wording = worded(QUESTION, chat, options=options)
    assert () == wording.rewordings
    return wording.imagined or wording.degraded[HYDE]


def reworded(chat: Chat) -> tuple[str, ...] | Degradation:
    """Return the rewordings, or why there are none."""
    options = WordingOptions(expand=True, seconds=PATIENCE_SECONDS)
    wording = worded(QUESTION, chat, options=options)
    assert wording.imagined is None
    return wording.rewordings or wording.degraded[EXPAND]


def saying(answer: str | Completion) -> Scripted:
    return Scripted(lambda: answer)


@pytest.fixture(params=KNOWN_CHATS, ids=lambda known: known.name)
def vendor(request: pytest.FixtureRequest) -> KnownChat:
    known: KnownChat = request.param
    return known


@pytest.fixture
def released() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


# A likely answer


def test_an_answer_is_what_the_model_says_without_quotes(vendor: KnownChat) -> None:
    with (
        chat_server(vendor, lambda _: f'  "{ANSWER}"\n') as server,
        closing(vendor.open(server.url)) as chat,
    ):
        assert ANSWER == imagined(chat)


def test_the_model_is_asked_for_little_and_within_the_time() -> None:
    chat = saying(ANSWER)
    imagined(chat, seconds=7.5)
    [told] = chat.told

    assert f"Question: {QUESTION}" == told["prompt"]
    assert (150, 0.3, 7.5) == (told["max_tokens"], told["temperature"], told["seconds"])


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("", "empty or too short"),
        ("ten chars.", "empty or too short"),
        ("I'm sorry, but I don't have access to your files.", "declined"),
        ("As an AI, I cannot know that about you.", "declined"),
        (Completion("", 10, 150, is_cut=True), "used up its 150 tokens"),
    ],
    ids=["empty", "ten", "sorry", "ai", "cut"],
)
def test_an_answer_that_is_none_leaves_the_plain_question(
    answer: str | Completion, words: str
) -> None:
    chat = saying(answer)
    outcome = imagined(chat)

    assert isinstance(outcome, Degradation)
    assert words in outcome.reason
    assert outcome.action


def test_an_answer_that_was_cut_is_still_one() -> None:
    chat = saying(Completion("Releases are cut every Thurs", 10, 150, is_cut=True))

    assert "Releases are cut every Thurs" == imagined(chat)


def test_a_very_long_answer_is_shortened() -> None:
    outcome = imagined(saying("word " * 9000))

    assert isinstance(outcome, str)
    assert 1000 == len(outcome)


def test_a_server_that_refuses_is_a_reason_and_no_error(vendor: KnownChat) -> None:
    with (
        chat_server(vendor, lambda _: ANSWER, always=refuse(401, "who are you?")) as server,
        closing(vendor.open(server.url)) as chat,
    ):
        outcome = imagined(chat)

    assert isinstance(outcome, Degradation)
    assert "401 (who are you?)" in outcome.reason
    assert f"Check the key in {vendor.variable}." == outcome.action


def test_without_a_key_there_is_a_reason_and_no_error(vendor: KnownChat) -> None:
    with closing(vendor.open("http://127.0.0.1:1", key=None)) as chat:
        outcome = imagined(chat)

    assert isinstance(outcome, Degradation)
    assert vendor.variable in outcome.reason


def test_a_server_that_says_nothing_is_not_waited_for(
    vendor: KnownChat, released: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    hanging = hang(released, stalled=lambda: clock.forward(PATIENCE_SECONDS))
    with (
        chat_server(vendor, lambda _: ANSWER, always=hanging) as server,
        closing(vendor.open(server.url)) as chat,
    ):
        outcome = imagined(chat)
        released.set()

    assert isinstance(outcome, Degradation)
    assert "did not answer in" in outcome.reason


def test_a_model_that_does_not_keep_to_the_time_is_left_behind(released: threading.Event) -> None:
    def act() -> str:
        released.wait(PATIENCE_SECONDS)
        return ANSWER

    chat = Scripted(act)
    late = imagined(chat, seconds=0.05)
    [thread] = [thread for thread in threading.enumerate() if thread.name == "recollect-model"]
    released.set()
    thread.join(PATIENCE_SECONDS)

    assert isinstance(late, Degradation)
    assert thread.daemon


@pytest.mark.parametrize(
    "error", [ValueError("sk-secret"), ProviderBusyError("busy", action="Wait.")]
)
def test_whatever_is_raised_is_a_reason(error: Exception) -> None:
    def act() -> str:
        raise error

    outcome = imagined(Scripted(act))

    assert isinstance(outcome, Degradation)
    assert "sk-secret" not in outcome.reason


# Other words

REWORDINGS = ("release schedule", "day of the release", "when is a version published")
FORMS = {
    "lines": "\n".join(REWORDINGS),
    "bullets": "\n".join(f"- {text}" for text in REWORDINGS),
    "numbers": "\n".join(f"{number}. {text}" for number, text in enumerate(REWORDINGS, 1)),
    "quotes": "\n".join(f'"{text}",' for text in REWORDINGS),
    "list in lines": "[\n" + ",\n".join(f'  "{text}"' for text in REWORDINGS) + "\n]",
    "fence": "```\n" + "\n".join(REWORDINGS) + "\n```",
    "talk": "Here are some rewordings:\n\n" + "\n".join(REWORDINGS),
    "repeats": "\n".join((QUESTION, *REWORDINGS, REWORDINGS[0].upper(), QUESTION.lower())),
}


@pytest.mark.parametrize("answer", FORMS.values(), ids=FORMS.keys())
def test_rewordings_are_read_in_whatever_form_they_come(answer: str) -> None:
    assert REWORDINGS == reworded(saying(answer))


def test_at_most_four_rewordings_are_taken() -> None:
    answer = "\n".join(f"wording number {number}" for number in range(40))
    outcome = reworded(saying(answer))

    assert isinstance(outcome, tuple)
    assert 4 == len(outcome)


@pytest.mark.parametrize("answer", ["", QUESTION, "I'm sorry, I can't.", "{}", "x" * 5000])
def test_no_rewording_is_a_reason(answer: str) -> None:
    outcome = reworded(saying(answer))

    assert isinstance(outcome, Degradation)
    assert "no rewording" in outcome.reason


@given(st.text())
def test_no_answer_makes_reading_fail(answer: str) -> None:
    for ask in (imagined, reworded):
        outcome: object = ask(saying(answer))

        assert isinstance(outcome, (str, tuple, Degradation))


# Both at once


def test_an_answer_and_rewordings_are_asked_for_at_the_same_time() -> None:
    both = threading.Barrier(2)

    def act() -> str:
        both.wait(PATIENCE_SECONDS)  # only two that are under way at once get past
        return ANSWER

    chat = Scripted(act)
    options = WordingOptions(hyde=True, expand=True, seconds=PATIENCE_SECONDS)

    assert Wording(ANSWER, (ANSWER,)) == worded(QUESTION, chat, options=options)
    assert 2 == len(chat.told)


def test_what_one_fails_at_the_other_still_brings(vendor: KnownChat) -> None:
    def script(number: int, request: Request) -> Fault | None:
        del number
        is_answer = "imagine" in (wire.system(request) or "")
        return refuse(400, "not that") if is_answer else None

    wire = vendor.format(lambda _: "\n".join(REWORDINGS))
    options = WordingOptions(hyde=True, expand=True, seconds=PATIENCE_SECONDS)
    with (
        VendorServer(wire, key=KEY, script=script) as server,
        closing(vendor.open(server.url)) as chat,
    ):
        wording = worded(QUESTION, chat, options=options)

    assert (None, REWORDINGS) == (wording.imagined, wording.rewordings)
    assert [HYDE] == list(wording.degraded)


def test_where_nothing_is_wanted_nothing_is_asked() -> None:
    chat = saying(ANSWER)

    assert Wording() == worded(QUESTION, chat, options=WordingOptions())
    assert [] == chat.told
