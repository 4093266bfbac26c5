"""Changing a settings file as its owner would: the values named, and not a character more."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.config.edit import edit_settings, settings_in, write_settings
from recollect.config.schema import SETTINGS
from recollect.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from recollect.config.edit import Value


@pytest.mark.parametrize(
    ("before", "changes", "after"),
    [
        ("", {"mmr.enabled": True}, "mmr.enabled = true\n"),
        ("", {"fusion": "rrf"}, 'fusion = "rrf"\n'),
        ('fusion = "weighted"\n', {"fusion": "rrf"}, 'fusion = "rrf"\n'),
        ("fusion='weighted' # mine\n", {"fusion": "rrf"}, 'fusion="rrf" # mine\n'),
        ('"fusion"   =  "weighted"', {"fusion": "rrf"}, '"fusion"   =  "rrf"'),
        ('fusion = """weighted"""\n', {"fusion": "rrf"}, 'fusion = "rrf"\n'),
        ("max_results = 3", {"fusion": "rrf"}, 'max_results = 3\nfusion = "rrf"\n'),
        ("# hello\n", {"fusion": "rrf"}, '# hello\nfusion = "rrf"\n'),
        (
            "max_results = 3\n\n# about variety\n[mmr]\nenabled = true\n",
            {"fusion": "rrf"},
            'max_results = 3\nfusion = "rrf"\n\n# about variety\n[mmr]\nenabled = true\n',
        ),
        ("[mmr]\nfusion = 1\n", {"fusion": "rrf"}, 'fusion = "rrf"\n\n[mmr]\nfusion = 1\n'),
        (
            'extra_paths = [\n  "a",\n  "b",\n]\n[mmr]\n',
            {"fusion": "rrf"},
            'extra_paths = [\n  "a",\n  "b",\n]\nfusion = "rrf"\n\n[mmr]\n',
        ),
        (
            "vectorWeight = 0.7  # from OpenClaw\n",
            {"vector_weight": 0.5, "text_weight": 0.5},
            "vectorWeight = 0.5  # from OpenClaw\ntext_weight = 0.5\n",
        ),
        (
            "mmr = {enabled = true}\n",
            {"mmr.enabled": False, "mmr.lambda": 1},
            "mmr = {enabled = false, lambda = 1}\n",
        ),
        ("[mmr]\nenabled = false # yet\n", {"mmr.enabled": True}, "[mmr]\nenabled = true # yet\n"),
        (
            "[mmr]\nlambda = 0.5\n\n# x\n[sync]\n",
            {"mmr.enabled": True, "fusion": "rrf", "store": 3},
            'fusion = "rrf"\nstore = 3\n\n[mmr]\nlambda = 0.5\nenabled = true\n\n# x\n[sync]\n',
        ),
        (
            "# mine\n[temporalDecay]\nhalfLifeDays=7",
            {"temporal_decay.half_life_days": 9, "temporal_decay.enabled": True},
            "# mine\n[temporalDecay]\nhalfLifeDays=9\nenabled = true\n",
        ),
        (
            'extra_paths = [\n  "a#b", # inner\n  "c",\n] # outer\nmax_results = 1\n',
            {"extra_paths": ["日本", "🦉"]},
            'extra_paths = ["日本", "🦉"] # outer\nmax_results = 1\n',
        ),
        ("mmr.lambda = 1\n[sync]\n", {"mmr.lambda": 0.5}, "mmr.lambda = 0.5\n[sync]\n"),
        ('model = "a # b"\r\n', {"model": "c", "store": 1}, 'model = "c"\r\nstore = 1\r\n'),
        (
            'note = """\nfusion = "weighted"\n"""\n',
            {"fusion": "rrf"},
            'note = """\nfusion = "weighted"\n"""\nfusion = "rrf"\n',
        ),
        ("# a\u2028[ = \nstore = 1\n", {"store": 2}, "# a\u2028[ = \nstore = 2\n"),
    ],
)
def test_only_the_settings_named_change(
    before: str, changes: dict[str, Value | None], after: str
) -> None:
    assert after == edit_settings(before, changes)


def test_what_is_removed_takes_its_lines_along_and_no_others() -> None:
    before = '# top\nmax_result = 3\nextra_paths = [\n  "a",\n]\n[mmr] # kept\nenabled = true\n'

    after = edit_settings(before, {"max_result": None, "extra_paths": None, "mmr.enabled": None})

    assert "# top\n[mmr] # kept\n" == after


def test_comments_stay_with_what_they_are_about() -> None:
    before = "# file\n\n[mmr]\nenabled = true\n# about sync\n[sync]\non_search = true\n# end\n"

    after = edit_settings(before, {"mmr.lambda": 1, "sync.more": 5})

    assert (
        "# file\n\n[mmr]\nenabled = true\nlambda = 1\n"
        "# about sync\n[sync]\non_search = true\n# end\nmore = 5\n"
    ) == after


@pytest.mark.parametrize("text", ["[mmr\n", "mmr = 1\n", "[[mmr]]\nenabled = true\n"])
def test_a_form_that_cannot_be_edited_is_refused_with_what_to_write(
    text: str, tmp_path: Path
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(ConfigError) as caught:
        write_settings(file, {"mmr.enabled": False, "max_results": None})

    assert caught.value.action.endswith("mmr.enabled = false; remove max_results")
    assert text == file.read_text(encoding="utf-8")


def test_what_the_check_refuses_is_not_written(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "config.toml"

    def refuse(text: str) -> None:
        raise ConfigError(text, action="")

    with pytest.raises(ConfigError, match="max_results = 1"):
        write_settings(file, {"max_results": 1}, check=refuse)

    assert not file.parent.exists()


_VALUES = st.one_of(
    st.booleans(),
    st.integers(-9, 9),
    st.floats(0, 1),
    st.text(st.characters(exclude_categories=["Cs", "Cc"])),
    st.lists(st.sampled_from(["a", 'b"', "# c", "d\\"])),
)
_CHANGES = st.dictionaries(st.sampled_from(list(SETTINGS)), st.one_of(st.none(), _VALUES))


@given(
    tables=st.dictionaries(
        st.sampled_from(list(SETTINGS)), st.sampled_from(["1 # x", '"a"', "[\n'b', # y\n]"])
    ),
    changes=_CHANGES,
    dotted=st.booleans(),
)
def test_what_was_meant_is_what_a_reader_sees(
    tables: dict[str, str], changes: dict[str, Value | None], *, dotted: bool
) -> None:
    by_table: dict[str, list[str]] = {"": []}
    for name, value in tables.items():
        table, _, key = name.rpartition(".")
        table, key = ("", name) if dotted else (table, key)
        by_table.setdefault(table, []).append(f"{key} = {value}\n")
    text = "".join(
        (f"[{table}]\n" if table else "") + "".join(lines) for table, lines in by_table.items()
    )

    after = edit_settings(text, changes)

    expected = {**settings_in(text), **changes}
    assert {name: value for name, value in expected.items() if value is not None} == settings_in(
        after
    )
    assert tomllib.loads(after) is not None


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

    after = edit_settings(text, {"vector_weight": weight})

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
