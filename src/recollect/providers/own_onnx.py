"""A user's own ONNX model: what its folder says of how the model is to be used.

Either `recollect-model.json` says it, or the files that sentence-transformers writes beside a
model. Pooling and input length are never guessed: a model run the wrong way finds little, and
nobody would know why. Running the model is the business of `providers/local.py`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.errors import ModelUnavailableError
from recollect.providers.manifest import ARCTIC_S, ENGLISH_PIECES, NO_CARRIER, EmbeddingManifest
from recollect.providers.prompts import Prompts, prompts_of
from recollect.providers.resolve import sample_digest
from recollect.types import digest_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from recollect.providers.base import ProviderOptions
    from recollect.providers.manifest import Pooling

OWN = "recollect-model.json"
_OWN_FIELDS = ("id", "dimensions", "max_tokens", "pooling", "query_prefix", "document_prefix")
_WEIGHTS = ("model.onnx", "onnx/model.onnx")
_VOCABULARY = "vocab.txt"
_CONFIG = "config.json"
_POOLING = "1_Pooling/config.json"
_MODULES = frozenset({"Transformer", "Pooling", "Normalize"})

_BERT_PIECES = frozenset({"[PAD]", "[UNK]", "[CLS]", "[SEP]"})
_OTHER_PIECE = "<s>"  # MPNet has BERT's pieces too, but opens and closes texts with others
_CAPITALISED = re.compile(r"^(?!\[).*[A-Z]", re.MULTILINE)
_FEW = 100  # an uncased vocabulary has hardly a capital outside of its control pieces
_FEWEST_TOKENS = 32  # a prefix and some words
_MOST_TOKENS = 8192


@dataclass(frozen=True, slots=True)
class _Use:
    """How a model is to be used."""

    id: str
    dimensions: int | None
    max_tokens: int
    pooling: Pooling
    prompts: Prompts | None
    """None where the folder does not say."""
    known_as: str
    """By what else the model may be known."""


def weights_in(folder: Path) -> Path:
    """Return the path of a folder's ONNX file, whether it is there or not."""
    paths = [folder / name for name in _WEIGHTS]
    return next((path for path in paths if path.is_file()), paths[0])


def is_own(folder: Path) -> bool:
    """Tell whether a folder holds another model than the default one.

    A folder without any model counts as the default one's, whose check says what is missing.
    """
    if (folder / OWN).is_file():
        return True
    weights = weights_in(folder)
    return weights.is_file() and weights.stat().st_size != ARCTIC_S.files[0].size_bytes


def describe(folder: Path, options: ProviderOptions) -> tuple[EmbeddingManifest, str]:
    """Return a manifest of the folder's model, and its part of the fingerprint.

    Raises:
        ModelUnavailableError: something is missing or cannot be used.

    """
    vocabulary = _check_files(folder)
    use = _own(folder) if (folder / OWN).is_file() else _exported(folder)
    if not _FEWEST_TOKENS <= use.max_tokens <= _MOST_TOKENS:
        raise _unusable(folder, f"an input of {use.max_tokens} tokens is not possible")
    prompts = (
        prompts_of(f"{use.id} {use.known_as}", options)
        if use.prompts is None
        else use.prompts.changed_by(options)
    )
    manifest = EmbeddingManifest(
        id=use.id,
        about="local embedding model",
        if_offline="Put the model's files into the folder that local.model_path names.",
        licence="",
        files=(),
        carrier=NO_CARRIER,
        hub=None,
        dimensions=use.dimensions,
        max_tokens=use.max_tokens,
        pooling=use.pooling,
        reads_latin_only=vocabulary in ENGLISH_PIECES,
        query_prefix=prompts.query,
        document_prefix=prompts.document,
        background=None,
    )
    return manifest, f"{prompts.identity}-{_digest(folder, use)[:12]}"


def _digest(folder: Path, use: _Use) -> str:
    """Return a digest of all that moves the vectors besides the prompts."""
    weights = weights_in(folder)
    # Big models keep their weights in a second file, such as model.onnx_data.
    parts = [sample_digest(path) for path in sorted(weights.parent.glob(f"{weights.name}*"))]
    parts += [sample_digest(folder / _VOCABULARY), use.pooling, str(use.max_tokens)]
    return digest_of(" ".join(parts).encode())


def _check_files(folder: Path) -> int:
    """See that the files can be used, and return how many pieces the vocabulary has."""
    if not weights_in(folder).is_file():
        raise _unusable(folder, "model.onnx is missing")
    if not (folder / _VOCABULARY).is_file():
        raise _unusable(
            folder,
            "vocab.txt is missing; only models with a WordPiece vocabulary can be used, and a "
            "tokenizer.json alone is not read",
        )
    try:
        vocabulary = (folder / _VOCABULARY).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _unusable(folder, "vocab.txt cannot be read as text") from error
    pieces = set(vocabulary.split("\n"))
    if not pieces >= _BERT_PIECES or _OTHER_PIECE in pieces:
        raise _unusable(folder, "vocab.txt is not the vocabulary of a BERT model")
    if len(_CAPITALISED.findall(vocabulary)) > _FEW:
        raise _unusable(folder, "vocab.txt tells capital letters apart, which is not supported")
    return len(pieces)


def _own(folder: Path) -> _Use:
    """Read the description made for Recollect."""
    told = _Json.read(folder, OWN)
    unknown = sorted(set(told.fields).difference(_OWN_FIELDS))
    if unknown:
        raise _unusable(folder, f"{OWN} has the unknown field {unknown[0]}")
    model, max_tokens = told.text("id"), told.count("max_tokens")
    pooling = _pooling(told.text("pooling"))
    if model is None or max_tokens is None or pooling is None:
        raise _unusable(folder, f'{OWN} must have id, max_tokens, and pooling "cls" or "mean"')
    query, document = told.text("query_prefix"), told.text("document_prefix")
    is_silent = query is None and document is None
    return _Use(
        id=model,
        dimensions=told.count("dimensions"),
        max_tokens=max_tokens,
        pooling=pooling,
        prompts=None if is_silent else Prompts(query or "", document or ""),
        known_as="",
    )


def _exported(folder: Path) -> _Use:
    """Read what sentence-transformers writes beside a model."""
    config, pool = _Json.read(folder, _CONFIG), _Json.read(folder, _POOLING)
    is_cls, is_mean = (
        pool.fields.get(f"pooling_mode_{name}_token{s}") for name, s in (("cls", ""), ("mean", "s"))
    )
    pooling = _pooling(pool.text("pooling_mode")) or _pooling(
        "cls" if is_cls and not is_mean else "mean" if is_mean and not is_cls else None
    )
    if pooling is None:
        raise _unusable(folder, f"{_POOLING} names neither cls nor mean as the only pooling")
    _check_modules(folder)
    lengths = (
        _Json.read(folder, "sentence_bert_config.json", is_optional=True).count("max_seq_length"),
        config.count("max_position_embeddings"),
    )
    max_tokens = min((length for length in lengths if length is not None), default=None)
    if max_tokens is None:
        raise _unusable(folder, f"{_CONFIG} has no max_position_embeddings")
    said = _Json.read(folder, "config_sentence_transformers.json", is_optional=True)
    prompts = said.fields.get("prompts")
    return _Use(
        id=folder.resolve().name,
        dimensions=config.count("hidden_size"),
        max_tokens=max_tokens,
        pooling=pooling,
        prompts=_prompts(prompts) if isinstance(prompts, dict) and prompts else None,
        known_as=config.text("_name_or_path") or "",
    )


def _prompts(said: Mapping[str, object]) -> Prompts:
    document = said.get("document", said.get("passage", ""))
    return Prompts(str(said.get("query", "")), str(document))


def _pooling(name: str | None) -> Pooling | None:
    if name == "cls":
        return "cls"
    return "mean" if name == "mean" else None


def _check_modules(folder: Path) -> None:
    """Refuse a model that does more to a text than pooling its tokens."""
    path = folder / "modules.json"
    if not path.is_file():
        return
    kinds = re.findall(r'"type"\s*:\s*"(?:[^"]*\.)?(\w+)"', path.read_text(encoding="utf-8"))
    more = sorted(set(kinds).difference(_MODULES))
    if more:
        raise _unusable(folder, f"it has a step {more[0]} after pooling, which is not supported")


@dataclass(frozen=True, slots=True)
class _Json:
    """The fields of a JSON file, each asked for by its type."""

    folder: Path
    name: str
    fields: Mapping[str, object]

    @classmethod
    def read(cls, folder: Path, name: str, *, is_optional: bool = False) -> _Json:
        """Read a JSON object; a file that may be missing then has no fields."""
        path = folder / name
        if not path.is_file():
            if is_optional:
                return cls(folder, name, {})
            raise _unusable(folder, f"neither {OWN} nor {name} says how to use it")
        try:
            fields = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise _unusable(folder, f"{name} is not JSON ({error})") from error
        if not isinstance(fields, dict):
            raise _unusable(folder, f"{name} is not a JSON object")
        return cls(folder, name, fields)

    def text(self, field: str) -> str | None:
        """Return a field's text; None where it is missing."""
        value = self.fields.get(field)
        if value is None or isinstance(value, str):
            return value
        raise _unusable(self.folder, f"{field} in {self.name} is not a text")

    def count(self, field: str) -> int | None:
        """Return a field's positive number; None where it is missing."""
        value = self.fields.get(field)
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
        raise _unusable(self.folder, f"{field} in {self.name} is not a positive number")


def _unusable(folder: Path, reason: str) -> ModelUnavailableError:
    return ModelUnavailableError(
        f"The model in {folder} cannot be used: {reason}.",
        action=f"Put model.onnx, vocab.txt and {OWN} there (fields {', '.join(_OWN_FIELDS)}), or "
        "remove the local.model_path setting.",
    )
