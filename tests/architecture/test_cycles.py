"""Checks that no module imports itself through others, inside a package too.

`test_layers` checks packages against each other. Imports for type checking and inside functions
count here: two modules that need each other in any way are one module, or lack a third.
"""

from __future__ import annotations

import ast
from pathlib import Path

import recollect

SOURCE = Path(recollect.__file__).parent


def modules() -> dict[str, ast.Module]:
    return {
        ".".join(file.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): (
            ast.parse(file.read_text(encoding="utf-8"))
        )
        for file in SOURCE.rglob("*.py")
    }


def imports() -> dict[str, set[str]]:
    found = modules()
    graph: dict[str, set[str]] = {}
    for name, tree in found.items():
        graph[name] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("recollect."):
                package = str(node.module).removeprefix("recollect.")
                for alias in node.names:
                    inner = f"{package}.{alias.name}"
                    graph[name].add(inner if inner in found else package)
        graph[name] &= found.keys() - {name}
    return graph


def reachable(start: str, graph: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph[waiting.pop()] - seen
        seen |= new
        waiting += new
    return seen


def cycles() -> list[set[str]]:
    graph = imports()
    reached = {name: reachable(name, graph) for name in graph}
    groups = {
        frozenset(other for other in reached[name] if name in reached[other])
        for name in graph
        if name in reached[name]
    }
    return sorted(map(set, groups), key=sorted)


def test_no_module_imports_itself_through_others() -> None:
    assert [] == cycles()
