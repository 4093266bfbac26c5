"""Checks the layout: layers, names, and what each module says about itself."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import recollect

PACKAGE = Path(recollect.__file__).parent
LAYERS = (
    ("__main__",),
    ("shells",),
    ("async_memory", "evaluate", "hosting", "install", "retrievers"),
    ("memory",),
    ("parts",),
    ("config",),
    ("background", "browse", "facts", "sessions"),
    ("search",),
    ("ingest",),
    ("stores", "providers"),
    ("text",),
    ("reports",),
    ("types",),
    ("shape",),
    ("errors", "records", "version"),
)
LEVEL = {part: level for level, parts in enumerate(LAYERS) for part in parts}
BANNED = {
    "manager", "handler", "helper", "util", "utils", "common", "misc", "data", "info", "process",
    "item", "obj", "impl",
}  # fmt: skip
SHELLS_MAY_USE = {
    "memory", "async_memory", "parts", "records", "reports", "shape", "types", "errors", "version",
    "shells", "evaluate", "install", "config", "facts", "hosting", "text", "background",
}  # fmt: skip
ROOT_MODULES = {
    "__init__", "__main__", "types", "reports", "records", "shape", "errors", "parts", "memory",
    "async_memory", "version",
}  # fmt: skip
SAME_NAME_ON_PURPOSE = {
    "RecollectRetriever",  # one per framework, each imported from its own module
}
MODULES = sorted(PACKAGE.rglob("*.py"))


def name_of(module: Path) -> str:
    return module.relative_to(PACKAGE).as_posix()


def part_of(module: Path) -> str:
    return module.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def tree_of(module: Path) -> ast.Module:
    return ast.parse(module.read_text(encoding="utf-8"))


def imported_parts(module: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    inside = {name.split(".")[1] for name in names if name.startswith("recollect.")}
    return inside - {"__version__"}


def test_imports_go_one_way() -> None:
    upward = {
        (name_of(module), other)
        for module in MODULES
        if (part := part_of(module)) != "__init__"
        for other in imported_parts(module) - {part}
        if LEVEL[other] <= LEVEL[part]
    }

    assert set() == upward


def test_the_page_draws_the_layers_as_they_are() -> None:
    page = (PACKAGE.parent.parent / "ARCHITECTURE.md").read_text(encoding="utf-8")
    _, _, drawn, *_ = re.findall(r"^```\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    layers = [set(parts) - {"version"} for parts in LAYERS[1:]]

    assert [*layers[:-4], set().union(*layers[-4:])] == [
        set(re.findall(r"\w+", row)) for row in drawn.splitlines()
    ]


def test_every_module_says_what_it_is_for() -> None:
    assert [] == [name_of(module) for module in MODULES if not ast.get_docstring(tree_of(module))]


def test_names_say_something() -> None:
    vague = {
        (name_of(module), name)
        for module in MODULES
        for name in [
            module.stem,
            *(
                node.name
                for node in ast.walk(tree_of(module))
                if isinstance(node, (ast.FunctionDef, ast.ClassDef))
            ),
        ]
        if set(name.lower().split("_")) & BANNED
    }

    assert {("shells/http/route.py", "get_route_handler")} == vague  # FastAPI calls it so


def test_shells_know_only_the_facade_and_the_records() -> None:
    used = {
        (name_of(module), part)
        for module in MODULES
        if part_of(module) == "shells"
        for part in imported_parts(module)
    }

    assert set() == {(module, part) for module, part in used if part not in SHELLS_MAY_USE}


def test_the_public_names_are_sorted_and_all_there() -> None:
    names = recollect.__all__

    assert sorted(names) == names
    assert all(getattr(recollect, name) is not None for name in names)


def classes() -> dict[str, list[str]]:
    found = defaultdict(list)
    for module in MODULES:
        for node in ast.walk(tree_of(module)):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(name_of(module))
    return found


def test_a_class_name_means_one_thing() -> None:
    duplicated = {name: places for name, places in classes().items() if len(places) > 1}

    assert SAME_NAME_ON_PURPOSE == duplicated.keys(), duplicated


def test_the_root_holds_only_the_facade_and_its_records() -> None:
    assert ROOT_MODULES == {module.stem for module in PACKAGE.glob("*.py")}
