"""Paths that a user types in a subfolder of the workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from recollect.shells.cli.shared import path_in

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("named", "expected", "said"),
    [
        ("memory/a.md", "memory/a.md", ""),
        ("b.md", "memory/trips/b.md", "Using memory/trips/b.md of"),
        (".", "memory/trips", "Using memory/trips of"),
        ("../a.md", "memory/a.md", "Using memory/a.md of"),
        ("./2026-*", "memory/trips/2026-*", "Using memory/trips/2026-* of"),
        ("both.md", "both.md", "For the one in this folder: ./both.md"),
        ("./both.md", "memory/trips/both.md", "Using memory/trips/both.md of"),
        ("2026-*", "2026-*", ""),
        ("../../../vault/c.md", "../../../vault/c.md", ""),
        ("\0", "\0", ""),
    ],
)
def test_a_path_is_relative_to_the_workspace_or_to_the_current_folder(
    named: str,
    expected: str,
    said: str,
    *,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for path in ("memory/a.md", "memory/trips/b.md", "memory/trips/both.md", "both.md"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "memory/trips")

    assert expected == path_in(tmp_path, named)
    printed = capsys.readouterr().err
    assert (said in " ".join(printed.split())) if said else not printed


def test_a_whole_path_is_one_of_the_workspace(tmp_path: Path) -> None:
    assert "memory/a.md" == path_in(tmp_path, str(tmp_path / "memory/a.md"))
