"""The JSON of records."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path

from recollect.facts.record import Fact
from recollect.reports import Failure, Probe, Report
from recollect.shape import as_json, json_of
from recollect.types import Degradation, Hit, Leg, LegTrace, Mode, Results, SourceKind, Trace

HIT = Hit("a.md", 1, 2, 0.123456, None, 0.5, "s", SourceKind.MEMORY, "a.md#L1", ("A",), None)


def test_a_field_is_a_member_in_camel_case_and_what_does_not_apply_is_left_out() -> None:
    assert {
        "path": "a.md",
        "startLine": 1,
        "endLine": 2,
        "score": 0.1235,
        "vectorScore": None,
        "textScore": 0.5,
        "snippet": "s",
        "source": "memory",
        "citation": "a.md#L1",
        "heading": ["A"],
        "date": None,
    } == json_of(HIT)


def test_legs_that_did_not_run_are_named_with_why() -> None:
    why = {"vector": Degradation("Gone.", "Wait.")}
    results = Results((), "q", Mode.KEYWORD, None, None, "rrf", False, 1.26, degraded=why)

    expected = {"legs": {"vector": {"reason": "Gone.", "action": "Wait."}}}
    assert expected == json_of(results)["degraded"]
    assert 1.3 == json_of(results)["tookMs"]
    assert json_of(Report())["degraded"] is None


def test_the_parts_of_a_score_are_not_rounded() -> None:
    trace = Trace({Leg.KEYWORD: LegTrace(1, 0.123456789, 0.5, 0.987654321)}, place=1)

    assert "0.123456789" in json.dumps(json_of(trace))


def test_the_members_of_a_merged_record_stand_in_its_place() -> None:
    broken = Probe(works=False, took_ms=1.0, degradation=Degradation("Gone.", "Wait."))

    assert {"works", "tookMs", "reason", "action"} == json_of(broken).keys()
    assert {"works", "tookMs"} == json_of(Probe(works=True, took_ms=1.0)).keys()


def test_a_fact_has_all_its_fields_and_the_shortest_moments() -> None:
    fact = Fact("f-0000000000000", "It rains.", valid_from=datetime(2026, 2, 1, tzinfo=UTC))

    shown = json_of(fact)
    assert ("2026-02-01", "global", None) == (
        shown["validFrom"],
        shown["scope"],
        shown["supersededBy"],
    )


def test_whatever_is_made_of_records_becomes_json() -> None:
    failed = Failure("a.md", "is broken", "Mend it.", is_entry=True)

    assert {
        "failed": [{"path": "a.md", "reason": "is broken", "action": "Mend it."}],
        "file": "b",
        "days": {"memory": ["2026-02-01"]},
        "names": ["a", "b"],
    } == as_json(
        {
            "failed": (failed,),
            "file": Path("b"),
            "days": {SourceKind.MEMORY: [date(2026, 2, 1)]},
            "names": frozenset("ba"),
        }
    )
