"""Checks that ARCHITECTURE.md describes the source as it is."""

from __future__ import annotations

import re
from pathlib import Path

import recollect

PACKAGE = Path(recollect.__file__).parent
PAGE = (PACKAGE.parent.parent / "ARCHITECTURE.md").read_text(encoding="utf-8")
SOURCE = "\n".join(file.read_text(encoding="utf-8") for file in sorted(PACKAGE.rglob("*.py")))
_, TREE, *_ = re.findall(r"^```\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)


def test_every_file_that_is_named_exists() -> None:
    decisions = sorted((PACKAGE.parent.parent / "docs" / "decisions").glob("*.md"))
    texts = [PAGE, *(page.read_text(encoding="utf-8") for page in decisions)]
    named = {
        name
        for text in texts
        for name in re.findall(r"`((?!tests/|bench/|src/)[a-z_]+(?:/[a-z_]+)*\.py)\b", text)
    }

    assert len(named) > 10
    assert set() == {name for name in named if not (PACKAGE / name).is_file()}


def test_every_function_of_the_walks_exists() -> None:
    rows = [row.rsplit(" | ", 1)[-1] for row in re.findall(r"^\| (?!word).+", PAGE, re.MULTILINE)]
    named = {
        name
        for row in rows
        for name in re.findall(r"`(?:[a-z_/]+\.py: )?(?:\w+\.)?([A-Za-z_]+)(?:\(\w+\))?`", row)
    }

    assert {"search_command", "rank", "put_many"} <= named
    assert set() == {name for name in named if not re.search(rf"\b(?:def|class) {name}\b", SOURCE)}


def test_the_tree_names_every_package() -> None:
    packages = {folder.parent.name for folder in PACKAGE.glob("*/__init__.py")}

    assert packages == set(re.findall(r"^[├└]─ (\w+)/", TREE, re.MULTILINE))
