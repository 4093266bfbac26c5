"""The checker of histories accepts what a ledger may do, and nothing else."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from tests.support.history import AGENT, LOST, Call, check


def call(kind: str, fact: str, began: float, ended: float, outcome: str = "done") -> Call:
    return Call("a", kind, "t", fact, began=began, ended=ended, outcome=outcome)


def remember(fact: str, began: float, ended: float, outcome: str = "add") -> Call:
    return call("remember", fact, began, ended, outcome)


def forget(fact: str, began: float, ended: float, outcome: str = "done") -> Call:
    return call("forget", fact, began, ended, outcome)


def read(began: float, ended: float, *found: str) -> Call:
    return replace(call("read", "", began, ended), found=found)


def add(fact: str, began: float, ended: float, *, other: str = "", outcome: str = "add") -> Call:
    return replace(call("add", fact, began, ended, outcome), other=other)


def supersede(old: str, new: str, began: float, ended: float, outcome: str = "done") -> Call:
    return replace(call("supersede", old, began, ended, outcome), other=new)


GOOD = {
    "one after the other": [remember("x", 0, 1), read(2, 3, "x"), forget("x", 4, 5), read(6, 7)],
    "a read during a write sees it": [remember("x", 0, 9), read(1, 2, "x"), read(3, 4, "x")],
    "a read during a write does not see it": [remember("x", 0, 9), read(1, 2)],
    "one of two at once is the last": [
        remember("x", 0, 5),
        remember("y", 1, 6, "supersede"),
        read(7, 8, "y"),
    ],
    "the other of two at once is the last": [
        remember("x", 0, 5, "supersede"),
        remember("y", 1, 6, "add"),
        read(7, 8, "x"),
    ],
    "a lost call happened": [remember("x", 0, 1, LOST), read(2, 3, "x")],
    "a lost call did not happen": [remember("x", 0, 1, LOST), read(2, 3)],
    "a lost call without an end happens late": [
        remember("x", 0, math.inf, LOST),
        read(2, 3),
        read(4, 5, "x"),
    ],
    "a forgotten value gives way to the one before": [
        remember("x", 0, 1),
        remember("y", 2, 3, "supersede"),
        remember("z", 4, 5, "supersede"),
        forget("y", 6, 7),
        forget("z", 8, 9),
        read(10, 11, "x"),
    ],
    "the second of two who forget is told so": [
        remember("x", 0, 1),
        forget("x", 2, 6),
        forget("x", 3, 7, "missing"),
    ],
    "an agent does not replace what its owner said": [
        remember("x", 0, 1),
        replace(remember("y", 2, 3, "contradicts"), confidence=AGENT),
        read(4, 5, "x", "y"),
    ],
    "the end of a chain is superseded": [
        add("x", 0, 1),
        add("y", 2, 3, other="x", outcome="supersede"),
        add("z", 4, 5),
        supersede("x", "z", 6, 7),
        read(8, 9, "z"),
        supersede("z", "x", 10, 11, "refused"),
    ],
}

BAD = {
    "a fact is stored twice": [remember("x", 0, 1), read(2, 3, "x", "x")],
    "a superseded fact is lost": [
        remember("x", 0, 1),
        remember("y", 2, 3, "supersede"),
        replace(call("all", "", 4, 5), found=("y",)),
    ],
    "an acknowledged fact is not shown": [remember("x", 0, 1), read(2, 3)],
    "a forgotten fact is shown": [remember("x", 0, 1), forget("x", 2, 3), read(4, 5, "x")],
    "a fact is shown that nobody saved": [read(0, 1, "x")],
    "a fact is shown before it was saved": [read(0, 1, "x"), remember("x", 2, 3)],
    "a fact is shown, then not": [remember("x", 0, 9), read(1, 2, "x"), read(3, 4)],
    "both of two at once were the first": [
        remember("x", 0, 5, "add"),
        remember("y", 1, 6, "add"),
    ],
    "both values are valid": [
        remember("x", 0, 1),
        remember("y", 2, 3, "supersede"),
        read(4, 5, "x", "y"),
    ],
    "a lost call happened and was undone": [
        remember("x", 0, 1, LOST),
        read(2, 3, "x"),
        read(4, 5),
    ],
    "a lost call happens after its process was gone": [
        remember("x", 0, 1, LOST),
        read(2, 3),
        read(4, 5, "x"),
    ],
    "a lost call half happened": [
        remember("x", 0, 1),
        remember("y", 2, 3, "supersede"),
        forget("y", 4, 5, LOST),
        read(6, 7),
    ],
    "two were told that they forgot it": [
        remember("x", 0, 1),
        forget("x", 2, 6),
        forget("x", 3, 7),
    ],
    "the older value does not come back": [
        remember("x", 0, 1),
        remember("y", 2, 3, "supersede"),
        forget("y", 4, 5),
        read(6, 7),
    ],
    "two facts supersede each other": [
        add("x", 0, 1),
        add("y", 2, 3),
        supersede("x", "y", 4, 8),
        supersede("y", "x", 5, 9),
    ],
    "reads disagree about the order of two writes": [
        add("x", 0, 9),
        add("y", 0, 9),
        read(1, 2, "x"),
        replace(read(3, 4, "y"), client="b"),
    ],
}


@pytest.mark.parametrize("name", GOOD)
def test_a_history_that_some_order_explains_is_accepted(name: str) -> None:
    assert [] == check(GOOD[name])


@pytest.mark.parametrize("name", BAD)
def test_a_history_that_no_order_explains_is_rejected(name: str) -> None:
    assert 1 == len(check(BAD[name]))


def test_topics_are_checked_apart_and_named() -> None:
    other = [replace(each, topic="u") for each in BAD["an acknowledged fact is not shown"]]

    [violation] = check([*GOOD["one after the other"], *other])

    assert "u" == violation.topic
    assert str(violation).startswith("topic u: no order explains")
    assert "  x" in str(violation).splitlines()
