"""Keeps what a user says of hits, right or wrong, as cases in the home: to measure, never to rank.

Not in the workspace: a search writes nothing there, and a question may be nobody else's business.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.errors import NotFoundError, UsageError
from recollect.evaluate.cases import case_json, parse_case, read_cases
from recollect.facts.files import LOCK, lock
from recollect.search.request import make_query
from recollect.text.files import make_private_file, make_private_folder, replace_file
from recollect.types import Scope

if TYPE_CHECKING:
    from pathlib import Path

    from recollect.evaluate.cases import Expected
    from recollect.parts import MemoryParts

_WAIT_SECONDS = 10.0


def keep_feedback(memory: MemoryParts, query: str, citation: str, *, right: bool) -> Path:
    """Keep whether a hit answers a question; return the file, which `recollect eval` reads."""
    if memory.folder is None:
        raise UsageError("A server keeps no feedback.", action="Give it where your notes are.")
    given = {"query": query, "kind": "feedback", "expected": [citation]}
    said = parse_case(json.dumps(given), where="feedback")
    [place] = said.expected
    _, last = place.lines or (1, 1)
    if not (memory.shows(place.path) and memory.get(place.path, start_line=last, lines=1).lines):
        raise NotFoundError(f"{place.citation} is not indexed.", action="Name a hit as shown.")
    make_query(said.query, max_results=1, scope=Scope())  # what cannot be asked is not measured
    file = memory.setup.places.cases_of(memory.agent)
    make_private_folder(file.parent)
    make_private_file(guard := file.parent / LOCK)
    with memory.lock, lock(guard, wait_seconds=_WAIT_SECONDS):
        cases = {each.query: each for each in (read_cases(file) if file.exists() else ())}
        case = cases.get(said.query, replace(said, expected=()))
        others, wrong = ({*own} - {place} for own in (case.expected, case.wrong))
        (others if right else wrong).add(place)
        cases[case.query] = replace(case, expected=_ordered(others), wrong=_ordered(wrong))
        lines = (f"{json.dumps(case_json(each), ensure_ascii=False)}\n" for each in cases.values())
        replace_file(file, "".join(lines).encode(), private=True)
    return file


def _ordered(places: set[Expected]) -> tuple[Expected, ...]:
    return tuple(sorted(places, key=lambda place: place.citation))
