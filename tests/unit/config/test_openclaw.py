"""What OpenClaw's settings become: both spellings of its file, each agent, each provider."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from recollect.config.edit import edit_settings
from recollect.config.load import load_config
from recollect.config.openclaw import translate
from recollect.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from recollect.config.openclaw import Translation

    Import = Callable[..., Translation]

SECRET = "sk-live-0123456789"  # noqa: S105 - no one's


@pytest.fixture
def translated(tmp_path: Path) -> Import:
    def run(tree: object, *, agent: str | None = None) -> Translation:
        file = tmp_path / "openclaw.json"
        text = tree if isinstance(tree, str) else json.dumps(tree)
        file.write_text(text, encoding="utf-8")
        return translate(file, agent=agent, environ={"HOME": str(tmp_path / "home")})

    return run


def search(**keys: object) -> dict[str, object]:
    return {"memory": {"search": keys}}


def left_out(found: Translation) -> set[str]:
    return {key.rpartition("search.")[2] for key in found.not_carried}


OLDER = """
// written for 2026.4
{
  agents: {
    defaults: {
      workspace: '~/clawd',
      memorySearch: {
        provider: "gemini", model: 'gemini-embedding-001',
        remote: {apiKey: '${TEAM_GEMINI}', batch: {enabled: true, wait: false,},},
        outputDimensionality: 768,
        extraPaths: ["../team", {path: '/srv/notes/', pattern: '**/*.md'}],
        sources: ['memory', 'sessions'],
        experimental: {sessionMemory: true},
        query: {
          maxResults: 8,
          minScore: 0.4,
          hybrid: {
            enabled: true, vectorWeight: 0.6, textWeight: .4, candidateMultiplier: 6,
            mmr: {enabled: true, lambda: 0.8},
            temporalDecay: {enabled: true, halfLifeDays: 14},
          },
        },
        chunking: {tokens: 300, overlap: 60},
        sync: {onSearch: false, watchDebounceMs: 2000, intervalMinutes: 5},
        cache: {enabled: false},
      },
    },
  },
}
"""


def test_the_older_spelling_is_carried_over_but_for_what_has_no_equivalent(
    translated: Import,
) -> None:
    found = translated(OLDER)

    assert {
        "provider": "gemini",
        "model": "gemini-embedding-001",
        "remote.api_key": "env:TEAM_GEMINI",
        "remote.batch": True,
        "dimensions": 768,
        "extra_paths": ["../team", "/srv/notes/**/*.md"],
        "sources": ["memory", "sessions"],
        "max_results": 8,
        "candidate_multiplier": 6,
        "vector_weight": 0.6,
        "text_weight": 0.4,
        "mmr.enabled": True,
        "mmr.lambda": 0.8,
        "temporal_decay.enabled": True,
        "temporal_decay.half_life_days": 14.0,
        "chunk.tokens": 300,
        "chunk.overlap": 60,
        "sync.on_search": False,
        "watch.debounce_ms": 2000,
    } == found.changes
    assert {
        "agents.defaults.memorySearch.remote.batch.wait",
        "agents.defaults.memorySearch.query.hybrid.enabled",
        "agents.defaults.memorySearch.query.minScore",
        "agents.defaults.memorySearch.sync.intervalMinutes",
        "agents.defaults.memorySearch.cache.enabled",
    } == set(found.not_carried)


def test_the_newer_spelling_means_the_same_and_wins(translated: Import) -> None:
    older = {"agents": {"defaults": {"memorySearch": {"provider": "voyage", "model": "a"}}}}

    found = translated({**older, **search(model="b", query={"maxResults": 9})})

    assert {"provider": "voyage", "model": "b", "max_results": 9} == found.changes


@pytest.mark.parametrize(
    "agents",
    [
        {"entries": {"Work": {"memory": {"search": {"extraPaths": ["c"], "model": "m"}}}}},
        {"entries": {"work": {"memorySearch": {"extraPaths": ["c"], "model": "m"}}}},
        {
            "list": [
                {"id": "x"},
                {"id": "work", "memorySearch": {"extraPaths": ["c"], "model": "m"}},
            ]
        },
    ],
)
def test_an_agents_own_keys_win_and_its_paths_are_added(
    translated: Import, agents: dict[str, object]
) -> None:
    tree = {**search(provider="openai", model="a", extraPaths=["b"]), "agents": agents}

    found = translated(tree, agent="WORK")

    assert ("work", "m", ["b", "c"]) == (
        found.agent,
        found.changes["model"],
        found.changes["extra_paths"],
    )


def test_without_a_name_the_default_agent_is_taken_and_others_are_mentioned(
    translated: Import,
) -> None:
    agents = [
        {"id": "a", "memorySearch": {"query": {"maxResults": 1}}},
        {"id": "b", "default": True, "memorySearch": {"query": {"maxResults": 2}}},
    ]

    found = translated({"agents": {"list": agents}})
    unmarked = translated({"agents": {"list": [{"id": "z"}, {"id": "main"}]}})

    assert ("b", {"max_results": 2}, ("a", "b")) == (found.agent, found.changes, found.agents)
    assert "The agent a has its own settings; `--agent a` imports them." in found.remarks
    assert "main" == unmarked.agent


def test_an_agent_that_is_not_there_is_an_error_that_names_those_that_are(
    translated: Import,
) -> None:
    with pytest.raises(ConfigError) as caught:
        translated({"agents": {"entries": {"main": {}, "work": {}}}}, agent="wrk")

    assert "Its agents are main, work." == caught.value.action


@pytest.mark.parametrize(
    ("agents", "agent", "expected"),
    [
        ({}, None, "home/.openclaw/workspace"),
        ({"defaults": {"workspace": "~/clawd"}}, None, "home/clawd"),
        ({"entries": {"main": {}, "w": {"workspace": "~/w"}}}, "w", "home/w"),
        ({"entries": {"main": {}, "w": {}}}, "w", "home/.openclaw/workspace-w"),
    ],
)
def test_the_workspace_is_the_agents(
    translated: Import, tmp_path: Path, agents: dict[str, object], agent: str | None, expected: str
) -> None:
    assert tmp_path / expected == translated({"agents": agents}, agent=agent).workspace


@pytest.mark.parametrize(
    "secret",
    [
        "${TEAM_KEY}",
        "$TEAM_KEY",
        {"source": "env", "provider": "default", "id": "TEAM_KEY"},
        "secretref-env:TEAM_KEY",
    ],
)
def test_a_key_in_a_variable_is_referred_to(translated: Import, secret: object) -> None:
    found = translated(search(provider="voyage", remote={"apiKey": secret}))

    assert "env:TEAM_KEY" == found.changes["remote.api_key"]


@pytest.mark.parametrize(
    ("keys", "advice"),
    [
        ({"provider": "openai"}, "into the variable OPENAI_API_KEY "),
        ({}, "into the variable OPENAI_API_KEY "),
        ({"provider": "mistral"}, "into the variable MISTRAL_API_KEY "),
        (
            {"provider": "openai-compatible", "baseUrl": "https://gw.example/v1"},
            'set `remote.api_key` to "env:OPENAI_COMPATIBLE_API_KEY"',
        ),
    ],
)
@pytest.mark.parametrize(
    "secret",
    [
        SECRET,
        {"source": "exec", "provider": "vault", "id": SECRET},
        {"source": "env", "provider": "default", "id": SECRET},
        f" {SECRET}${{A}}",
    ],
)
def test_a_literal_key_is_never_copied_or_shown(
    translated: Import, keys: dict[str, str], advice: str, secret: object
) -> None:
    provider = {"provider": keys["provider"]} if "provider" in keys else {}
    remote = {"apiKey": secret, "headers": {"authorization": SECRET}}
    address = {"baseUrl": keys["baseUrl"]} if "baseUrl" in keys else {}

    found = translated(search(**provider, remote={**remote, **address}))

    assert any(advice in remark for remark in found.remarks)
    assert {"remote.apiKey", "remote.headers"} <= left_out(found)
    assert "remote.api_key" not in found.changes
    assert SECRET not in repr(found)


@pytest.mark.parametrize(
    "address",
    [
        f"https://user:{SECRET}@gw.example/v1",
        f"https://gw.example/v1?key={SECRET}",
        "https://${HOST}/v1",
        f"ftp://{SECRET}/",
    ],
)
def test_an_address_that_may_hold_a_key_is_not_copied_or_shown(
    translated: Import, address: str
) -> None:
    found = translated(search(provider="openai", remote={"baseUrl": address}))

    assert {"remote.baseUrl"} == left_out(found)
    assert SECRET not in repr(found)


def test_no_provider_stays_ours_unless_something_belongs_to_it(translated: Import) -> None:
    untouched = translated(search(query={"maxResults": 3}))
    bound = translated(search(model="text-embedding-3-large"))
    auto = translated(search(provider="auto", outputDimensionality=256))

    single = translated(search(provider="auto", fallback="gemini"))

    assert "provider" not in untouched.changes
    assert {"provider": "auto", "fallback": ["gemini"]} == single.changes
    assert "config set provider openai" in untouched.remarks[0]
    assert {"provider": "openai", "model": "text-embedding-3-large"} == bound.changes
    assert {"provider": "openai", "dimensions": 256} == auto.changes
    assert not any("set provider" in remark for remark in bound.remarks)


@pytest.mark.parametrize("provider", ["bedrock", "github-copilot", "nobody", "${WHO}"])
def test_a_provider_that_is_not_here_takes_what_belongs_to_it_along(
    translated: Import, provider: str
) -> None:
    keys = {"model": "m", "outputDimensionality": 9, "remote": {"baseUrl": "https://x.example"}}

    found = translated(search(provider=provider, query={"maxResults": 3}, **keys))

    assert {"max_results": 3} == found.changes
    assert {"provider", "model", "outputDimensionality", "remote.baseUrl"} == left_out(found)


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (
            {
                **search(provider="ollama", model="ollama/qwen3-embedding:0.6b"),
                "models": {"providers": {"ollama": {"baseUrl": "http://gpu.local:11434/v1/"}}},
            },
            {
                "provider": "ollama",
                "model": "qwen3-embedding:0.6b",
                "remote.base_url": "http://gpu.local:11434",
            },
        ),
        (
            search(provider="openai-compatible", remote={"baseUrl": "https://team.example/v1"}),
            {"provider": "openai", "remote.base_url": "https://team.example/v1"},
        ),
        (
            {
                **search(provider="gemini", remote={"apiKey": "${A}"}),
                "models": {"providers": {"google": {"apiKey": "${B}"}}},
            },
            {"provider": "gemini", "remote.api_key": "env:A"},
        ),
        (search(provider="none", model="m"), {"provider": "none"}),
        (search(provider="openai-compatible", model="m"), {}),
    ],
)
def test_providers_of_other_names_are_mapped(
    translated: Import, tree: dict[str, object], expected: dict[str, object]
) -> None:
    assert expected == translated(tree).changes


def test_input_types_are_for_questions_and_notes(translated: Import) -> None:
    keys = {"queryInputType": "query", "documentInputType": "text"}

    here = translated(search(provider="openai", **keys))
    elsewhere = translated(search(provider="gemini", **keys))

    assert ("query", "text") == (
        here.changes["remote.query_input_type"],
        here.changes["remote.document_input_type"],
    )
    assert keys.keys() == left_out(elsewhere)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("~/models/a.gguf", "~/models/a.gguf"),
        ("/models/a.gguf", "/models/a.gguf"),
        ("hf:org/a.gguf", None),
        ("https://x.example/a.gguf", None),
        ("a.gguf", None),
    ],
)
def test_a_models_file_is_taken_by_its_whole_path(
    translated: Import, path: str, expected: str | None
) -> None:
    found = translated(search(provider="local", local={"modelPath": path}))

    assert expected == found.changes.get("local.model_path")
    assert (expected is None) == ("local.modelPath" in left_out(found))


@pytest.mark.parametrize(
    ("keys", "sources"),
    [
        ({"sources": ["memory"]}, ["memory"]),
        ({"sources": ["sessions"]}, ["memory"]),
        ({"sources": ["sessions"], "experimental": {"sessionMemory": True}}, ["sessions"]),
        ({"experimental": {"sessionMemory": True}}, None),
        ({"rememberAcrossConversations": True}, None),
    ],
)
def test_transcripts_are_searched_only_where_openclaw_would(
    translated: Import, keys: dict[str, object], sources: list[str] | None
) -> None:
    assert sources == translated(search(**keys)).changes.get("sources")


def test_a_floor_is_left_out_because_its_scale_is_another(translated: Import) -> None:
    found = translated(search(query={"minScore": 0.35}))

    assert ({}, {"query.minScore"}) == (found.changes, left_out(found))


@pytest.mark.parametrize(
    ("keys", "name"),
    [
        ({"query": {"maxResult": 3}}, "query.maxResult"),
        ({"query": {"maxResults": "many"}}, "query.maxResults"),
        ({"query": {"maxResults": 5000}}, "query.maxResults"),
        ({"chunking": {"tokens": 1}}, "chunking.tokens"),
        ({"brandNew": {"thing": True}}, "brandNew.thing"),
        ({"extraPaths": ["${HOME}/notes"]}, "extraPaths"),
        ({"enabled": False}, "enabled"),
        ({"fallback": "bedrock"}, "fallback"),
        ({"multimodal": {"enabled": True}}, "multimodal.enabled"),
    ],
)
def test_what_cannot_be_carried_over_is_named(
    translated: Import, keys: dict[str, object], name: str
) -> None:
    found = translated(search(**keys))

    assert ({}, {name}) == (found.changes, left_out(found))


def test_a_fallback_is_one_here(translated: Import) -> None:
    found = translated(search(provider="openai", fallback="gemini"))

    assert {"provider": "openai", "fallback": ["gemini"]} == found.changes


@pytest.mark.parametrize("text", [OLDER, json.dumps(search(provider="openai", model="m"))])
def test_what_is_taken_over_can_be_loaded(translated: Import, tmp_path: Path, text: str) -> None:
    user_file = tmp_path / "config.toml"
    changes = translated(text).changes
    user_file.write_text(edit_settings("", changes), encoding="utf-8")

    config = load_config(tmp_path, user_file=user_file, environ={}, arguments={})

    assert set(changes) == set(config.origins)
