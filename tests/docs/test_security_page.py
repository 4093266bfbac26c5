"""Every claim of the security page names a file of tests, and that file exists."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if re.match(r"\| (?!attack|---)", line)]
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)", PAGE)))


def test_every_row_names_a_file_of_tests() -> None:
    assert len(ROWS) > 30
    assert [] == [row for row in ROWS if not re.search(r"`tests/[\w/]+/test_\w+\.py` ?[,|]", row)]


def test_every_named_file_exists() -> None:
    assert [] == [file for file in NAMED if not (ROOT / file).is_file()]
