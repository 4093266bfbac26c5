"""A deferred pattern does what a compiled one does, and is compiled only if it is used."""

from __future__ import annotations

import copy
import re

import pytest

from recollect.text.patterns import deferred


def test_it_is_not_compiled_before_its_first_use() -> None:
    broken = deferred("(")

    with pytest.raises(re.error):
        broken.search("")


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("search", ("a Cat",)),
        ("match", ("cat",)),
        ("fullmatch", ("cats",)),
        ("findall", ("cat, Cat",)),
        ("sub", ("dog", "cat, Cat")),
        ("split", ("one cat two",)),
    ],
)
def test_its_methods_are_those_of_a_compiled_pattern(
    method: str, arguments: tuple[str, ...]
) -> None:
    compiled = re.compile("(c)at", re.IGNORECASE)
    later = deferred("(c)at", re.IGNORECASE)

    for _ in range(2):
        assert str(getattr(compiled, method)(*arguments)) == str(getattr(later, method)(*arguments))
    assert (later.pattern, later.flags, later.groups) == ("(c)at", compiled.flags, 1)
    for copied in (copy.copy(later), copy.deepcopy(later)):
        assert copied.search("cat")
