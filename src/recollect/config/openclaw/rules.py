"""What each key of OpenClaw becomes here, one row a key.

Keys that only make sense together are sorted in `provider` and `sources`.
"""

from __future__ import annotations

import difflib
import math
import re
from typing import TYPE_CHECKING

from recollect.config.openclaw.provider import BOUND
from recollect.config.schema import canonical

if TYPE_CHECKING:
    from collections.abc import Callable

    from recollect.config.openclaw.sorting import Found, Sorting

    Rule = Callable[[Found, Sorting], object]

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
"""Keys that other modules of this folder sort."""
_MINUTES = {"ms": 1 / 60_000, "s": 1 / 60, "m": 1.0, "h": 60.0, "d": 1440.0}
_WHOLE_PATH = re.compile(r"[~/\\]|[A-Za-z]:[/\\]")
_URL = re.compile(r"[A-Za-z]{2,}:")
_WITH_WEIGHTED = "it counts with `fusion` `weighted` or `rrf`; `calibrated` needs no weights"
_BY_ITSELF = "Recollect decides it by itself from what the provider answers."
NOT_QMD = "It does nothing unless memory.backend is qmd."


def _as(setting: str, how: str | None = None) -> Rule:
    return lambda found, sorting: sorting.carry(found, setting, found.value, how=how)


def _no(reason: str) -> Rule:
    return lambda found, sorting: sorting.refuse(found, reason)


def _done(how: str) -> Rule:
    return lambda found, sorting: sorting.settle(found, how)


def _to(setting: str, value: object, how: str) -> Rule:
    return lambda found, sorting: sorting.carry(found, setting, value, how=how)


def _if(value: object, then: Rule, otherwise: Rule) -> Rule:
    # Not `==` alone: in Python True equals 1.
    return lambda found, sorting: (
        then if type(found.value) is type(value) and found.value == value else otherwise
    )(found, sorting)


def _path(setting: str, how: str | None = None) -> Rule:
    def rule(found: Found, sorting: Sorting) -> object:
        path = str(found.value).strip()
        if _WHOLE_PATH.match(path):
            return sorting.carry(found, setting, path, how=how)
        if _URL.match(path):
            return sorting.refuse(found, f"Fetch the file, and set `{setting}` to where it is.")
        return sorting.refuse(found, "It depends on where OpenClaw runs: set the whole path.")

    return rule


def _min_score(found: Found, sorting: Sorting) -> None:
    if found.value == 0 and not isinstance(found.value, bool):
        sorting.carry(found, "min_score", 0)  # no floor is the same on every scale
        return
    sorting.refuse(
        found,
        "It is a point on the scale of OpenClaw's blend; `calibrated`, the default here, has "
        "another scale and a floor of its own. Set it as `min_score` together with `fusion` "
        "`weighted`, whose scale is that blend's.",
    )


def _interval(found: Found, sorting: Sorting) -> None:
    parts = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?\s*", str(found.value))
    if parts is None:
        sorting.refuse(found, "It is not a time such as 5m.")
        return
    minutes = math.ceil(float(parts[1]) * _MINUTES[parts[2] or "m"])
    sorting.carry(found, "sync.interval_minutes", minutes, how="in whole minutes, by `watch`")


RULES: dict[str, Rule] = {
    "enabled": _if(
        False,
        _no("Recollect runs only when it is called: do not install it for this agent."),
        _done("it is always on"),
    ),
    "rememberAcrossConversations": _if(
        True,
        _no("`recollect config set sources memory,sessions` searches transcripts."),
        _done("transcripts are searched only when `sources` says so"),
    ),
    "fallback": _if(
        "none",
        _done("a provider that fails is never exchanged for another"),
        _no(
            "Another model's vectors cannot be compared: search goes on by keyword and says so "
            "until the provider is back."
        ),
    ),
    "remote.headers": _no(
        "Only the key is sent: put a proxy that adds them in front, at `remote.base_url`."
    ),
    "remote.batch.enabled": _as("remote.batch"),
    "remote.batch.wait": _no("`recollect index` waits, and a later run collects what is ready."),
    "remote.batch.concurrency": _no(_BY_ITSELF),
    "remote.batch.pollIntervalMs": _no(_BY_ITSELF),
    "remote.batch.timeoutMinutes": _no("A batch has the vendor's day; stop `index` at any time."),
    "remote.nonBatchConcurrency": _no(
        "Four requests are under way at once; `remote.requests_per_minute` holds them back."
    ),
    "local.modelPath": _path("local.model_path", "a GGUF file needs the extra `gguf`"),
    "local.modelCacheDir": _path("local.model_cache"),
    "local.contextSize": _no("A text longer than the model's input is embedded in parts."),
    "local.gpu": _no(_BY_ITSELF),
    "local.gpuLayers": _no(_BY_ITSELF),
    "local.flashAttention": _no(_BY_ITSELF),
    "query.maxResults": _as("max_results"),
    "query.minScore": _min_score,
    "query.hybrid.enabled": _if(
        False,
        _no("Both legs always run, and one that is silent costs a hit nothing."),
        _done("search is always hybrid"),
    ),
    "query.hybrid.vectorWeight": _as("vector_weight", _WITH_WEIGHTED),
    "query.hybrid.textWeight": _as("text_weight", _WITH_WEIGHTED),
    "query.hybrid.candidateMultiplier": _as("candidate_multiplier"),
    "query.hybrid.mmr.enabled": _as("mmr.enabled"),
    "query.hybrid.mmr.lambda": _as("mmr.lambda"),
    "query.hybrid.temporalDecay.enabled": _as("temporal_decay.enabled"),
    "query.hybrid.temporalDecay.halfLifeDays": _as("temporal_decay.half_life_days"),
    "chunking.tokens": _as("chunk.tokens"),
    "chunking.overlap": _as("chunk.overlap"),
    "sync.onSearch": _as("sync.on_search"),
    "sync.onSessionStart": _no("A search brings the index up to date; `recollect watch` does too."),
    "sync.watch": _no("`recollect watch` keeps the index fresh while it runs."),
    "sync.watchDebounceMs": _as("watch.debounce_ms"),
    "sync.intervalMinutes": _as("sync.interval_minutes"),
    "sync.embeddingBatchTimeoutSeconds": _as("remote.timeout_seconds", "it is for one request"),
    "sync.sessions.deltaBytes": _no("A transcript is taken in whenever it has changed."),
    "sync.sessions.deltaMessages": _no("A transcript is taken in whenever it has changed."),
    "sync.sessions.postCompactionForce": _no("A transcript is taken in whenever it has changed."),
    "cache.enabled": _if(
        False,
        _to("cache.max_megabytes", 0, "a cache of no size is none"),
        _done("there is a cache unless `cache.max_megabytes` is 0"),
    ),
    "cache.maxEntries": _no("The cache is bounded by size: set `cache.max_megabytes`."),
    "store.driver": _done("the index is SQLite"),
    "store.path": _no("The index is below RECOLLECT_HOME; `recollect config path` shows it."),
    "store.fts.tokenizer": _no("One tokeniser finds words of every script."),
    "store.vector.enabled": _if(
        False,
        _to("vector.engine", "numpy", "cosine without sqlite-vec is the engine `numpy`"),
        _done("`numpy` is as exact; `vector.engine` `sqlite-vec` needs the extra `vec`"),
    ),
    "store.vector.extensionPath": _no("sqlite-vec comes with the extra `vec`."),
}
"""By the name below memory search. `multimodal` is missing: see `sort_key`."""

_QMD_COMMAND = _no("No other program searches for Recollect.")
BESIDE: dict[str, Rule] = {
    "memory.citations": _done("every hit has its citation; the agent shows it or not"),
    "memory.backend": _if(
        "qmd",
        _no("Recollect is the search itself; what QMD was told is mapped where it can be."),
        _done("Recollect is the search itself"),
    ),
    "memory.qmd.command": _QMD_COMMAND,
    "memory.qmd.searchMode": _no(
        "Search is by keyword and meaning together; `provider` `none` leaves keyword alone."
    ),
    "memory.qmd.rerank": _no("`rerank.enabled` lets another model read the best hits again."),
    "memory.qmd.includeDefaultMemory": _if(
        False,
        _no("MEMORY.md and memory/ always belong: `exclude` leaves files out."),
        _done("MEMORY.md and memory/ always belong"),
    ),
    "memory.qmd.sessions.retentionDays": _no("Transcripts are searched for as long as they exist."),
    "memory.qmd.sessions.exportDir": _no("Transcripts are read where they are."),
    "memory.qmd.update.interval": _interval,
    "memory.qmd.update.debounceMs": _as("watch.debounce_ms"),
    "memory.qmd.update.onBoot": _no("A search brings the index up to date."),
    "memory.qmd.update.waitForBootSync": _no("A search brings the index up to date."),
    "memory.qmd.update.embedInterval": _no("What changed is embedded in the same run."),
    "memory.qmd.update.commandTimeoutMs": _QMD_COMMAND,
    "memory.qmd.limits.maxResults": _as("max_results"),
    "memory.qmd.limits.maxSnippetChars": _no("A snippet is at most 700 characters long."),
    "memory.qmd.limits.maxInjectedChars": _no("Ask for fewer hits with `max_results`."),
    "memory.qmd.limits.timeoutMs": _no("A search has no time limit to be cut off by."),
}
"""By the full name, for keys beside memory search; all of `memory.qmd` counts only with QMD."""
QMD_SESSIONS = "memory.qmd.sessions.enabled"
QMD_TOGETHER = ("memory.qmd.paths", QMD_SESSIONS)
"""Of these, those that `sources` sorts."""

ELSEWHERE = {
    ("agents", "defaults", "compaction", "memoryFlush"): "What is written to memory is up to "
    "OpenClaw; Recollect finds it.",
    ("agents", "defaults", "contextLimits", "memoryGetMaxChars"): "`recollect get --lines` says "
    "how much is read.",
    ("plugins", "entries", "memory-core", "config", "memoryPolicy"): "No transcript is left out "
    "by its channel.",
    ("plugins", "entries", "memory-core", "config", "dreaming"): "Recollect never rewrites memory.",
    ("plugins", "entries", "active-memory", "config"): "Recollect asks no model before a turn.",
    ("hooks", "internal", "entries", "session-memory"): "What the hook writes to memory/ is found "
    "like every note.",
}
"""Tables about memory that are not about searching it."""


def sort_key(found: Found, *, sorting: Sorting) -> None:
    """Sort one key of memory search."""
    if rule := RULES.get(found.name):
        rule(found, sorting)
    elif found.name.startswith("multimodal."):
        sorting.refuse(
            found,
            "Images and recordings are sent to a server only when you say so here: set "
            f'`{canonical(found.name)}` beside provider = "gemini" and model = '
            '"gemini-embedding-2".',
        )
    else:
        _unknown(found, known=(*RULES, *TOGETHER), sorting=sorting)


def sort_beside(found: Found, *, uses_qmd: bool, sorting: Sorting) -> None:
    """Sort one key of `memory` that is not of memory search."""
    if is_qmd(found) and not uses_qmd:
        sorting.refuse(found, NOT_QMD)
    elif found.name.startswith("qmd.scope."):
        sorting.refuse(found, "Who may ask is decided by whoever starts Recollect.")
    elif rule := BESIDE.get(found.key):
        rule(found, sorting)
    else:
        _unknown(found, known=(), sorting=sorting)


def is_qmd(found: Found) -> bool:
    """Tell whether a key is about QMD, the other engine that OpenClaw had."""
    return found.name.startswith("qmd.")


def _unknown(found: Found, *, known: tuple[str, ...], sorting: Sorting) -> None:
    near = difflib.get_close_matches(found.name, known, n=1, cutoff=0.8)
    hint = f" Did you mean {near[0]}?" if near else ""
    sorting.refuse(found, f"OpenClaw has no such key that Recollect knows of.{hint}")
