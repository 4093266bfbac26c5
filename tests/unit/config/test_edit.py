"""Changing a settings file as its owner would: one value, and not a character more."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.config.edit import edited, write_settings
from recollect.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", 'fusion = "rrf"\n'),
        ('fusion = "weighted"\n', 'fusion = "rrf"\n'),
        ("fusion='weighted' # mine\n", 'fusion="rrf" # mine\n'),
        ('"fusion"   =  "weighted"', '"fusion"   =  "rrf"'),
        ("max_results = 3", 'max_results = 3\nfusion = "rrf"\n'),
        ('fusion = "weighted"\r\nmax_results = 3\r\n', 'fusion = "rrf"\r\nmax_results = 3\r\n'),
        ("# hello\n", '# hello\nfusion = "rrf"\n'),
        (
            "max_results = 3\n\n# about variety\n[mmr]\nenabled = true\n",
            'max_results = 3\n\nfusion = "rrf"\n\n# about variety\n[mmr]\nenabled = true\n',
        ),
        ("[mmr]\nfusion = 1\n", 'fusion = "rrf"\n\n[mmr]\nfusion = 1\n'),
        (
            'extra_paths = [\n  "a",\n  "b",\n]\n[mmr]\n',
            'extra_paths = [\n  "a",\n  "b",\n]\nfusion = "rrf"\n\n[mmr]\n',
        ),
    ],
)
def test_only_the_value_named_changes(before: str, after: str) -> None:
    assert after == edited(before, {"fusion": "rrf"})


def test_names_in_the_other_spelling_are_changed_in_place() -> None:
    text = "vectorWeight = 0.7  # from OpenClaw\n"

    assert "vectorWeight = 0.5  # from OpenClaw\ntext_weight = 0.5\n" == edited(
        text, {"vector_weight": 0.5, "text_weight": 0.5}
    )


@pytest.mark.parametrize(
    "text",
    [
        'note = """\nfusion = "weighted"\n"""\n',
        'fusion = """weighted"""\n',
        'note = """\n[not a table\n"""\n',
    ],
)
def test_a_form_that_lines_cannot_tell_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(ConfigError) as caught:
        write_settings(file, {"fusion": "rrf"})

    assert 'fusion = "rrf"' in caught.value.action
    assert text == file.read_text(encoding="utf-8")


@given(
    weight=st.floats(0, 1),
    others=st.dictionaries(
        st.sampled_from(["max_results", "min_score", "note", "fusion"]),
        st.one_of(st.integers(0, 99), st.sampled_from(['"a # b"', "'it'", "true"])),
    ),
)
def test_every_number_is_written_so_that_it_is_read_back(
    weight: float, others: dict[str, object]
) -> None:
    text = "".join(f"{key} = {value}  # kept\n" for key, value in others.items())

    after = edited(text, {"vector_weight": weight})

    assert {**tomllib.loads(text), "vector_weight": weight} == tomllib.loads(after)
    assert after.startswith(text)


def test_the_file_is_made_with_its_folder_and_the_diff_says_so(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "config.toml"

    diff = write_settings(file, {"fusion": "rrf", "min_score": 0.1})

    assert 'fusion = "rrf"\nmin_score = 0.1\n' == file.read_text(encoding="utf-8")
    assert '+fusion = "rrf"' in diff.splitlines()
    assert [file] == list(file.parent.iterdir())


def test_a_link_stays_a_link_and_permissions_stay(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text("max_results = 3\n", encoding="utf-8")
    real.chmod(0o600)
    link = tmp_path / "config.toml"
    link.symlink_to(real)

    write_settings(link, {"fusion": "rrf"})

    assert link.is_symlink()
    assert 'max_results = 3\nfusion = "rrf"\n' == real.read_text(encoding="utf-8")
    assert 0o600 == real.stat().st_mode & 0o777
