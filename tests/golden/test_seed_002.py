"""The rules of the proposal on facts (RRF merge, dedupe, superseded, scope) as exact cases.

Where ours differ on purpose, the case says so: supersession goes by id, not by text, and nothing is
filtered after the limit was counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from recollect import Memory
from recollect.search.fuse import fuse
from recollect.search.options import FusionOptions
from recollect.search.scores import LegScores
from recollect.types import Leg

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


ENTITY, KEY = "gateway", "port"


@pytest.fixture
def memory(workspace: Path, environ: dict[str, str]) -> Iterator[Memory]:
    with Memory.open(workspace, environ=environ, settings={"provider": "none"}) as opened:
        yield opened


def leg(*raw: float) -> LegScores:
    values = np.array(raw)
    return LegScores(raw=values, present=values > 0)


def test_a_fact_in_both_lists_gets_the_sum_of_one_over_sixty_plus_its_ranks() -> None:
    # Keyword order: a, b, c. Vector order: b, d, a.
    fused = fuse(
        {Leg.KEYWORD: leg(8.5, 4.2, 1.1, 0.0), Leg.VECTOR: leg(0.61, 0.82, 0.0, 0.70)},
        options=FusionOptions(fusion="rrf", vector_weight=0.5, text_weight=0.5),
    )
    a, b, c, d = 1 / 61 + 1 / 63, 1 / 62 + 1 / 61, 1 / 63, 1 / 62

    ratios = fused.scores / fused.scores[1]

    assert [a / b, 1.0, c / b, d / b] == pytest.approx(ratios.tolist())
    assert [1, 0, 3, 2] == np.argsort(-fused.scores).tolist()


def test_the_same_id_and_the_same_text_in_any_case_are_one_fact(memory: Memory) -> None:
    first = memory.facts.remember("The kettle is blue")
    again = memory.facts.remember("THE KETTLE IS BLUE")

    assert first.fact.id == again.fact.id
    assert 1 == len(memory.search("kettle").hits)


def test_a_superseded_fact_is_in_no_result_and_takes_no_place(memory: Memory) -> None:
    for number in range(1, 9):
        memory.facts.remember(
            f"The build number is {number}00", entity="build", key="number", value=f"{number}00"
        )

    hits = memory.search("build number 100 200 300", max_results=3).hits

    assert ["The build number is 800"] == [hit.snippet for hit in hits]


def test_a_text_said_again_after_it_was_superseded_is_found(memory: Memory) -> None:
    """The proposal filters by text and would hide it for ever."""
    memory.facts.remember("The door is red", value="red", entity=ENTITY, key=KEY)
    memory.facts.remember("The door is green", value="green", entity=ENTITY, key=KEY)
    memory.facts.remember("The door is red", value="red", entity=ENTITY, key=KEY)

    assert ["The door is red"] == [hit.snippet for hit in memory.search("door").hits]


@pytest.mark.parametrize("fusion", ["calibrated", "weighted", "rrf"])
def test_a_superseded_value_never_outranks_its_successor(memory: Memory, fusion: str) -> None:
    memory.facts.remember("gateway port port port 8080 8080", value="8080", entity=ENTITY, key=KEY)
    new = memory.facts.remember("It moved to 9090", value="9090", entity=ENTITY, key=KEY)

    hits = memory.search("gateway port 8080", fusion=fusion, include_superseded=False).hits

    assert [new.fact.id] == [hit.fact.id for hit in hits if hit.fact]


def test_a_search_sees_global_facts_and_those_of_the_scopes_it_names(memory: Memory) -> None:
    for scope in ("global", "user:ann", "agent:build", "session:s1"):
        memory.facts.remember(f"A lantern of {scope.replace(':', ' ')}", scope=scope)

    def scopes(*named: str) -> set[str]:
        hits = memory.search("lantern", scopes=named).hits
        return {hit.fact.scope for hit in hits if hit.fact}

    assert {"global"} == scopes()
    assert {"global", "user:ann"} == scopes("user:ann")
    assert {"global", "agent:build", "session:s1"} == scopes("agent:build", "session:s1")
    assert {"global"} == scopes("user:bob")
