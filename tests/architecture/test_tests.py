"""Checks the tests: what several of them need is in a plain module or a conftest."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent.parent


def imported_modules(file: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    return names


@cache
def imports() -> set[tuple[str, str]]:
    return {
        (file.relative_to(TESTS).as_posix(), name)
        for file in TESTS.rglob("*.py")
        for name in imported_modules(file)
    }


def test_no_test_imports_from_another_test() -> None:
    assert set() == {
        (file, name)
        for file, name in imports()
        if name.startswith("tests.") and any(part.startswith("test_") for part in name.split("."))
    }


def test_no_test_imports_from_the_measurements() -> None:
    assert set() == {(file, name) for file, name in imports() if name.split(".")[0] == "bench"}
