"""docs/reference/facts.md lists the categories, attributes, confidences and lifetimes there are."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT

from recollect.facts import entry
from recollect.facts.record import (
    CATEGORIES,
    CONFIDENCES,
    LIFETIMES,
    DecayClass,
    Fact,
    classify_decay,
)

PAGE = (ROOT / "docs" / "reference" / "facts.md").read_text(encoding="utf-8")


def table(heading: str) -> list[list[str]]:
    """Return the rows of the table whose first column has this heading."""
    [found] = re.findall(rf"\n\| {re.escape(heading)} \|.*\n\| ---.*\n((?:\|.*\n)+)", PAGE)
    rows = found.strip().split("\n")
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_every_category_is_listed() -> None:
    assert [f"`{name}`" for name in CATEGORIES] == [row[0] for row in table("category")]


def test_every_attribute_of_a_line_is_listed_with_what_leaving_it_out_means() -> None:
    rows = {row[0].strip("`"): row[2] for row in table("attribute")}
    plain = Fact(id="f-06e5p3v8m1q0z", text="x")

    assert entry._FIELDS.keys() == {*rows}
    assert {
        "scope": f"`{plain.scope}`",
        "decay": f"`{plain.decay}`",
        "confidence": f"`{plain.confidence}`",
        "by": f"`{plain.provenance}`",
    } == {name: rows[name] for name in ("scope", "decay", "confidence", "by")}


def test_confidences_are_those_of_the_code() -> None:
    rows = {row[0]: row[1] for row in table("`by`")}

    assert {f"`{by}`": str(confidence) for by, confidence in CONFIDENCES.items()} == rows


def test_lifetimes_are_those_of_the_code() -> None:
    def shown(decay: DecayClass) -> str:
        lifetime = LIFETIMES[decay]
        if lifetime is None:
            return "unlimited"
        return f"{lifetime.days} day{'s' if lifetime.days > 1 else ''}"

    rows = {row[0].strip("`"): row[1] for row in table("`decay`")}

    assert {str(decay): shown(decay) for decay in DecayClass} == rows


def test_words_that_decide_a_lifetime_do() -> None:
    decided = 0
    for name, _, given_to in table("`decay`"):
        classes = [
            *(classify_decay(f"we are {each} it") for each in re.findall('"([^"]+)"', given_to)),
            *(classify_decay("so", key=each) for each in re.findall("`([^`]+)`", given_to)),
        ]
        decided += len(classes)

        assert {*classes} <= {DecayClass(name.strip("`"))}
    assert 16 == decided
    assert DecayClass.STABLE == classify_decay("it is so", key="colour")
