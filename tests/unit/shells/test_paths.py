"""Paths that a user types in a subfolder of the workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from recollect.shells.cli.search import glob_in, path_in

if TYPE_CHECKING:
    from pathlib import Path


STORED = (
    "memory/a.md",
    "memory/trips/b.md",
    "memory/trips/both.md",
    "memory/trips/far/d.md",
    "memory/trips/we[i]rd/n.md",
    "both.md",
    "../vault/c.md",
)


@pytest.fixture
def subfolder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the files and go to a subfolder; return the workspace."""
    workspace = tmp_path / "workspace"
    for path in STORED:
        (workspace / path).parent.mkdir(parents=True, exist_ok=True)
        (workspace / path).write_text("x", encoding="utf-8")
    monkeypatch.chdir(workspace / "memory/trips")
    return workspace


@pytest.mark.parametrize(
    ("named", "expected", "said"),
    [
        ("memory/a.md", "memory/a.md", ""),
        ("b.md", "memory/trips/b.md", "Using memory/trips/b.md of"),
        (".", "memory/trips", "Using memory/trips of"),
        ("../a.md", "memory/a.md", "Using memory/a.md of"),
        ("both.md", "both.md", ""),
        ("./both.md", "memory/trips/both.md", "Using memory/trips/both.md of"),
        ("c.md", "c.md", ""),
        ("../none.md", "../none.md", ""),
        ("../vault/c.md", "../vault/c.md", ""),
        ("../../../vault/c.md", "../vault/c.md", "Using ../vault/c.md of"),
        ("../../../other/c.md", "../../../other/c.md", ""),
        ("\0", "\0", ""),
    ],
)
def test_a_path_is_relative_to_the_workspace_or_to_the_current_folder(
    named: str, expected: str, said: str, *, subfolder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert expected == path_in(subfolder, named)
    printed = capsys.readouterr().err
    assert (said in " ".join(printed.split())) if said else not printed


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        (".", "/memory/trips/"),
        ("2026-*", "2026-*"),
        ("memory/*.md", "memory/*.md"),
        ("we[i]rd/*.md", "we[i]rd/*.md"),
        ("we[i]rd", "/memory/trips/we[[]i]rd/"),
        ("we[i]rd/n.md", "/memory/trips/we[[]i]rd/n.md"),
        ("../vault/*.md", "../vault/*.md"),
        ("../vault", "/../vault/"),
    ],
)
def test_a_path_is_a_glob_of_what_it_names(named: str, expected: str, subfolder: Path) -> None:
    assert expected == glob_in(subfolder, named)


def test_a_whole_path_is_one_of_the_workspace(tmp_path: Path) -> None:
    assert "memory/a.md" == path_in(tmp_path, str(tmp_path / "memory/a.md"))
