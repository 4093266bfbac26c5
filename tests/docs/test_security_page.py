"""Every claim of the security page names a test, and that test exists."""

from __future__ import annotations

import re

import pytest
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if re.match(r"\| (?!attack|---)", line)]
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)))


def test_every_row_names_a_test() -> None:
    assert [] == [row for row in ROWS if not re.search(r"`tests/[\w/]+\.py::test_\w+`", row)]


@pytest.mark.parametrize(("file", "name"), NAMED, ids=[name for _, name in NAMED])
def test_a_named_test_exists(file: str, name: str) -> None:
    assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8")
