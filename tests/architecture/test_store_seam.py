"""Nothing above stores/ knows what kind of store it uses."""

from __future__ import annotations

import ast
import re
import tokenize
from pathlib import Path
from types import FunctionType

import recollect
from recollect.stores import base
from recollect.stores.ram import RamStore
from recollect.stores.sqlite import SqliteStore

PACKAGE = Path(recollect.__file__).parent
_NAME = re.compile(r"sqlite|apsw", re.IGNORECASE)
_FILE = re.compile(r"\.sqlite\b")
FOREIGN = {"sessions/exported.py", "sessions/openclaw_database.py"}
"""Reads a file of another program, which is SQLite whatever our own store is."""
_MOST_METHODS = 30
"""Every method is written three times: the number of them may only fall."""


def named_in(module: Path) -> set[str]:
    """Return the names and file suffixes of SQLite in a module; its prose may mention it."""
    if not _NAME.search(module.read_text(encoding="utf-8")):
        return set()
    with tokenize.open(module) as source:
        tokens = list(tokenize.generate_tokens(source.readline))
    names = {
        token.string
        for token in tokens
        if token.type == tokenize.NAME and _NAME.search(token.string)
    }
    texts = {
        node.value
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return names | {text for text in texts if _FILE.search(text)}


def test_only_stores_name_sqlite() -> None:
    named = {
        module.relative_to(PACKAGE).as_posix(): found
        for module in sorted(PACKAGE.rglob("*.py"))
        if module.relative_to(PACKAGE).parts[0] != "stores" and (found := named_in(module))
    }

    assert FOREIGN == named.keys()


def test_a_store_has_no_public_methods_beyond_its_roles_that_others_could_come_to_need() -> None:
    promised = {
        name for role in base.Store.__mro__ for name in vars(role) if not name.startswith("_")
    }
    ram = {name for name in dir(RamStore) if not name.startswith("_")}
    sqlite = {name for name in dir(SqliteStore) if not name.startswith("_")}

    assert set() == ram - promised
    assert {"open"} == sqlite - promised


def test_the_roles_of_a_store_have_few_methods() -> None:
    methods = [
        name
        for role in base.Store.__mro__
        if role.__module__ == base.__name__
        for name, value in vars(role).items()
        if isinstance(value, FunctionType) and not name.startswith("_")
    ]

    assert _MOST_METHODS >= len(methods), sorted(methods)
