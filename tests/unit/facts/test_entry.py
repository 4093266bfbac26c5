from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from recollect.errors import UsageError
from recollect.facts.book import ImportReport, import_report
from recollect.facts.entry import (
    Entry,
    EntryError,
    exported,
    format_entry,
    imported,
    parse_entry,
    rewritten,
)
from recollect.facts.page import BulletIds
from recollect.facts.record import NO_SUCCESSOR, DecayClass, Fact, Provenance, derive_id, mint_id

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


# As a line of JSON


def test_a_line_names_every_field() -> None:
    (line,) = exported([ZOE])

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
    } == json.loads(line)
    assert "Zoë" in line
    assert (ZOE,) == imported([line, "\n"])


def test_what_a_line_leaves_out_is_as_usual() -> None:
    assert (Fact(id=A, text="x"),) == imported([json.dumps({"id": A, "text": "x"})])


def test_a_line_without_an_id_gets_the_same_one_each_time() -> None:
    lines = [json.dumps({"text": text}) for text in ("The lamp is warm", "The lamp is cold")]

    first, again = imported(lines), imported(lines)

    assert ["The lamp is warm", "The lamp is cold"] == [fact.text for fact in first]
    assert first == again


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "Line 2 is not a fact: it is not JSON"),
        ("[]", "Line 2 is not a fact: it is not a JSON object"),
        ("[" * 100_000, "Line 2 is not a fact: it is nested too deeply"),
        ('{"id": "f-1", "text": "x"}', "Line 2 is not a fact: The fact has the id 'f-1'"),
        (f'{{"id": "{A}"}}', "Line 2 is not a fact: 'text' is missing"),
        (f'{{"id": "{A}", "text": 7}}', "Line 2 is not a fact: 'text' is not text"),
        (
            f'{{"id": "{A}", "text": "x", "decay_class": "stable"}}',
            "'decay_class' is unknown",
        ),
        (f'{{"id": "{A}", "text": "x", "confidence": "1"}}', "not a number"),
        (f'{{"id": "{A}", "text": "x", "confidence": true}}', "not a number"),
        (f'{{"id": "{A}", "text": "x", "confidence": {"9" * 400}}}', "not a number"),
        (f'{{"id": "{A}", "text": "x", "confidence": NaN}}', "not a number"),
        (f'{{"id": "{A}", "text": "x", "tags": "ui"}}', "not a list"),
        (f'{{"id": "{A}", "text": "x", "tags": [1]}}', "not a list"),
        (f'{{"id": "{A}", "text": "x", "scope": "team"}}', "not a scope"),
        (f'{{"id": "{A}", "text": "x", "created": "soon"}}', "not a date"),
        (f'{{"id": "{A}", "text": "x", "provenance": "me"}}', "me"),
        (f'{{"id": "{B}", "text": "x"}}', f"{B} occurs twice"),
    ],
)
def test_a_wrong_line_is_named_and_nothing_is_imported(line: str, reason: str) -> None:
    good = json.dumps({"id": B, "text": "y"})

    with pytest.raises(UsageError) as refused:
        imported([good, line])

    assert reason in refused.value.message


def test_what_is_known_is_not_imported_twice() -> None:
    same_text = replace(ZOE, id=B, text="zoë prefers  dark mode", supersedes=())
    other_scope = replace(same_text, scope="global")
    differing = replace(ZOE, confidence=0.1)
    history = replace(same_text, superseded_by=A)
    stored = {A: ZOE}

    def plan(fact: Fact) -> ImportReport:
        return import_report([fact], stored, now=NOW)

    assert ImportReport((), (ZOE,), ()) == plan(ZOE)
    assert ImportReport((), (same_text,), ()) == plan(same_text)
    assert ImportReport((other_scope,), (), ()) == plan(other_scope)
    assert ImportReport((), (), (differing,)) == plan(differing)
    assert ImportReport((history,), (), ()) == plan(history)
