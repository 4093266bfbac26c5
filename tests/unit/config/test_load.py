"""Layers of settings: who wins, and who may set what."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from recollect.config.load import load_config
from recollect.config.paths import Places, agent_of, find_workspace
from recollect.config.schema import SETTINGS
from recollect.errors import ConfigError

if TYPE_CHECKING:
    from recollect.config.schema import Config


def load(
    folder: Path,
    *,
    project: str = "",
    user: str = "",
    environ: dict[str, str] | None = None,
    **arguments: object,
) -> Config:
    (folder / "recollect.toml").write_text(project, encoding="utf-8")
    (folder / "user.toml").write_text(user, encoding="utf-8")
    return load_config(
        folder, user_file=folder / "user.toml", environ=environ or {}, arguments=arguments
    )


def test_nothing_set_gives_the_documented_defaults(tmp_path: Path) -> None:
    config = load_config(tmp_path, user_file=tmp_path / "none", environ={}, arguments={})

    assert (400, 80) == (config.ingest.chunk.tokens, config.ingest.chunk.overlap)
    assert (6, 1) == (config.search.max_results, config.search.candidate_multiplier)
    fusion = config.search.rank.fusion
    assert ("calibrated", 0.7, 0.3, "rank", None) == (
        fusion.fusion,
        fusion.vector_weight,
        fusion.text_weight,
        fusion.text_normaliser,
        fusion.min_score,
    )
    assert (False, 30.0) == (
        config.search.rank.decay.enabled,
        config.search.rank.decay.half_life_days,
    )
    assert (False, 0.7) == (config.search.rank.mmr.enabled, config.search.rank.mmr.balance)
    again = config.search.rank.rerank
    assert (True, 5000) == (again.enabled, again.budget_ms)
    assert ("auto", "numpy") == (config.provider.provider, config.vector_engine)
    assert {} == config.origins


@pytest.mark.parametrize(("tokens", "overlap"), [(100, 100), (100, 200), (64, 80)])
def test_an_overlap_of_a_whole_chunk_is_refused(tmp_path: Path, tokens: int, overlap: int) -> None:
    with pytest.raises(ConfigError, match=f"`chunk.overlap` is {overlap}, .* {tokens}") as raised:
        load(tmp_path, user=f"chunk.tokens = {tokens}\nchunk.overlap = {overlap}\n")

    assert f"for example {tokens // 5}." in raised.value.action


def test_later_layers_win_and_are_remembered(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        project="max_results = 1\nmin_score = 0.1\ntext_weight = 0.1\nvector_weight = 0.1",
        user="max_results = 2\nmin_score = 0.2\ntext_weight = 0.2",
        environ={"RECOLLECT_MAX_RESULTS": "3", "RECOLLECT_MIN_SCORE": "0.3"},
        max_results=4,
    )

    fusion = config.search.rank.fusion
    assert (4, 0.3, 0.2, 0.1) == (
        config.search.max_results,
        fusion.min_score,
        fusion.text_weight,
        fusion.vector_weight,
    )
    assert {
        "max_results": "arguments",
        "min_score": "environment",
        "text_weight": str(tmp_path / "user.toml"),
        "vector_weight": str(tmp_path / "recollect.toml"),
    } == dict(config.origins)


def test_openclaws_spelling_is_understood(tmp_path: Path) -> None:
    config = load(tmp_path, user="[temporalDecay]\nenabled = true\nhalfLifeDays = 7")

    assert (True, 7.0) == (
        config.search.rank.decay.enabled,
        config.search.rank.decay.half_life_days,
    )


@pytest.mark.parametrize(
    ("project", "named"),
    [
        ('provider = "none"', "provider"),
        ('[local]\nmodel_path = "/tmp"', "local.model_path"),
        ('extra_paths = ["../other"]', "../other"),
        ('extra_paths = ["/etc"]', "/etc"),
        ('extraPaths = ["~/.ssh"]', "~/.ssh"),
    ],
)
def test_a_workspaces_own_file_may_not_set_what_is_not_safe(
    tmp_path: Path, project: str, named: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, project=project)

    assert named in raised.value.message
    assert "your own file" in raised.value.action


@pytest.mark.parametrize(
    ("user", "hint"),
    [
        ("max_result = 3", "Did you mean `max_results`?"),
        ("max_results = 0", "a whole number from 1 to 1000"),
        ('max_results = "many"', "Give"),
        ('fusion = "magic"', "one of calibrated, weighted, rrf"),
        ("min_score = 2", "a number from 0 to 1"),
        ("mmr.enabled = 3", "true or false"),
        ("extra_paths = 3", "a list of paths"),
        ("max_results = ", "Correct the file"),
    ],
)
def test_a_wrong_setting_says_what_would_be_right(tmp_path: Path, user: str, hint: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, user=user)

    assert hint in raised.value.action
    assert str(tmp_path / "user.toml") in raised.value.message


def test_every_default_is_a_value_the_setting_accepts() -> None:
    for setting in SETTINGS.values():
        given = list(setting.default) if isinstance(setting.default, tuple) else setting.default

        assert setting.default == setting.parse(given), setting.key


def test_the_workspace_is_named_or_found_upwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    from_environment = {"RECOLLECT_WORKSPACE": "/"}
    assert inner == find_workspace(environ={}).folder

    (tmp_path / "MEMORY.md").touch()
    assert tmp_path == find_workspace(environ={}).folder
    assert inner == find_workspace(inner, environ=from_environment).folder
    assert Path("/") == find_workspace(environ=from_environment).folder


def test_openclaws_variable_names_the_workspace_after_ours(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.mkdir()
    theirs.mkdir()
    environ = {"OPENCLAW_WORKSPACE": str(theirs)}

    assert theirs == find_workspace(environ=environ).folder
    assert ours == find_workspace(environ={**environ, "RECOLLECT_WORKSPACE": str(ours)}).folder
    assert theirs == find_workspace(environ={**environ, "RECOLLECT_WORKSPACE": ""}).folder


def test_agents_are_stable_and_distinct(tmp_path: Path) -> None:
    (tmp_path / "x" / "notes").mkdir(parents=True)
    (tmp_path / "y" / "notes").mkdir(parents=True)
    first = agent_of(tmp_path / "x" / "notes", named=None)

    assert first == agent_of(tmp_path / "x" / ".." / "x" / "notes", named=None)
    assert first != agent_of(tmp_path / "y" / "notes", named=None)
    assert first.startswith("notes-")


@pytest.mark.parametrize("name", ["../evil", "", "a/b", "a b", ".hidden", "x" * 65])
def test_an_agent_id_that_is_no_file_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError):
        agent_of(tmp_path, named=name)


def test_places_follow_the_environment(tmp_path: Path) -> None:
    environ = {
        "HOME": "/home/u",
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "RECOLLECT_HOME": str(tmp_path / "home"),
    }

    places = Places.of(environ)

    assert tmp_path / "home" / "memory" / "wren.sqlite" == places.index_of("wren")
    assert tmp_path / "config" / "recollect" / "config.toml" == places.settings


def test_media_are_off_and_only_the_users_settings_turn_them_on(tmp_path: Path) -> None:
    user = """
    provider = "gemini"
    model = "models/gemini-embedding-2"
    [multimodal]
    enabled = true
    """

    off = load(tmp_path).ingest
    on = load(tmp_path, user=user).ingest

    assert (False, True) == (off.walk.media, on.walk.media)
