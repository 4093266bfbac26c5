from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from recollect.errors import UsageError
from recollect.facts.book import ImportPlan, import_plan
from recollect.facts.entry import exported, imported
from recollect.facts.record import DecayClass, Fact, Provenance, mint_id
from recollect.facts.scope import FactScope

NOW = datetime(2026, 2, 1, 10, tzinfo=UTC)
A, B = mint_id(NOW, random_bits=1), mint_id(NOW, random_bits=2)
FACT = Fact(
    id=A,
    text="Zoë prefers dark mode",
    category="preference",
    entity="Zoë",
    key="theme",
    value="dark",
    tags=("ui",),
    scope=FactScope.parse("user:zoe"),
    decay=DecayClass.STABLE,
    confidence=0.9,
    valid_from=NOW,
    supersedes=(B,),
    provenance=Provenance.AGENT,
    source="memory/a.md:3",
    created=NOW,
)


def test_a_line_names_every_field() -> None:
    (line,) = exported([FACT])

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
    assert (FACT,) == imported([line, "\n"])


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
        ("{", "line 2: not JSON"),
        ("[]", "line 2: not a JSON object"),
        ("[" * 100_000, "line 2: nested too deeply"),
        ('{"id": "f-1", "text": "x"}', "line 2: The fact has the id 'f-1'"),
        (f'{{"id": "{A}"}}', "line 2: 'text' is missing"),
        (f'{{"id": "{A}", "text": 7}}', "line 2: 'text' is not text"),
        (f'{{"id": "{A}", "text": "x", "decay_class": "stable"}}', "did you mean 'decayClass'"),
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


def test_many_wrong_lines_are_counted() -> None:
    with pytest.raises(UsageError, match=r"line 10: not JSON .*; and 3 more"):
        imported(["{"] * 13)


def test_what_is_known_is_not_imported_twice() -> None:
    same_text = replace(FACT, id=B, text="zoë prefers  dark mode", supersedes=())
    other_scope = replace(same_text, scope=FactScope())
    differing = replace(FACT, confidence=0.1)
    history = replace(same_text, superseded_by=A)
    stored = {A: FACT}

    def plan(fact: Fact) -> ImportPlan:
        return import_plan([fact], stored, now=NOW)

    assert ImportPlan((), (FACT,), ()) == plan(FACT)
    assert ImportPlan((), (same_text,), ()) == plan(same_text)
    assert ImportPlan((other_scope,), (), ()) == plan(other_scope)
    assert ImportPlan((), (), (differing,)) == plan(differing)
    assert ImportPlan((history,), (), ()) == plan(history)
