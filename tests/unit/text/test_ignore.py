"""Rules of an ignore file mean what they mean to git, whatever they cost anyone else."""

from __future__ import annotations

import random
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from recollect.text.globs import MAX_RULES, IgnoreRules

if TYPE_CHECKING:
    from pathlib import Path

PARTS = [
    "a", "b", "ab", "*", "a*", "*b", "?", "**", "[ab]", "[!a]", "[^b]", "a?b", r"\*", r"\a", "*a*",
    "x.md", "***", "a**b", "[[:alpha:]]", "a\\ ", "#a", r"\#a", "[a-b]b",
]  # fmt: skip
NAMES = ["a", "b", "ab", "abb", "x.md", "*", "ba", "c", "#a", "a "]


def ignored(rules: IgnoreRules, path: str) -> bool:
    parts = path.split("/")
    return any(
        rules.ignores("/".join(parts[:count]), may_be_folder=count < len(parts))
        for count in range(1, len(parts) + 1)
    )


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git, whose rules they are")
def test_rules_mean_what_they_mean_to_git(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    choose = random.Random(14)
    for _ in range(40):
        lines = [
            choose.choice(["", "", "/", "!"])
            + "/".join(choose.choices(PARTS, k=choose.randint(1, 3)))
            + choose.choice(["", "", "/", " "])
            for _ in range(choose.randint(1, 3))
        ]
        paths = sorted({"/".join(choose.choices(NAMES, k=choose.randint(1, 4))) for _ in range(40)})
        (tmp_path / ".gitignore").write_text("\n".join(lines) + "\n", encoding="utf-8")
        by_git = subprocess.run(
            ["git", "check-ignore", "--no-index", "-z", "--stdin"],
            cwd=tmp_path,
            input="\0".join(paths),
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        ).stdout.split("\0")

        rules = IgnoreRules(lines)

        assert [path for path in paths if path in by_git] == [
            path for path in paths if ignored(rules, path)
        ], lines


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 60 + "b", "a" * 255),
        ("/".join(["**/a"] * 100) + "/b", "/".join("a" * 120)),
        ("?*" * 100 + "b", "a" * 255),
    ],
)
def test_no_pattern_takes_more_than_a_moment(pattern: str, path: str) -> None:
    # As one regular expression, each of these takes longer than the sun will last.
    assert not IgnoreRules([pattern] * MAX_RULES).ignores(path, may_be_folder=True)


@pytest.mark.parametrize("line", ["\\", "!", "/", "a\\", "[[:nonsense:]]"])
def test_what_is_no_rule_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        IgnoreRules([line])


def test_too_many_rules_are_refused() -> None:
    with pytest.raises(ValueError, match="1001 rules, but at most 1000 are allowed"):
        IgnoreRules(["a"] * (MAX_RULES + 1))
