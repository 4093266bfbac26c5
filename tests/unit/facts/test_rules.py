from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from recollect.errors import NotFoundError, UsageError
from recollect.facts.draft import Draft, restore, supersede_all
from recollect.facts.record import (
    NO_SUCCESSOR,
    DecayClass,
    Fact,
    Provenance,
    mint_id,
    normalised_digest,
)
from recollect.facts.rules import Verdict, contradicting, decide
from recollect.facts.state import LedgerState, Place, active, chain, lineage

NOW = datetime(2026, 2, 1, 10, tzinfo=UTC)
DAY = timedelta(days=1)
A, B, C, D = (mint_id(NOW, random_bits=chance) for chance in range(4))
OLD = Fact(
    id=A, text="Ada's theme is light", entity="Ada", key="theme", value="light", created=NOW - DAY
)
NEW = Fact(id=B, text="Ada's theme is dark", entity="ada", key="Theme", value="dark", created=NOW)


def by_id(*facts: Fact) -> dict[str, Fact]:
    return {fact.id: fact for fact in facts}


def draft_of(facts: dict[str, Fact]) -> Draft:
    places = {each: Place("other.md", 1, 1, is_plain=False) for each in facts}
    return Draft(LedgerState(facts, places, (), frozenset(), {}, {}, {}))


def superseded(facts: dict[str, Fact], old_ids: tuple[str, ...], by: Fact) -> dict[str, Fact]:
    """Return all facts once one supersedes others."""
    draft = draft_of(facts)
    supersede_all(draft, old_ids, by=by)
    return dict(draft.facts)


def restored(facts: dict[str, Fact], fact_id: str) -> dict[str, Fact]:
    """Return all facts once a superseded one is valid again."""
    draft = draft_of(facts)
    restore(draft, fact_id)
    return dict(draft.facts)


def withdrawn(fact: Fact) -> Fact:
    return replace(fact, superseded_by=NO_SUCCESSOR, valid_until=NOW)


def verdict(fact: Fact, *facts: Fact) -> Verdict:
    return decide(fact, by_id(*facts), now=NOW).verdict


def test_the_same_words_in_the_same_scope_are_known() -> None:
    again = replace(OLD, id=B, text="ADA'S  theme is light.")

    assert Verdict.EXISTING == verdict(again, OLD)
    assert Verdict.ADD == verdict(replace(again, scope="user:bob"), OLD)


def test_what_was_superseded_may_be_said_again() -> None:
    again = replace(OLD, id=C, created=NOW + DAY)
    facts = superseded(by_id(OLD), (A,), NEW)

    decision = decide(again, facts, now=NOW)

    assert Verdict.SUPERSEDE == decision.verdict
    assert [B] == [other.id for other in decision.others]


def test_a_newer_value_supersedes() -> None:
    decision = decide(NEW, by_id(OLD), now=NOW)

    assert Verdict.SUPERSEDE == decision.verdict
    assert (OLD,) == decision.others


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ({}, {}, "supersede"),
        ({"value": "Light."}, {}, "add"),
        ({"entity": ""}, {}, "add"),
        ({"value": ""}, {}, "add"),
        ({"scope": "agent:x"}, {}, "add"),
        ({"created": NOW - 2 * DAY}, {}, "contradicts"),
        ({"valid_from": NOW - 2 * DAY}, {}, "contradicts"),
        ({}, {"created": None}, "supersede"),
        ({"confidence": 0.9}, {}, "contradicts"),
        ({"provenance": Provenance.AGENT}, {}, "supersede"),
        ({"provenance": Provenance.AGENT, "confidence": 0.9}, {}, "contradicts"),
        ({"provenance": Provenance.INGEST}, {}, "contradicts"),
        ({"provenance": Provenance.INGEST}, {"confidence": 0.1}, "contradicts"),
        ({"provenance": Provenance.INGEST}, {"provenance": Provenance.AGENT}, "contradicts"),
        ({"provenance": Provenance.INGEST, "supersedes": (A,)}, {}, "contradicts"),
        ({"provenance": Provenance.AGENT, "supersedes": (A,), "confidence": 0.1}, {}, "supersede"),
        (
            {"provenance": Provenance.INGEST, "source": "TOOLS.md:9"},
            {"provenance": Provenance.INGEST, "source": "TOOLS.md:3-4"},
            "supersede",
        ),
        (
            {"provenance": Provenance.INGEST, "source": "a.md:9"},
            {"provenance": Provenance.INGEST, "source": "b.md:9"},
            "contradicts",
        ),
    ],
)
def test_who_may_supersede_by_itself(
    new: dict[str, object], old: dict[str, object], expected: str
) -> None:
    fact = replace(NEW, **new)  # type: ignore[arg-type]  # named by the table
    stored = replace(OLD, **old)  # type: ignore[arg-type]  # named by the table

    assert expected == verdict(fact, stored)


def test_all_that_a_new_value_contradicts_is_superseded() -> None:
    second = replace(OLD, id=C, text="Ada's theme is blue", value="blue")

    assert (OLD, second) == decide(NEW, by_id(OLD, second), now=NOW).others


def test_what_a_model_words_differently_is_known_but_what_is_said_is_kept() -> None:
    other = replace(OLD, id=B, text="Light is the theme of Ada")

    assert Verdict.EXISTING == verdict(replace(other, provenance=Provenance.INGEST), OLD)
    assert Verdict.ADD == verdict(other, OLD)


def test_the_same_words_are_known() -> None:
    stored = Fact(id=A, text="The deploys run on Friday")
    fact = Fact(id=B, text="Our deploy runs on Friday.")

    assert Verdict.EXISTING == verdict(fact, stored)


def test_other_words_are_stored_and_the_known_fact_is_named() -> None:
    stored = Fact(id=A, text="Deploys run on Friday")
    other = Fact(id=B, text="On Friday we run the deploys")

    decision = decide(other, by_id(stored), now=NOW)

    assert Verdict.ADD == decision.verdict
    assert [stored] == [each.fact for each in decision.duplicates]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The port is 8080", "The port is 8081"),
        ("Use v1.2 of it", "Use v1.3 of it"),
        ("Deploy on Friday", "Do not deploy on Friday"),
        ("She can't swim", "She can swim"),
    ],
)
def test_another_number_or_a_negation_is_never_a_duplicate(one: str, other: str) -> None:
    stored = Fact(id=A, text=one)

    decision = decide(Fact(id=B, text=other), by_id(stored), now=NOW)

    assert (Verdict.ADD, ()) == (decision.verdict, decision.duplicates)


def test_a_near_fact_of_another_scope_or_that_holds_no_more_counts_for_nothing() -> None:
    stored = Fact(id=A, text="Deploys run on Friday")
    fact = Fact(id=B, text="Our deploys run on Friday")
    elsewhere = replace(stored, scope="user:bob")

    assert Verdict.ADD == verdict(fact, elsewhere)
    assert Verdict.ADD == verdict(fact, withdrawn(stored))


def test_what_was_forgotten_stays_so_for_models_only() -> None:
    forgotten = frozenset({normalised_digest(NEW.text)})
    extracted = replace(NEW, provenance=Provenance.INGEST)

    assert Verdict.FORGOTTEN == decide(extracted, {}, now=NOW, forgotten=forgotten).verdict
    assert Verdict.ADD == decide(NEW, {}, now=NOW, forgotten=forgotten).verdict


def test_contradictions_are_found_until_they_are_decided() -> None:
    facts = by_id(OLD, NEW, replace(OLD, id=C, key="editor"))

    assert {A: (NEW,), B: (OLD,)} == contradicting(facts, now=NOW)
    assert {} == contradicting({**facts, **superseded(facts, (A,), NEW)}, now=NOW)


def test_each_fact_knows_which_others_say_otherwise() -> None:
    agreeing = replace(NEW, id=C, text="Dark is Ada's theme", value="Dark.")
    facts = by_id(OLD, NEW, agreeing, replace(OLD, id=D, key="editor"))

    assert {A: (NEW, agreeing), B: (OLD,), C: (OLD,)} == contradicting(facts, now=NOW)


def test_what_was_superseded_holds_again_when_that_is_taken_back() -> None:
    facts = by_id(OLD)
    after = {**facts, **superseded(facts, (A,), NEW)}

    assert by_id(OLD, NEW) == {**after, **restored(after, A)}


@pytest.mark.parametrize(
    "facts",
    [
        by_id(OLD, replace(NEW, supersedes=(A,))),
        by_id(replace(OLD, superseded_by=B), NEW),
        by_id(replace(OLD, superseded_by=D), NEW),
        by_id(replace(OLD, superseded_by=NO_SUCCESSOR), NEW),
        by_id(withdrawn(OLD), NEW),
        by_id(replace(OLD, superseded_by=B), replace(NEW, superseded_by=A)),
    ],
)
def test_a_link_of_any_kind_is_taken_back(facts: dict[str, Fact]) -> None:
    assert OLD in active({**facts, **restored(facts, A)}, now=NOW)


def test_an_end_of_its_own_outlives_its_successor() -> None:
    ended = replace(OLD, valid_from=NOW - 2 * DAY, valid_until=NOW - DAY)
    facts = {**by_id(ended), **superseded(by_id(ended), (A,), NEW)}

    assert ended == restored(facts, A)[A]


def test_only_the_link_that_is_meant_is_taken_back() -> None:
    facts = by_id(OLD)
    facts |= superseded(facts, (A,), NEW)
    facts |= superseded(facts, (B,), replace(NEW, id=C, value="blue", created=NOW + DAY))

    facts |= restored(facts, A)

    assert [A, C] == [fact.id for fact in active(facts, now=NOW + DAY)]
    assert [B, C] == [fact.id for fact in lineage(facts, B)]


def test_what_is_not_superseded_cannot_be_taken_back() -> None:
    with pytest.raises(UsageError, match="is not superseded"):
        restored(by_id(OLD), A)
    with pytest.raises(NotFoundError):
        restored(by_id(OLD), D)


def test_a_chain_is_followed_to_its_head() -> None:
    facts = by_id(OLD)
    facts |= superseded(facts, (A,), NEW)
    third = replace(NEW, id=C, created=NOW + DAY)
    facts |= superseded(facts, (A,), third)

    assert [A, B, C] == [fact.id for fact in chain(facts, A)]
    assert C == facts[B].superseded_by
    assert B == facts[A].superseded_by
    assert (B,) == facts[C].supersedes


@pytest.mark.parametrize(("old", "by"), [(A, A), (B, A), (C, A), (B, B)])
def test_no_fact_supersedes_itself_in_the_end(old: str, by: str) -> None:
    facts = by_id(OLD)
    facts |= superseded(facts, (A,), NEW)
    facts |= superseded(facts, (B,), replace(NEW, id=C, created=NOW + DAY))

    with pytest.raises(UsageError, match="cannot supersede"):
        superseded(facts, (old,), facts[by])


@pytest.mark.parametrize(("old", "by"), [(A, B), (A, C), (B, C)])
def test_superseding_again_changes_nothing(old: str, by: str) -> None:
    facts = by_id(OLD)
    facts |= superseded(facts, (A,), NEW)
    facts |= superseded(facts, (B,), replace(NEW, id=C, created=NOW + DAY))

    assert facts == superseded(facts, (old,), facts[by])


def test_a_cycle_of_facts_made_by_hand_is_reported_and_none_is_valid() -> None:
    facts = by_id(replace(OLD, superseded_by=B), replace(NEW, superseded_by=A))

    with pytest.raises(UsageError, match="supersede each other"):
        chain(facts, A)
    with pytest.raises(NotFoundError):
        chain(facts, D)


def test_only_what_has_the_same_scope_is_superseded() -> None:
    confined = replace(NEW, scope="agent:x", supersedes=(A,))

    with pytest.raises(UsageError, match="cannot supersede"):
        superseded(by_id(OLD), (A,), confined)
    assert (OLD, confined) == active(by_id(OLD, confined), now=NOW)


def test_what_was_superseded_held_until_its_successor_began() -> None:
    facts = superseded(by_id(OLD), (A,), NEW)
    old, new = facts[A], facts[B]

    assert (new,) == active(facts, now=NOW)
    assert (old,) == active(facts, now=NOW + DAY, as_of=NOW - DAY / 2)
    assert () == active(facts, now=NOW, as_of=NOW - 2 * DAY)
    assert {A, B} == {fact.id for fact in active(facts, now=NOW, include_superseded=True)}


def test_a_successor_that_begins_later_leaves_the_old_fact_until_then() -> None:
    facts = superseded(by_id(OLD), (A,), replace(NEW, valid_from=NOW + DAY))

    assert [A] == [fact.id for fact in active(facts, now=NOW)]
    assert [B] == [fact.id for fact in active(facts, now=NOW + DAY)]


def test_a_link_that_was_written_half_counts() -> None:
    assert [B] == [f.id for f in active(by_id(OLD, replace(NEW, supersedes=(A,))), now=NOW)]
    assert [B] == [f.id for f in active(by_id(replace(OLD, superseded_by=B), NEW), now=NOW)]
    assert () == active(by_id(replace(OLD, superseded_by=D)), now=NOW)


def test_validity_includes_its_beginning_and_not_its_end() -> None:
    fact = replace(OLD, valid_from=NOW, valid_until=NOW + DAY)
    moments = [NOW - timedelta.resolution, NOW, NOW + DAY - timedelta.resolution, NOW + DAY]

    held = [bool(active(by_id(fact), now=NOW, as_of=moment)) for moment in moments]

    assert [False, True, True, False] == held
    assert () == active(by_id(fact), now=NOW + DAY, include_superseded=True)


def test_what_expired_holds_no_more() -> None:
    fact = replace(OLD, decay=DecayClass.SESSION, expires=NOW)

    assert () == active(by_id(fact), now=NOW)
    assert (fact,) == active(by_id(fact), now=NOW, as_of=NOW - DAY / 2)


def test_what_is_withdrawn_held_until_then() -> None:
    fact = withdrawn(OLD)

    assert () == active(by_id(fact), now=NOW)
    assert (fact,) == active(by_id(fact), now=NOW, as_of=NOW - DAY / 2)
    assert (fact,) == active(by_id(fact), now=NOW, include_superseded=True)
    assert () == active(by_id(replace(OLD, superseded_by=NO_SUCCESSOR)), now=NOW)


def test_a_successor_may_go_back_further_than_what_it_corrects() -> None:
    old = replace(OLD, valid_from=NOW)

    facts = superseded(by_id(old), (A,), replace(NEW, valid_from=NOW - DAY))

    assert NOW == facts[A].valid_until
    assert [B] == [fact.id for fact in active(facts, now=NOW)]
