"""Maps every other key of OpenClaw's memory settings, one row per key."""

from __future__ import annotations

import difflib
import math
import re
from typing import TYPE_CHECKING

from recollect.config.openclaw.provider import BOUND
from recollect.config.schema import canonical

if TYPE_CHECKING:
    from collections.abc import Callable

    from recollect.config.openclaw.mapper import KeyMapper
    from recollect.config.openclaw.read import OpenClawKey

    Rule = Callable[[OpenClawKey, KeyMapper], object]

TOGETHER = frozenset(
    {
        *BOUND,
        "provider",
        "sources",
        "experimental.sessionMemory",
        "extraPaths",
        "qmd.extraCollections",
    }
)
"""Keys that are mapped with the provider, or with what is indexed."""
_MINUTES = {"ms": 1 / 60_000, "s": 1 / 60, "m": 1.0, "h": 60.0, "d": 1440.0}
_WHOLE_PATH = re.compile(r"[~/\\]|[A-Za-z]:[/\\]")
_URL = re.compile(r"[A-Za-z]{2,}:")
_WITH_WEIGHTED = "used with `fusion` `weighted` or `rrf`; `calibrated` needs no weights"
NOT_QMD = "It does nothing unless memory.backend is qmd."


def _as(setting: str, how: str | None = None) -> Rule:
    return lambda key, mapper: mapper.map_to(key, setting, key.value, how=how)


def _to(setting: str, value: object, how: str) -> Rule:
    return lambda key, mapper: mapper.map_to(key, setting, value, how=how)


def _no(reason: str) -> Rule:
    return lambda key, mapper: mapper.unsupported(key, reason)


def _same(how: str) -> Rule:
    return lambda key, mapper: mapper.not_needed(key, how)


def _if(value: object, then: Rule, otherwise: Rule) -> Rule:
    # Not `==` alone: in Python True equals 1.
    return lambda key, mapper: (
        then if type(key.value) is type(value) and key.value == value else otherwise
    )(key, mapper)


def _path(setting: str, how: str | None = None) -> Rule:
    def rule(key: OpenClawKey, mapper: KeyMapper) -> object:
        path = str(key.value).strip()
        if _WHOLE_PATH.match(path):
            return mapper.map_to(key, setting, path, how=how)
        if _URL.match(path):
            return mapper.unsupported(key, f"Download the file and set `{setting}` to its path.")
        return mapper.unsupported(key, "It depends on where OpenClaw runs: set the whole path.")

    return rule


def _min_score(key: OpenClawKey, mapper: KeyMapper) -> None:
    if key.value == 0 and not isinstance(key.value, bool):
        mapper.map_to(key, "min_score", 0)  # no floor is the same on every scale
        return
    mapper.unsupported(
        key,
        "It is on the scale of OpenClaw's blend; `calibrated`, the default here, has another "
        "scale and its own floor. Set `min_score` together with `fusion` `weighted`, which is "
        "that blend.",
    )


def _interval(key: OpenClawKey, mapper: KeyMapper) -> None:
    parts = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?\s*", str(key.value))
    if parts is None:
        mapper.unsupported(key, "It is not a duration such as 5m.")
        return
    minutes = math.ceil(float(parts[1]) * _MINUTES[parts[2] or "m"])
    mapper.map_to(key, "sync.interval_minutes", minutes, how="in whole minutes, by `watch`")


_AUTOMATIC = _no("Recollect decides this from what the provider answers.")
_WHEN_CHANGED = _no("A transcript is indexed whenever it has changed.")
_ON_SEARCH = _no("A search brings the index up to date.")
_NO_PROGRAM = _no("Recollect does not call another program to search.")
RULES: dict[str, Rule] = {
    "enabled": _if(
        False,
        _no("Recollect runs only when it is called: do not install it for this agent."),
        _same("it is always on"),
    ),
    "rememberAcrossConversations": _if(
        True,
        _no("`recollect config set sources memory,sessions` searches transcripts."),
        _same("transcripts are searched only if `sources` includes them"),
    ),
    "fallback": _if(
        "none",
        _same("without `fallback` a provider that fails is not replaced by another"),
        lambda key, mapper: mapper.map_to(
            key,
            "fallback",
            [key.value],
            how="tried if the provider fails on an index without vectors; an index that has "
            "vectors keeps their provider",
        ),
    ),
    "remote.headers": _no(
        "Only the key is sent: set `remote.base_url` to a proxy that adds the headers."
    ),
    "remote.batch.enabled": _as("remote.batch"),
    "remote.batch.wait": _no("`recollect index` waits, and a later run collects what is ready."),
    "remote.batch.concurrency": _AUTOMATIC,
    "remote.batch.pollIntervalMs": _AUTOMATIC,
    "remote.batch.timeoutMinutes": _no(
        "A batch may take the vendor a day; you can stop `index` at any time."
    ),
    "remote.nonBatchConcurrency": _no(
        "Four requests run at once; `remote.requests_per_minute` slows them down."
    ),
    "local.modelPath": _path("local.model_path", "a GGUF file needs the extra `gguf`"),
    "local.modelCacheDir": _path("local.model_cache"),
    "local.contextSize": _no("A text longer than the model's input is embedded in parts."),
    "local.gpu": _AUTOMATIC,
    "local.gpuLayers": _AUTOMATIC,
    "local.flashAttention": _AUTOMATIC,
    "query.maxResults": _as("max_results"),
    "query.minScore": _min_score,
    "query.hybrid.enabled": _if(
        False,
        _no("Both legs always run, and a leg that finds nothing never lowers a score."),
        _same("search is always hybrid"),
    ),
    "query.hybrid.vectorWeight": _as("vector_weight", _WITH_WEIGHTED),
    "query.hybrid.textWeight": _as("text_weight", _WITH_WEIGHTED),
    "query.hybrid.candidateMultiplier": _as("candidate_multiplier"),
    "query.hybrid.mmr.enabled": _as("mmr.enabled"),
    "query.hybrid.mmr.lambda": _as("mmr.lambda"),
    "query.hybrid.temporalDecay.enabled": _if(
        True,
        _as(
            "temporal_decay.enabled",
            "age leaves 0.4 of a score; with `temporal_decay.floor` 0 it leaves nothing, as there",
        ),
        _as("temporal_decay.enabled"),
    ),
    "query.hybrid.temporalDecay.halfLifeDays": _as("temporal_decay.half_life_days"),
    "chunking.tokens": _as("chunk.tokens"),
    "chunking.overlap": _as("chunk.overlap"),
    "sync.onSearch": _as("sync.on_search"),
    "sync.onSessionStart": _no("A search and `recollect watch` bring the index up to date."),
    "sync.watch": _no("`recollect watch` keeps the index fresh while it runs."),
    "sync.watchDebounceMs": _as("watch.debounce_ms"),
    "sync.intervalMinutes": _as("sync.interval_minutes"),
    "sync.embeddingBatchTimeoutSeconds": _as("remote.timeout_seconds", "for each request"),
    "sync.sessions.deltaBytes": _WHEN_CHANGED,
    "sync.sessions.deltaMessages": _WHEN_CHANGED,
    "sync.sessions.postCompactionForce": _WHEN_CHANGED,
    "cache.enabled": _if(
        False,
        _to("cache.max_megabytes", 0, "size 0 turns the cache off"),
        _same("there is a cache unless `cache.max_megabytes` is 0"),
    ),
    "cache.maxEntries": _no("The cache is limited by size: set `cache.max_megabytes`."),
    "store.driver": _same("the index is SQLite"),
    "store.path": _no("The index is below RECOLLECT_HOME; `recollect config path` shows it."),
    "store.fts.tokenizer": _no("One tokeniser finds words of every script."),
    "store.vector.enabled": _if(
        False,
        _to("vector.engine", "numpy", "without sqlite-vec, `numpy` compares vectors"),
        _same("`numpy` is as exact; `vector.engine` `sqlite-vec` needs the extra `vec`"),
    ),
    "store.vector.extensionPath": _no("sqlite-vec comes with the extra `vec`."),
}
"""Rules by the name of a key below memory search. `multimodal` is missing: see `map_key`."""
BESIDE: dict[str, Rule] = {
    "memory.citations": _same("every hit has its citation; the agent may show it"),
    "memory.backend": _if(
        "qmd",
        _no("Recollect is the search itself; QMD's settings are mapped if possible."),
        _same("Recollect is the search itself"),
    ),
    "memory.qmd.command": _NO_PROGRAM,
    "memory.qmd.searchMode": _no(
        "Search is by keyword and meaning; `provider` `none` searches by keyword only."
    ),
    "memory.qmd.rerank": _no("`rerank.enabled` lets another model reread the best hits."),
    "memory.qmd.includeDefaultMemory": _if(
        False,
        _no("MEMORY.md and memory/ are always indexed: `exclude` leaves files out."),
        _same("MEMORY.md and memory/ are always indexed"),
    ),
    "memory.qmd.sessions.retentionDays": _no("Transcripts are searched as long as they exist."),
    "memory.qmd.sessions.exportDir": _no("Transcripts are read where they are."),
    "memory.qmd.update.interval": _interval,
    "memory.qmd.update.debounceMs": _as("watch.debounce_ms"),
    "memory.qmd.update.onBoot": _ON_SEARCH,
    "memory.qmd.update.waitForBootSync": _ON_SEARCH,
    "memory.qmd.update.embedInterval": _no("What changed is embedded in the same run."),
    "memory.qmd.update.commandTimeoutMs": _NO_PROGRAM,
    "memory.qmd.limits.maxResults": _as("max_results"),
    "memory.qmd.limits.maxSnippetChars": _no("A snippet is at most 700 characters long."),
    "memory.qmd.limits.maxInjectedChars": _no("Ask for fewer hits with `max_results`."),
    "memory.qmd.limits.timeoutMs": _no("A search has no time limit."),
}
"""Rules by the full key, for keys outside memory search; `memory.qmd` needs QMD."""
QMD_SESSIONS = "memory.qmd.sessions.enabled"
QMD_TOGETHER = ("memory.qmd.paths", QMD_SESSIONS)
"""Keys beside memory search that are mapped with `extraPaths` and `sources`."""
ELSEWHERE = {
    ("agents", "defaults", "compaction", "memoryFlush"): "OpenClaw decides what is written to "
    "memory; Recollect finds it.",
    ("agents", "defaults", "contextLimits", "memoryGetMaxChars"): "`recollect get --lines` limits "
    "what is read.",
    ("plugins", "entries", "memory-core", "config", "memoryPolicy"): "No transcript is left out "
    "because of its channel.",
    ("plugins", "entries", "memory-core", "config", "dreaming"): "Recollect never rewrites memory.",
    ("plugins", "entries", "active-memory", "config"): "Recollect asks no model before a turn.",
    ("hooks", "internal", "entries", "session-memory"): "What the hook writes to memory/ is found "
    "like every note.",
}
"""Tables about memory that are not about searching it."""


def map_key(key: OpenClawKey, mapper: KeyMapper) -> None:
    """Map one key of memory search."""
    if rule := RULES.get(key.name):
        rule(key, mapper)
    elif key.name.startswith("multimodal."):
        mapper.unsupported(
            key,
            "Images and recordings are sent to a server only if you set it here: "
            f'`{canonical(key.name)}`, with provider = "gemini" and model = "gemini-embedding-2".',
        )
    else:
        near = difflib.get_close_matches(key.name, (*RULES, *TOGETHER), n=1, cutoff=0.8)
        hint = f" Did you mean {near[0]}?" if near else ""
        mapper.unsupported(key, f"{_UNKNOWN}{hint}")


def map_beside(key: OpenClawKey, mapper: KeyMapper, *, uses_qmd: bool) -> None:
    """Map one key of `memory` that is not part of memory search."""
    if is_qmd(key) and not uses_qmd:
        mapper.unsupported(key, NOT_QMD)
    elif key.name.startswith("qmd.scope."):
        mapper.unsupported(key, "Access is decided when Recollect starts.")
    elif rule := BESIDE.get(key.path):
        rule(key, mapper)
    else:
        mapper.unsupported(key, _UNKNOWN)


_UNKNOWN = "Recollect does not know this key of OpenClaw."


def is_qmd(key: OpenClawKey) -> bool:
    """Return whether a key is about QMD, the other engine that OpenClaw had."""
    return key.name.startswith("qmd.")
