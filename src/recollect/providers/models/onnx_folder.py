"""Reads how to use a user's own ONNX model from its folder.

Either `recollect-model.json` describes it, or the files that sentence-transformers writes next to a
model. Pooling and input length are never guessed: a model used the wrong way finds little, and
nobody would know why. `providers/local.py` runs the model.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from recollect.errors import ModelUnavailableError
from recollect.providers.models.integrity import sample_digest
from recollect.providers.models.manifest import ARCTIC_S, ENGLISH_PIECES, EmbeddingManifest
from recollect.providers.prompts import Prompts, prompts_of
from recollect.records import dataclass
from recollect.types import digest_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from recollect.providers.models.manifest import Pooling
    from recollect.providers.options import ProviderOptions

DESCRIPTION_FILE = "recollect-model.json"
_FIELDS = ("id", "dimensions", "max_tokens", "pooling", "query_prefix", "document_prefix")
_WEIGHTS = ("model.onnx", "onnx/model.onnx")
_VOCABULARY = "vocab.txt"
_CONFIG = "config.json"
_POOLING = "1_Pooling/config.json"
_MODULES = frozenset({"Transformer", "Pooling", "Normalize"})

_BERT_PIECES = frozenset({"[PAD]", "[UNK]", "[CLS]", "[SEP]"})
_OTHER_PIECE = "<s>"  # MPNet has BERT's pieces too, but starts and ends texts with others
_CAPITALISED = re.compile(r"^(?!\[).*[A-Z]", re.MULTILINE)
_FEW = 100  # an uncased vocabulary has hardly any capitals besides its control pieces
_FEWEST_TOKENS = 32  # a prefix and a few words
_MOST_TOKENS = 8192


@dataclass(frozen=True, slots=True)
class _Usage:
    """How to use a model."""

    id: str
    dimensions: int | None
    max_tokens: int
    pooling: Pooling
    prompts: Prompts | None
    """Prompts; None if the folder does not say."""
    known_as: str
    """Another name of the model."""


def weights_in(folder: Path) -> Path:
    """Return the path of a folder's ONNX file, whether it exists or not."""
    paths = [folder / name for name in _WEIGHTS]
    return next((path for path in paths if path.is_file()), paths[0])


def is_own(folder: Path) -> bool:
    """Return whether a folder has another model than the default one.

    A folder without a model counts as the default one's, whose check reports what is missing.
    """
    if (folder / DESCRIPTION_FILE).is_file():
        return True
    weights = weights_in(folder)
    return weights.is_file() and weights.stat().st_size != ARCTIC_S.files[0].size_bytes


def describe(folder: Path, options: ProviderOptions) -> tuple[EmbeddingManifest, str]:
    """Return a manifest of the folder's model, and its part of the fingerprint.

    Raises:
        ModelUnavailableError: a file is missing or cannot be used.

    """
    vocabulary = _check_files(folder)
    has_description = (folder / DESCRIPTION_FILE).is_file()
    use = _described(folder) if has_description else _exported(folder)
    if not _FEWEST_TOKENS <= use.max_tokens <= _MOST_TOKENS:
        raise _unusable(folder, f"an input of {use.max_tokens} tokens is not supported")
    prompts = (
        prompts_of(f"{use.id} {use.known_as}", options)
        if use.prompts is None
        else use.prompts.changed_by(options)
    )
    manifest = EmbeddingManifest(
        id=use.id,
        licence=None,
        about="local embedding model",
        if_offline="Put the model's files into the folder that local.model_path names.",
        files=(),
        wheel=None,
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


def _digest(folder: Path, use: _Usage) -> str:
    """Return a digest of everything that changes the vectors, except the prompts."""
    weights = weights_in(folder)
    # Large models keep their weights in a second file, such as model.onnx_data.
    parts = [sample_digest(path) for path in sorted(weights.parent.glob(f"{weights.name}*"))]
    parts += [sample_digest(folder / _VOCABULARY), use.pooling, str(use.max_tokens)]
    return digest_of(" ".join(parts).encode())


def _check_files(folder: Path) -> int:
    """Check that the files can be used, and return the size of the vocabulary."""
    if not weights_in(folder).is_file():
        raise _unusable(folder, "model.onnx is missing")
    if not (folder / _VOCABULARY).is_file():
        raise _unusable(
            folder,
            "vocab.txt is missing; only models with a WordPiece vocabulary can be used, and "
            "tokenizer.json is not read",
        )
    try:
        vocabulary = (folder / _VOCABULARY).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _unusable(folder, "vocab.txt cannot be read as text") from error
    pieces = set(vocabulary.split("\n"))
    if not pieces >= _BERT_PIECES or _OTHER_PIECE in pieces:
        raise _unusable(folder, "vocab.txt is not the vocabulary of a BERT model")
    if len(_CAPITALISED.findall(vocabulary)) > _FEW:
        raise _unusable(folder, "vocab.txt is cased, which is not supported")
    return len(pieces)


def _described(folder: Path) -> _Usage:
    """Read the description written for Recollect."""
    description = _JsonFile.read(folder, DESCRIPTION_FILE)
    unknown = sorted(set(description.fields).difference(_FIELDS))
    if unknown:
        raise _unusable(folder, f"{DESCRIPTION_FILE} has the unknown field {unknown[0]}")
    model, max_tokens = description.text("id"), description.count("max_tokens")
    pooling = _pooling(description.text("pooling"))
    if model is None or max_tokens is None or pooling is None:
        raise _unusable(
            folder, f'{DESCRIPTION_FILE} must have id, max_tokens, and pooling "cls" or "mean"'
        )
    query, document = description.text("query_prefix"), description.text("document_prefix")
    has_prompts = query is not None or document is not None
    return _Usage(
        id=model,
        dimensions=description.count("dimensions"),
        max_tokens=max_tokens,
        pooling=pooling,
        prompts=Prompts(query or "", document or "") if has_prompts else None,
        known_as="",
    )


def _exported(folder: Path) -> _Usage:
    """Read the files that sentence-transformers writes next to a model."""
    config, pool = _JsonFile.read(folder, _CONFIG), _JsonFile.read(folder, _POOLING)
    is_cls, is_mean = (
        pool.fields.get(f"pooling_mode_{name}_token{s}") for name, s in (("cls", ""), ("mean", "s"))
    )
    pooling = _pooling(pool.text("pooling_mode")) or _pooling(
        "cls" if is_cls and not is_mean else "mean" if is_mean and not is_cls else None
    )
    if pooling is None:
        raise _unusable(folder, f"{_POOLING} does not name exactly one of cls and mean")
    _check_modules(folder)
    lengths = (
        _JsonFile.read(folder, "sentence_bert_config.json", is_optional=True).count(
            "max_seq_length"
        ),
        config.count("max_position_embeddings"),
    )
    max_tokens = min((length for length in lengths if length is not None), default=None)
    if max_tokens is None:
        raise _unusable(folder, f"{_CONFIG} has no max_position_embeddings")
    sentence = _JsonFile.read(folder, "config_sentence_transformers.json", is_optional=True)
    prompts = sentence.fields.get("prompts")
    return _Usage(
        id=folder.resolve().name,
        dimensions=config.count("hidden_size"),
        max_tokens=max_tokens,
        pooling=pooling,
        prompts=_prompts(prompts) if isinstance(prompts, dict) and prompts else None,
        known_as=config.text("_name_or_path") or "",
    )


def _prompts(named: Mapping[str, object]) -> Prompts:
    document = named.get("document", named.get("passage", ""))
    return Prompts(str(named.get("query", "")), str(document))


def _pooling(name: str | None) -> Pooling | None:
    if name == "cls":
        return "cls"
    return "mean" if name == "mean" else None


def _check_modules(folder: Path) -> None:
    """Refuse a model with more steps than pooling and normalising."""
    path = folder / "modules.json"
    if not path.is_file():
        return
    kinds = re.findall(r'"type"\s*:\s*"(?:[^"]*\.)?(\w+)"', path.read_text(encoding="utf-8"))
    more = sorted(set(kinds).difference(_MODULES))
    if more:
        raise _unusable(folder, f"it has a step {more[0]} after pooling, which is not supported")


@dataclass(frozen=True, slots=True)
class _JsonFile:
    """The fields of a JSON file, read by type."""

    folder: Path
    name: str
    fields: Mapping[str, object]

    @classmethod
    def read(cls, folder: Path, name: str, *, is_optional: bool = False) -> _JsonFile:
        """Read a JSON object; an optional file that is missing has no fields."""
        path = folder / name
        if not path.is_file():
            if is_optional:
                return cls(folder, name, {})
            raise _unusable(folder, f"it has neither {DESCRIPTION_FILE} nor {name}")
        try:
            fields = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise _unusable(folder, f"{name} is not JSON ({error})") from error
        if not isinstance(fields, dict):
            raise _unusable(folder, f"{name} is not a JSON object")
        return cls(folder, name, fields)

    def text(self, field: str) -> str | None:
        """Return a field's text; None if it is missing."""
        value = self.fields.get(field)
        if value is None or isinstance(value, str):
            return value
        raise _unusable(self.folder, f"{field} in {self.name} is not a text")

    def count(self, field: str) -> int | None:
        """Return a field's positive number; None if it is missing."""
        value = self.fields.get(field)
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
        raise _unusable(self.folder, f"{field} in {self.name} is not a positive number")


def _unusable(folder: Path, reason: str) -> ModelUnavailableError:
    return ModelUnavailableError(
        f"The model in {folder} cannot be used: {reason}.",
        action=f"Put model.onnx, vocab.txt and {DESCRIPTION_FILE} there (with the fields "
        f"{', '.join(_FIELDS)}), or remove the setting local.model_path.",
    )
