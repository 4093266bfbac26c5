from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from recollect.facts.entry import (
    Entry,
    EntryError,
    format_entry,
    parse_entry,
    rewritten,
)
from recollect.facts.page import BulletIds
from recollect.facts.record import NO_SUCCESSOR, DecayClass, Fact, Provenance, derive_id, mint_id
from recollect.shape import json_of

ID = "f-06e5p3v8m1q0z"
OTHER = "f-06e5p3v8m1q0y"
FACT = Fact(id=ID, text="Ada prefers dark mode", category="preference")
NOW = datetime(2026, 2, 1, 10, tzinfo=UTC)
A, B = mint_id(NOW, random_bits=1), mint_id(NOW, random_bits=2)
ZOE = Fact(
    id=A,
    text="Zoë prefers dark mode",
    category="preference",
    entity="Zoë",
    key="theme",
    value="dark",
    tags=("ui",),
    scope="user:zoe",
    decay=DecayClass.STABLE,
    confidence=0.9,
    valid_from=NOW,
    supersedes=(B,),
    provenance=Provenance.AGENT,
    source="memory/a.md:3",
    created=NOW,
)


def parsed(raw: str) -> Entry:
    return parse_entry(raw, category="preference", derive=BulletIds())


def test_the_text_stands_first_and_only_what_is_not_usual_is_written() -> None:
    fact = replace(FACT, entity="Ada Lovelace", key="theme", value="dark", scope="user:ada")

    assert (
        f"- Ada prefers dark mode <!-- {ID}"
        ' entity="Ada Lovelace" key=theme value=dark scope=user:ada by=owner -->'
    ) == format_entry(fact, category="preference")


def test_a_superseded_fact_is_struck_out() -> None:
    line = f"- ~~Ada prefers dark mode~~ <!-- {ID} superseded-by={OTHER} by=owner -->"

    assert line == format_entry(replace(FACT, superseded_by=OTHER), category="preference")


def test_what_cannot_stand_in_a_line_is_a_reference() -> None:
    line = format_entry(replace(FACT, text="a\nb\u202e<!-- c -->"), category="preference")

    assert f"- a&#10;b&#8238;&#60;!-- c --> <!-- {ID} by=owner -->" == line


def test_a_plain_bullet_is_a_fact_of_the_owner_with_the_id_of_its_words() -> None:
    entry = parsed("* Ada prefers dark mode  ")

    assert replace(FACT, id=derive_id("Ada prefers dark mode")) == entry.fact
    assert not entry.has_record


def test_the_lines_of_a_wrapped_bullet_are_one_text() -> None:
    assert "Ada prefers dark mode" == parsed("- Ada prefers\n  dark mode\n").fact.text
    assert "Ada likes:\n- tea\n- milk" == parsed("- Ada likes:\r\n  - tea\r\n  - milk").fact.text


def test_a_record_may_be_wrapped_or_typed_behind() -> None:
    wrapped = parsed(f'- Ada prefers dark mode <!-- {ID}\n  key="theme"\n  by=owner -->')
    behind = parsed(f"- Ada prefers <!-- {ID} --> dark mode")

    assert replace(FACT, key="theme") == wrapped.fact
    assert FACT == behind.fact


def test_what_a_person_strikes_out_is_withdrawn() -> None:
    assert NO_SUCCESSOR == parsed(f"- ~~Ada prefers dark mode~~ <!-- {ID} -->").fact.superseded_by
    assert NO_SUCCESSOR == parsed("- ~~Ada prefers dark mode~~").fact.superseded_by
    assert "" == parsed("- ~~dark~~ or ~~light~~").fact.superseded_by


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (f"- text <!-- {ID} by=owner", "broken record"),
        (f"- text <!-- {ID} by=owner --", "broken record"),
        (f"- text {ID} by=owner -->", "broken record"),
        (f'- text <!-- {ID} entity="Ada by=owner -->', "broken record, after its beginning$"),
        (f"- text <!-- {ID} by=owner key = x -->", "broken record, after by$"),
        (f"- text <!-- {ID} key=x key=y -->", "twice"),
        ("- text <!-- f-12 -->", "as its id"),
        (f"- text <!-- {ID} confidence=high -->", "high"),
        (f"- text <!-- {ID} confidence=2 -->", "confidence 2"),
        (f"- text <!-- {ID} scope=team:x -->", "not a scope"),
        (f"- text <!-- {ID} decay=slow -->", "slow"),
        (f"- text <!-- {ID} by=nobody -->", "nobody"),
        (f"- text <!-- {ID} created=soon -->", "not a date"),
        (f"- <!-- {ID} by=owner -->", "no text"),
        (f"- one <!-- {ID} --> two <!-- {OTHER} -->", "two records"),
    ],
)
def test_a_broken_record_is_told(raw: str, reason: str) -> None:
    with pytest.raises(EntryError, match=reason):
        parsed(raw)


@pytest.mark.parametrize("text", ["a --> b -->", "see <!-- todo -->", "f-150 is a car", "x <!-- y"])
def test_what_only_looks_a_little_like_a_record_is_text(text: str) -> None:
    assert text == parsed(f"- {text}").fact.text


def test_a_changed_record_leaves_the_text_as_it_was_typed() -> None:
    raw = f"*   Ada prefers\n  dark &#109;ode <!-- {ID} colour=red --> "
    entry = parsed(raw)

    line = rewritten(raw, entry, replace(entry.fact, confidence=0.5), category="preference")

    record = f"<!-- {ID} confidence=0.5 by=owner colour=red -->"
    assert f"*   Ada prefers\n  dark &#109;ode {record} " == line


def test_superseding_strikes_out_the_text_as_it_was_typed_and_back() -> None:
    raw = "- Ada prefers **dark** mode"
    entry = parsed(raw)
    old = replace(entry.fact, superseded_by=OTHER)

    line = rewritten(raw, entry, old, category="preference")
    again = rewritten(line, Entry(old), entry.fact, category="preference")

    record = f"{old.id} superseded-by={OTHER} by=owner"
    assert f"- ~~Ada prefers **dark** mode~~ <!-- {record} -->" == line
    assert f"- Ada prefers **dark** mode <!-- {old.id} by=owner -->" == again


def test_a_changed_text_is_written_anew() -> None:
    raw = f"+ Ada prefers\n  dark mode <!-- {ID} colour=red -->"

    line = rewritten(raw, parsed(raw), replace(FACT, text="Ada\nleft"), category="preference")

    assert f"+ Ada&#10;left <!-- {ID} by=owner colour=red -->" == line


@pytest.mark.parametrize("reference", ["&#55296;", "&#xDFFF;"])
def test_a_reference_to_half_a_character_stays_as_it_is(reference: str) -> None:
    raw = f"- hello {reference} there"

    entry = parse_entry(raw, category="other", derive=lambda _: "f-0000000000001")

    assert f"hello {reference} there" == entry.fact.text


def test_the_json_of_a_fact_names_every_field() -> None:
    assert {
        "id": A,
        "text": "Zoë prefers dark mode",
        "category": "preference",
        "entity": "Zoë",
        "key": "theme",
        "value": "dark",
        "tags": ["ui"],
        "scope": "user:zoe",
        "decayClass": "stable",
        "confidence": 0.9,
        "validFrom": "2026-02-01T10:00:00Z",
        "validUntil": None,
        "expires": None,
        "supersedes": [B],
        "supersededBy": None,
        "provenance": "agent",
        "source": "memory/a.md:3",
        "created": "2026-02-01T10:00:00Z",
    } == json_of(ZOE)
