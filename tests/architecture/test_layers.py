"""The layout shows the architecture: this keeps it true without a reviewer's memory."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import recollect

PACKAGE = Path(recollect.__file__).parent
LAYERS = (
    ("__main__",),
    ("shells",),
    (
        "agents",
        "async_memory",
        "evaluate",
        "doctor",
        "glimpse",
        "install",
        "recall",
        "retrievers",
        "settings",
    ),
    ("memory",),
    ("parts",),
    ("config",),
    ("extraction",),
    ("atlas", "fact_book"),
    ("fact_source", "transcripts"),
    ("background",),
    ("ingest", "search", "facts", "sessions"),
    ("stores", "providers"),
    ("text", "globs", "turns"),
    ("reports",),
    ("types",),
    ("errors", "version"),
)
LEVEL = {part: level for level, parts in enumerate(LAYERS) for part in parts}
MOST_LINES = 400
BANNED = {
    "manager", "handler", "helper", "util", "utils", "common", "misc", "data", "info", "process",
    "item", "obj", "impl",
}  # fmt: skip

MODULES = sorted(PACKAGE.rglob("*.py"))


def part_of(module: Path) -> str:
    return module.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_parts(module: Path) -> set[str]:
    tree = ast.parse(module.read_text(encoding="utf-8"))
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    inside = {name.split(".")[1] for name in names if name.startswith("recollect.")}
    return inside - {"__version__"}


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_one_way(module: Path) -> None:
    part = part_of(module)
    if part == "__init__":
        return
    upward = {other for other in imported_parts(module) - {part} if LEVEL[other] <= LEVEL[part]}

    assert set() == upward


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_fits_in_a_readers_head(module: Path) -> None:
    assert len(module.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_every_module_says_what_it_is_for(module: Path) -> None:
    assert ast.get_docstring(ast.parse(module.read_text(encoding="utf-8")))


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_names_say_something(module: Path) -> None:
    tree = ast.parse(module.read_text(encoding="utf-8"))
    defined = [
        node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    ]
    words = {word for name in [*defined, module.stem] for word in name.lower().split("_")}

    assert set() == words & BANNED


def test_shells_know_only_the_facade_and_the_records() -> None:
    allowed = {
        "memory", "reports", "types", "errors", "version", "shells", "agents", "doctor", "evaluate",
        "glimpse", "install", "settings", "facts", "recall", "extraction", "async_memory",
    }  # fmt: skip
    used = {
        (str(module.relative_to(PACKAGE)), part)
        for module in MODULES
        if part_of(module) == "shells"
        for part in imported_parts(module)
    }

    assert set() == {(module, part) for module, part in used if part not in allowed}


def test_the_public_names_are_sorted_and_all_there() -> None:
    names = recollect.__all__

    assert sorted(names) == names
    assert all(getattr(recollect, name) is not None for name in names)
