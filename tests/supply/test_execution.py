"""Nothing is executed but the program itself and what pip installed."""

from __future__ import annotations

import ast
from functools import cache

import apsw
import pytest
import sqlite_vec
from tests.docs.pages import ROOT

from recollect.stores.sqlite.scan import EngineMissingError, SqliteVec

SOURCES = sorted((ROOT / "src").rglob("*.py"))
DECODERS = {"pickle", "marshal", "shelve", "dill", "joblib", "cloudpickle", "imp", "runpy"}
"""Modules that turn a file into code."""
CALLS = {"eval", "exec", "compile", "__import__", "system", "popen", "execfile"}
"""Functions that turn a text into code or into a command of the shell."""
OWN_TEXT = {("records.py", "exec")}
"""Compiles the constructors of our own records, as the standard library's `dataclass` does."""


@cache
def trees() -> list[tuple[str, ast.Module]]:
    return [(file.name, ast.parse(file.read_text(encoding="utf-8"))) for file in SOURCES]


def called(node: ast.Call) -> str:
    """Return the name of a function that is called by its name, or as part of `os`."""
    if isinstance(node.func, ast.Name):
        return node.func.id
    is_of_os = isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name)
    if is_of_os and ast.unparse(node.func).startswith("os."):
        return ast.unparse(node.func).removeprefix("os.")
    return ""


def test_no_file_and_no_text_becomes_code() -> None:
    found = set()
    for name, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found |= {(name, each.name) for each in node.names if each.name in DECODERS}
            elif isinstance(node, ast.ImportFrom) and node.module in DECODERS:
                found.add((name, str(node.module)))
            elif isinstance(node, ast.Call) and called(node) in CALLS:
                found.add((name, called(node)))
            elif isinstance(node, ast.keyword) and node.arg in {"shell", "allow_pickle"}:
                found.add((name, node.arg))

    assert OWN_TEXT == found


def test_every_python_that_is_started_ignores_the_modules_of_the_current_folder() -> None:
    started = [
        (name, [ast.unparse(each) for each in node.elts[:2]])
        for name, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, (ast.List, ast.Tuple))
        and any("executable" in ast.unparse(each) for each in node.elts[:1])
    ]

    assert {"worker.py", "agents.py"} == {name for name, _ in started}
    assert [] == [(name, words) for name, words in started if words[1:] != ["'-P'"]]


def test_extensions_can_no_longer_be_loaded_after_one_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sqlite_vec, "loadable_path", lambda: "/no/such/extension")
    connection = apsw.Connection(":memory:")

    with pytest.raises(EngineMissingError):
        SqliteVec().prepare(connection)

    with pytest.raises(apsw.SQLError, match="not authorized"):
        connection.execute("SELECT load_extension('/no/such/extension')").fetchall()
