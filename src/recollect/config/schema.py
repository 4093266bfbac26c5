"""Defines every setting: Config is all Options together, and SETTINGS a walk over their fields."""

from __future__ import annotations

import re
from dataclasses import field, fields, is_dataclass
from typing import TYPE_CHECKING, TypeVar, cast

from recollect.errors import ConfigError
from recollect.facts.extract import ExtractOptions
from recollect.ingest.options import IngestOptions
from recollect.providers.options import ChatOptions, ProviderOptions
from recollect.records import dataclass
from recollect.search.options import SearchOptions, WordingOptions
from recollect.stores.pushed import MemoryLimits
from recollect.stores.registry import parse_address
from recollect.text.setting import (
    Setting,
    one_of,
    paths,
    setting,
    setting_of,
    some_of,
    switch,
    user_setting,
    whole,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from _typeshed import DataclassInstance

_MOST_SHOWN_CHARS = 200
"""Characters of a key or value in a message: a file may hold one of any length."""
_LIKE = 0.6  # below it, `nonsense` is like `chunk.tokens`
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """All options, and where each setting was set."""

    provider: ProviderOptions = field(default_factory=ProviderOptions)
    store: str = user_setting(
        "store",
        "file:",
        parse_address,
        "where the index is: `file:` in the home, `ram:` (lost when the process ends), or "
        "the address of a PostgreSQL database, without its password",
        secret=True,
    )
    cache_megabytes: int = user_setting(
        "cache.max_megabytes",
        512,
        whole(0, 1_000_000),
        "size of the vector cache that all agents of a home share; 0: no cache",
    )
    ingest: IngestOptions = field(default_factory=IngestOptions)
    sources: tuple[str, ...] = user_setting(
        "sources",
        ("memory",),
        some_of(("memory", "sessions", "agents")),
        "what is indexed and searched: memory, sessions, agents",
    )
    session_paths: tuple[str, ...] = user_setting(
        "sessions.paths", (), paths, "more transcripts: files, folders and globs"
    )
    also: tuple[str, ...] = setting(
        "also",
        (),
        paths,
        "other workspaces to search with this one, each with its own index; in your own settings, "
        "a relative path starts in your home",
    )
    worktrees: bool = setting(
        "worktrees",
        True,
        switch,
        "share conversations, facts and main notes between the worktrees of a git repository",
    )
    sync_on_search: bool = setting(
        "sync.on_search", True, switch, "bring the index up to date before a search"
    )
    limits: MemoryLimits = field(default_factory=MemoryLimits)
    debounce_ms: int = setting(
        "watch.debounce_ms", 1500, whole(50, 600_000), "watch: sync after this long without changes"
    )
    chat: ChatOptions = field(default_factory=ChatOptions)
    wording: WordingOptions = field(default_factory=WordingOptions)
    extract: ExtractOptions = field(default_factory=ExtractOptions)
    search: SearchOptions = field(default_factory=SearchOptions)
    vector_engine: str = setting(
        "vector.engine",
        "numpy",
        one_of(("numpy", "sqlite-vec")),
        "compares vectors: `numpy`, or `sqlite-vec` in SQL (extra `vec`)",
    )
    values: Mapping[str, object]
    origins: Mapping[str, str]
    """Where each setting was set that is not at its default."""
    user_file: Path
    """The user's own settings file, which may not exist."""


def compose(options: Callable[..., T], values: Mapping[str, object], /, **others: object) -> T:
    """Return Options, and the Options inside them, with each setting at its value."""
    given = {
        name: values[part.key] if isinstance(part, Setting) else compose(part, values)
        for name, part in _parts(options)
    }
    return options(**given, **others)


def _settings(options: object) -> Iterator[Setting]:
    for _, part in _parts(options):
        yield from [part] if isinstance(part, Setting) else _settings(part)


def _parts(options: object) -> Iterator[tuple[str, Setting | Callable[..., object]]]:
    """Yield the fields of an Options class that are settings, or Options themselves."""
    for each in fields(cast("type[DataclassInstance]", options)):
        part = setting_of(each) or each.default_factory
        if isinstance(part, Setting) or is_dataclass(part):
            yield each.name, part


SETTINGS: dict[str, Setting] = {row.key: row for row in _settings(Config)}


def flatten(
    table: Mapping[str, object], spelling: Callable[[str], str] = str, at: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield the values of a table and the tables in it, each with its path of keys."""
    for key, value in table.items():
        path = (*at, spelling(key))
        if isinstance(value, dict):
            yield from flatten(value, spelling, path)
        else:
            yield path, value


def canonical(key: str) -> str:
    """Return our spelling of a key that may be in OpenClaw's camelCase."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: "_" + found[1].lower(), key)


def read_setting(key: str, value: object, *, origin: str) -> tuple[str, object]:
    """Return the canonical key and the checked value."""
    name = canonical(key)
    if name not in SETTINGS:
        import difflib  # noqa: PLC0415 - only for a mistake

        near = difflib.get_close_matches(name[:_MOST_SHOWN_CHARS], SETTINGS, n=1, cutoff=_LIKE)
        hint = f"Did you mean `{near[0]}`? " if near else ""
        raise ConfigError(
            f"{origin}: there is no setting `{_short(key)}`.",
            action=f"{hint}`recollect config show --all` lists the settings.",
        )
    try:
        return name, SETTINGS[name].parse(value)
    except ValueError as error:
        is_secret = SETTINGS[name].secret
        shown = "what it is set to" if is_secret else _short(repr(value))
        raise ConfigError(f"{origin}: `{key}` cannot be {shown}.", action=f"Give {error}.") from (
            None if is_secret else error
        )


def _short(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN_CHARS else f"{text[:_MOST_SHOWN_CHARS]}…"
