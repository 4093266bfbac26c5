"""Every regular expression takes time proportional to its text, whatever the text is.

Each is run by a matcher that counts its steps, on texts made from the pattern to be slow for it.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import pkgutil
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support.regex_steps import TooManyStepsError, steps, witnesses

import recollect
from recollect.providers import anthropic, gemini, ollama, openai, prompts
from recollect.providers.models import bert
from recollect.sessions.clean import tag_pattern
from recollect.text import globs, graphemes, terms
from recollect.text.secrets import shapes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

PACKAGE = Path(recollect.__file__).parent
SIZE = 16
GROWTH = 2.7
"""The most that twice the text may cost: 2 if it is proportional, 4 if it is quadratic."""
MOST_WITNESSES = 5
FUNCTIONS = ("compile", "match", "fullmatch", "search", "sub", "split", "findall", "finditer")
ANCHORED = {"match", "fullmatch"}
SKIPPED = ("recollect.__main__", "recollect.retrievers.l")
"""The program itself, and modules that load whole frameworks; they have no patterns."""
BOUNDED = {
    "recollect.ingest.markdown._MARKUP": "a title is cut to four times MAX_TITLE_CHARS before",
    "recollect.text.terms._IDENTIFIER": "a word longer than MAX_TERM_CHARS is not looked at",
}
"""Patterns that may be slower, because their text cannot be long."""
MADE_IN_FUNCTIONS: dict[str, Callable[[], Iterable[str | re.Pattern[str]]]] = {
    "providers/models/bert.py": lambda: [bert._IDEOGRAPH],
    "providers/prompts.py": lambda: [name for name, _ in prompts._KNOWN],
    "providers/remote/chat.py": lambda: [
        words for each in (anthropic, gemini, ollama, openai) for words in optional_fields(each)
    ],
    "text/foreign_dates.py": list,  # all of them are in _PHRASES and _HIER
    "text/date_words.py": list,  # all of them are in _READINGS
    "sessions/clean.py": lambda: [tag_pattern(("system", "user"))],
    "shells/http/models.py": lambda: [r"\d{4}-\d{2}-\d{2}"],
    "text/globs.py": lambda: [each for each in globs.compile_glob("*a*[a-z]*?*") if each],
    "text/graphemes.py": lambda: [graphemes._word_end()],
    "text/safe.py": list,  # those of markers are in MARKERS
    "text/secrets/shapes.py": lambda: [
        *(shape.body for shape in shapes.DELIMITED),
        *(shapes._undelimited(is_word=is_word)[0] for is_word in (True, False)),
    ],
    "text/terms.py": lambda: [
        terms._token_pattern(terms._ASCII_WORD_CHAR),
        terms._token_pattern(terms._SPACED_WORD_CHAR),
        terms._unspaced_pattern(), terms._korean_pattern(),
    ],
}  # fmt: skip
"""Modules with a function that makes a pattern, and what it makes."""
MATCHED = (
    "text/globs.py",
    "recollect.text.secrets.values._CODE",
    "recollect.text.secrets.values._PLACEHOLDER",
    "recollect.text.secrets.values._VARIABLE",
)
"""Patterns that are only matched at the start of a text, in a way that this test cannot see."""


@dataclasses.dataclass(frozen=True)
class Found:
    """A pattern, its name, and whether it is looked for anywhere in a text."""

    name: str
    pattern: re.Pattern[str]
    is_scan: bool = True


def optional_fields(module: object) -> Iterator[str]:
    """Yield the patterns of the properties `optional` of a vendor's classes."""
    for value in vars(module).values():
        if isinstance(getattr(value, "optional", None), property):
            yield from value.optional.fget(None).values()


def named_patterns() -> Iterator[Found]:
    """Yield the patterns in the variables of every module."""
    for info in pkgutil.walk_packages(recollect.__path__, "recollect."):
        if info.name.startswith(SKIPPED):
            assert not list(calls(file_of(info.name)))
            continue
        module = importlib.import_module(info.name)
        methods = methods_of(info.name)
        for name, value in vars(module).items():
            is_scan = not methods.get(name) or bool(methods[name] - ANCHORED)
            is_scan = is_scan and f"{info.name}.{name}" not in MATCHED
            for pattern in patterns_in(value):
                yield Found(f"{info.name}.{name}", pattern, is_scan)


def patterns_in(value: object) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        yield value
    elif isinstance(value, (tuple, list, frozenset)):
        for each in value:
            yield from patterns_in(each)
    elif isinstance(value, dict):
        yield from patterns_in(list(value.values()))
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield from patterns_in([getattr(value, each.name) for each in dataclasses.fields(value)])


@cache
def methods_of(module: str) -> dict[str, set[str]]:
    """Return the methods that a module calls on each of its names."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(tree_of(file_of(module))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found.setdefault(node.value.id, set()).add(node.attr)
    return found


def file_of(module: str) -> Path:
    path = PACKAGE.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def calls(file: Path) -> Iterator[tuple[ast.Call, bool]]:
    """Yield the calls of `re`, and whether each is in a function."""

    def below(node: ast.AST, *, is_inside: bool) -> Iterator[tuple[ast.Call, bool]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Call) and makes_a_pattern(child.func):
                yield child, is_inside
            is_function = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            yield from below(child, is_inside=is_inside or is_function)

    return below(tree_of(file), is_inside=False)


def makes_a_pattern(function: ast.expr) -> bool:
    return (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id == "re"
        and function.attr in FUNCTIONS
    )


def written_patterns() -> Iterator[Found]:
    """Yield the patterns that are written where they are used, and those made in functions."""
    for file in sorted(PACKAGE.rglob("*.py")):
        name = file.relative_to(PACKAGE).as_posix()
        for call, is_inside in calls(file):
            pattern = call.args[0]
            written = pattern.value if isinstance(pattern, ast.Constant) else None
            if is_inside and isinstance(written, str):
                is_scan = getattr(call.func, "attr", None) not in ANCHORED
                yield Found(f"{name}:{call.lineno}", re.compile(written), is_scan)
            elif is_inside:
                assert name in MADE_IN_FUNCTIONS, f"{name}:{call.lineno} makes a pattern: list it"
    for name, make in MADE_IN_FUNCTIONS.items():
        is_scan = name not in MATCHED
        yield from (Found(name, re.compile(each), is_scan) for each in make())


@cache
def all_patterns() -> dict[tuple[str, int], Found]:
    found = [*named_patterns(), *written_patterns()]
    # The same pattern may be looked for in one place and matched in another.
    return {
        (each.pattern.pattern, each.pattern.flags): each
        for each in sorted(found, key=lambda each: each.is_scan)
    }


def growth(found: Found) -> tuple[float, str]:
    """Return what twice the text costs at worst, and the text."""
    texts = list(witnesses(found.pattern))
    worst = (0.0, "")
    for text in texts[:: -(-len(texts) // MOST_WITNESSES) or 1]:
        try:
            once = steps(found.pattern, text(SIZE), is_scan=found.is_scan)
            twice = steps(found.pattern, text(2 * SIZE), is_scan=found.is_scan)
        except TooManyStepsError:
            return float("inf"), text(3)
        worst = max(worst, (twice / max(once, 1), text(3)))
    return worst


def test_every_pattern_takes_time_proportional_to_the_text() -> None:
    slow = {
        found.name: growth(found) for found in all_patterns().values() if found.name not in BOUNDED
    }

    assert {} == {name: (times, text) for name, (times, text) in slow.items() if times > GROWTH}
    assert len(slow) > 200


@pytest.mark.parametrize(
    ("pattern", "is_scan"),
    [
        (r"(?:a+)+b", False),
        (r"(?:a|a)*b", False),
        (r"a*a*b", False),
        (r"\s+$", True),
        (r"<!--.*?-->", True),
        (r"[a-z]+:", True),
    ],
)
def test_the_count_finds_patterns_that_are_slow(pattern: str, *, is_scan: bool) -> None:
    times, _ = growth(Found("slow", re.compile(pattern), is_scan))

    assert times > GROWTH


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("a*b", "aaab", 3 + 1 + 1 + 1),  # three times a, not a fourth, then b
        ("(?:ab)+c", "ababx", 1 + 2 + 1 + 2 + 1 + 1 + 2),  # no third ab, and no c after two or one
        ("x|y", "zz", 3),  # a set, at each place and at the end
    ],
)
def test_the_count_is_of_steps(pattern: str, text: str, expected: int) -> None:
    assert expected == steps(re.compile(pattern), text, is_scan=pattern == "x|y")
