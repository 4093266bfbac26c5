"""Every setting in one table: its name, default, meaning, how its value is read, who may set it."""

from __future__ import annotations

import difflib
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import ConfigError
from recollect.providers import registry
from recollect.providers.chat.table import CHAT_NAMES
from recollect.providers.keys import is_reference
from recollect.search.fuse import FUSIONS
from recollect.search.fuse.weighted import NORMALISERS
from recollect.types import Modality

if TYPE_CHECKING:
    from collections.abc import Callable, Collection


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table."""

    key: str
    default: object
    parse: Callable[[object], object]
    """Returns the value, or raises ValueError with what was expected."""
    about: str
    is_project: bool = True
    """Whether a workspace's own file may set it: a cloned folder is not trusted."""
    is_secret: bool = False
    """Whether a wrong value may be a secret, and must not be shown."""


def _number(low: float, high: float) -> Callable[[object], object]:
    def parse(value: object) -> object:
        try:
            number = float(value) if isinstance(value, (int, float, str)) else math.nan
        except ValueError:
            number = math.nan
        if isinstance(value, bool) or not low <= number <= high:
            raise ValueError(f"a number from {low:g} to {high:g}")
        return number

    return parse


def _whole(low: int, high: int) -> Callable[[object], object]:
    def parse(value: object) -> object:
        text = str(value).strip()
        if isinstance(value, (bool, float)) or not re.fullmatch(r"-?[0-9]+", text):
            raise ValueError(f"a whole number from {low} to {high}")
        if not low <= int(text) <= high:
            raise ValueError(f"a whole number from {low} to {high}")
        return int(text)

    return parse


def _switch(value: object) -> object:
    text = str(value).lower()
    if text not in {"true", "false", "1", "0", "yes", "no", "on", "off"}:
        raise ValueError("true or false")
    return text in {"true", "1", "yes", "on"}


def _one_of(names: Collection[str]) -> Callable[[object], object]:
    def parse(value: object) -> object:
        if value not in names:
            raise ValueError(f"one of {', '.join(names)}")
        return value

    return parse


def _some_of(names: Collection[str]) -> Callable[[object], object]:
    def parse(value: object) -> object:
        given = value.split(",") if isinstance(value, str) else value
        chosen = tuple(str(each).strip() for each in given) if isinstance(given, list) else ()
        if not chosen or not set(chosen) <= set(names):
            raise ValueError(f"a list of {', '.join(names)}")
        return chosen

    return parse


def _paths(value: object) -> object:
    given = [each.strip() for each in value.split(",")] if isinstance(value, str) else value
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise ValueError("a list of paths or globs")
    return tuple(each for each in given if each)


def _modalities(value: object) -> object:
    given = [each.strip() for each in value.split(",")] if isinstance(value, str) else value
    known = [each.value for each in Modality]
    if not isinstance(given, list) or not given or not all(each in known for each in given):
        raise ValueError(f"a list of {', '.join(known)}")
    return tuple(Modality(each) for each in given)


def _folder(value: object) -> object:
    if not isinstance(value, str) or not value:
        raise ValueError("a folder")
    return Path(value).expanduser()


def _provider(value: object) -> object:
    # Other packages are asked for theirs only when the name is none of ours.
    if value not in registry.NAMES and value not in registry.names():
        raise ValueError(f"one of {', '.join(registry.names())}")
    return value


def _text(value: object) -> object:
    if not isinstance(value, str):
        raise TypeError
    return value


def _url(value: object) -> object:
    if not isinstance(value, str) or not re.match(r"https?://[^/\s@]+", value):
        raise ValueError("an address that begins with http:// or https://, without a password")
    return value.rstrip("/")


def _key_reference(value: object) -> object:
    if not isinstance(value, str) or not is_reference(value):
        raise ValueError("the variable that holds the key, as env:NAME; never the key itself")
    return value


def _optional(parse: Callable[[object], object]) -> Callable[[object], object]:
    return lambda value: None if value in (None, "") else parse(value)


_SHARE = _number(0, 1)

SETTINGS: dict[str, Setting] = {
    setting.key: setting
    for setting in (
        Setting("provider", "auto", _provider, "who embeds texts", is_project=False),
        Setting("model", None, _optional(_text), "unset: the provider's default", is_project=False),
        Setting(
            "dimensions",
            None,
            _optional(_whole(1, 100_000)),
            "length of vectors, where the model can be told; unset: its own",
            is_project=False,
        ),
        Setting(
            "query_prefix",
            None,
            _optional(_text),
            "put in front of questions; unset: what the model is known to want",
            is_project=False,
        ),
        Setting(
            "document_prefix",
            None,
            _optional(_text),
            "put in front of notes; unset: what the model is known to want",
            is_project=False,
        ),
        Setting(
            "local.model_path",
            None,
            _optional(_folder),
            "folder with an ONNX model's files, or a GGUF file",
            is_project=False,
        ),
        Setting(
            "local.model_cache",
            None,
            _optional(_folder),
            "folder where fetched models are kept",
            is_project=False,
        ),
        Setting(
            "remote.base_url",
            None,
            _optional(_url),
            "address of a server that speaks the provider's format",
            is_project=False,
        ),
        Setting(
            "remote.api_key",
            None,
            _optional(_key_reference),
            "variable that holds the key, as env:NAME; unset: the vendor's own variable",
            is_project=False,
            is_secret=True,
        ),
        Setting(
            "remote.query_input_type",
            None,
            _optional(_text),
            "input_type of questions, for compatible servers that want one",
            is_project=False,
        ),
        Setting(
            "remote.document_input_type",
            None,
            _optional(_text),
            "input_type of notes, for compatible servers that want one",
            is_project=False,
        ),
        Setting(
            "remote.timeout_seconds",
            60.0,
            _number(0.1, 3600),
            "how long one request may take",
            is_project=False,
        ),
        Setting(
            "remote.requests_per_minute",
            0,
            _whole(0, 1_000_000),
            "no more than so many; 0: the server's own limit",
            is_project=False,
        ),
        Setting(
            "remote.tokens_per_minute",
            0,
            _whole(0, 1_000_000_000),
            "no more than so many; 0: the server's own limit",
            is_project=False,
        ),
        Setting(
            "remote.batch",
            False,
            _switch,
            "hand big runs in as a batch: about half the price, done within a day",
            is_project=False,
        ),
        Setting(
            "cache.max_megabytes",
            512,
            _whole(0, 1_000_000),
            "vectors kept for all agents of a home; 0: none",
            is_project=False,
        ),
        Setting("extra_paths", (), _paths, "further files, folders and globs to remember"),
        Setting("exclude", (), _paths, "globs of files to leave out"),
        Setting(
            "sources",
            ("memory",),
            _some_of(("memory", "sessions")),
            "what is indexed and searched: memory, sessions",
            is_project=False,
        ),
        Setting(
            "sessions.paths",
            (),
            _paths,
            "further transcripts: files, folders and globs",
            is_project=False,
        ),
        Setting("sessions.weight", 0.9, _SHARE, "what a hit in a transcript counts against a note"),
        Setting("sessions.quota", 0.5, _SHARE, "part of the hits that may be transcripts"),
        Setting("sync.on_search", True, _switch, "bring the index up to date before a search"),
        Setting(
            "sync.interval_minutes", 0, _whole(0, 10_080), "watch: also sync this often; 0: no"
        ),
        Setting(
            "watch.debounce_ms", 1500, _whole(50, 600_000), "watch: wait for a pause this long"
        ),
        Setting(
            "multimodal.enabled",
            False,
            _switch,
            "send images and recordings in extra_paths to gemini to be embedded",
            is_project=False,
        ),
        Setting(
            "multimodal.modalities",
            tuple(Modality),
            _modalities,
            "which of those",
            is_project=False,
        ),
        Setting(
            "multimodal.max_file_bytes",
            10 * 1024 * 1024,
            _whole(1, 70_000_000),
            "leave out larger ones",
            is_project=False,
        ),
        Setting(
            "llm.provider",
            None,
            _optional(_one_of(CHAT_NAMES)),
            "language model for ingest, hyde and expand: openai, anthropic, gemini, ollama",
            is_project=False,
        ),
        Setting("llm.model", None, _optional(_text), "unset: its default", is_project=False),
        Setting(
            "llm.base_url",
            None,
            _optional(_url),
            "address of a server that speaks its format",
            is_project=False,
        ),
        Setting(
            "llm.api_key",
            None,
            _optional(_key_reference),
            "variable that holds the key, as env:NAME; unset: the vendor's own variable",
            is_project=False,
            is_secret=True,
        ),
        Setting(
            "llm.seconds",
            4.0,
            _number(0.1, 60),
            "time hyde and expand may take before a search, or are left out",
            is_project=False,
        ),
        Setting("ingest.paths", (), _paths, "globs of files to extract facts from"),
        Setting(
            "hyde.enabled",
            False,
            _switch,
            "let the language model imagine an answer for the vector leg",
            is_project=False,
        ),
        Setting(
            "expand.enabled",
            False,
            _switch,
            "let the language model reword the question for the vector leg",
            is_project=False,
        ),
        Setting("chunk.tokens", 400, _whole(16, 8000), "target size of a chunk"),
        Setting("chunk.overlap", 80, _whole(0, 4000), "what neighbouring chunks share"),
        Setting("max_results", 6, _whole(1, 1000), "how many hits to show"),
        Setting("min_score", None, _optional(_SHARE), "leave out hits below; unset: fusion's own"),
        Setting("candidate_multiplier", 4, _whole(1, 100), "candidates a leg per hit wanted"),
        Setting("fusion", "calibrated", _one_of(FUSIONS), "how the legs become one score"),
        Setting("vector_weight", 0.7, _SHARE, "weighted and rrf: the vector leg"),
        Setting("text_weight", 0.3, _SHARE, "weighted and rrf: the keyword leg"),
        Setting("text_normaliser", "rank", _one_of(NORMALISERS), "weighted: scale of keyword"),
        Setting("rrf_k", 60, _whole(1, 10_000), "rrf: how little the first ranks stand out"),
        Setting("temporal_decay.enabled", False, _switch, "let dated notes age"),
        Setting("temporal_decay.half_life_days", 30.0, _number(0.01, 1e6), "days to half a score"),
        Setting("temporal_decay.floor", 0.4, _SHARE, "least part of a score that age leaves"),
        Setting("rerank.enabled", False, _switch, "let a model read the best candidates again"),
        Setting("rerank.candidates", 20, _whole(1, 200), "how many candidates it reads"),
        Setting("rerank.budget_ms", 1000, _whole(1, 60_000), "time it may take, or is left out"),
        Setting("mmr.enabled", False, _switch, "prefer hits unlike those above them"),
        Setting("mmr.lambda", 0.7, _SHARE, "1 is relevance alone, 0 is variety alone"),
        Setting("vector.engine", "numpy", _one_of(("numpy", "sqlite-vec")), "vector search"),
    )
}


def canonical(key: str) -> str:
    """Return the table's spelling of a key: OpenClaw's camelCase is understood."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: "_" + found[1].lower(), key)


def read_setting(key: str, value: object, *, origin: str) -> tuple[str, object]:
    """Return the canonical key and the checked value.

    Raises:
        ConfigError: no such setting, or not a value for it.

    """
    name = canonical(key)
    if name not in SETTINGS:
        near = difflib.get_close_matches(name, SETTINGS, n=1, cutoff=0.5)
        hint = f"Did you mean `{near[0]}`? " if near else ""
        raise ConfigError(
            f"{origin}: there is no setting `{key}`.",
            action=f"{hint}The settings are listed in docs/settings.md.",
        )
    try:
        return name, SETTINGS[name].parse(value)
    except (ValueError, TypeError) as error:
        expected = str(error) if isinstance(error, ValueError) else "another value"
        shown = "what it is set to" if SETTINGS[name].is_secret else repr(value)
        raise ConfigError(
            f"{origin}: `{key}` cannot be {shown}.", action=f"Give {expected}."
        ) from (None if SETTINGS[name].is_secret else error)
