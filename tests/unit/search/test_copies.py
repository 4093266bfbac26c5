"""Which notes repeat a superseded fact, and which only seem to."""

from __future__ import annotations

import pytest

from recollect.search.copies import mark_copies
from recollect.types import FactMark, Hit, Mode, Results, SourceKind, SupersededFact

OLD, NEW = "The api listens on port 8080", "The api listens on port 9090"


def superseded(
    text: str = OLD, *, instead: str = NEW, about: str = "api port", name: str = "f-1", by: str = ""
) -> SupersededFact:
    return SupersededFact(name, text, about, by or "f-2", instead)


def results_of(*texts: str, fact: FactMark | None = None) -> Results:
    hits = tuple(
        Hit(
            path=f"memory/{number}.md",
            start_line=1,
            end_line=1,
            score=0.5,
            vector_score=None,
            text_score=None,
            snippet=text[:20],
            source=SourceKind.MEMORY,
            citation="",
            heading=(),
            date=None,
            fact=fact,
            text=text,
        )
        for number, text in enumerate(texts)
    )
    return Results(
        hits=hits,
        query="",
        mode=Mode.HYBRID,
        provider=None,
        model=None,
        fusion="calibrated",
        confident=True,
        took_ms=0.0,
    )


def mark(text: str, *facts: SupersededFact) -> str | None:
    [hit] = marked(results_of(text), *facts).hits
    return hit.superseded_by


def marked(results: Results, *facts: SupersededFact, keep: bool = True, most: int = 9) -> Results:
    return mark_copies(results, superseded=facts or [superseded()], keep=keep, most=most)


@pytest.mark.parametrize(
    "note",
    [
        OLD,
        "Note: *the api listens on port 8080*, says Ada.",
        "Port 8080 is where the API is listening.",
        "The API's port is 8080",
        "# Ports\n\nWe met on Monday. Our api listens\non port 8080. Paul calls the bank.\n",
        "- buy milk\n- our API: port 8080\n- call Paul",
        "| service | port |\n| --- | --- |\n| the api listens on 8080, its port | up |",
        "ＡＰＩ： port 8080",
    ],
    ids=["same", "quoted", "order", "fewer", "paragraph", "entry", "cell", "wide"],
)
def test_a_note_that_says_the_claim_in_its_own_words_is_marked(note: str) -> None:
    assert "f-2" == mark(note)


@pytest.mark.parametrize(
    "note",
    [
        NEW,
        "The API's port is 9090",
        "The api moved from port 8080 to 9090.",
        f"{OLD}. Update: it is 9090 since March.",
        "The api does not listen on port 8080.",
        "The api no longer listens on port 8080.",
        "The api listened on port 8080.",
        "Does the api listen on port 8080?",
        "The proxy of the api is on port 8080.",
        "They listen on port 8080.",
        "The proxy listens on port 8080",
        "The api logs every request. Port 8080 is free.",
        "",
    ],
)
def test_what_states_the_new_value_denies_the_old_or_speaks_of_another_is_not(note: str) -> None:
    assert mark(note) is None


def test_without_a_word_on_what_it_is_about_all_of_the_claim_is_wanted() -> None:
    fact = superseded(about="")

    assert "f-2" == mark("On port 8080 the api is listening.", fact)
    assert mark("The api's port is 8080.", fact) is None


def test_what_was_withdrawn_and_replaced_by_nothing_is_marked_too() -> None:
    assert "none" == mark("Our API listens on port 8080", superseded(instead="", by="none"))


def test_of_a_claim_replaced_twice_the_last_one_is_named() -> None:
    first = superseded()
    second = superseded(NEW, name="f-2", by="f-3", instead="The api listens on port 7070")

    assert "f-3" == mark(OLD, first, second)
    assert "f-3" == mark(OLD, second, first)
    assert "f-3" == mark(NEW, first, second)


def test_a_claim_that_holds_again_is_not_marked() -> None:
    first = superseded()
    second = superseded(NEW, name="f-2", by="f-3", instead="The API listens on port 8080.")

    assert mark(OLD, first, second) is None
    assert "f-3" == mark(NEW, first, second)


def test_facts_that_supersede_each_other_in_a_circle_end_somewhere() -> None:
    first, second = superseded(by="f-2"), superseded(NEW, name="f-2", by="f-1", instead=OLD)

    assert mark("Something else", first, second) is None
    assert marked(results_of(OLD), first, second).hits


def test_where_the_new_claim_says_all_of_the_old_one_nothing_is_marked() -> None:
    assert mark(OLD, superseded(instead=f"{OLD} over TLS")) is None


def test_languages_without_spaces_are_compared_whole() -> None:
    fact = superseded("接口的端口是8080", instead="接口的端口是9090", about="")

    assert "f-2" == mark("接口的端口是8080", fact)
    assert mark("接口的端口不是8080", fact) is None


def test_a_fact_is_not_a_copy_of_itself() -> None:
    own = results_of(OLD, fact=FactMark("f-1", superseded_by="f-2"))

    assert own == marked(own, keep=False)


@pytest.mark.parametrize(
    ("note", "is_left_out"),
    [
        (OLD, True),
        (f"# Ports\n\n{OLD}.\n", True),
        (f"- {OLD}\n- The API's port is 8080\n", True),
        (f"{OLD}. Paul calls the bank.", False),
        ("Note: *the api listens on port 8080*, says Ada.", False),
        (f"{NEW}.", False),
    ],
)
def test_a_note_that_says_nothing_but_the_claim_is_left_out(
    note: str, *, is_left_out: bool
) -> None:
    found = marked(results_of(note, "Paul calls the bank."), keep=False)

    assert (1 if is_left_out else 2) == len(found.hits)
    assert is_left_out == bool(found.notices)


def test_without_any_hit_left_no_answer_is_confident() -> None:
    found = marked(results_of(OLD), keep=False)

    assert ((), False) == (found.hits, found.confident)
