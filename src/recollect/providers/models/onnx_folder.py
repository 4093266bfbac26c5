"""Reads how to use a user's own ONNX model from the files sentence-transformers writes next to it.

Nothing is guessed: a model used the wrong way finds little, and nobody would know why.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from recollect.errors import ModelUnavailableError
from recollect.providers.models.files import sample_digest
from recollect.providers.models.manifest import EMBEDDER, ENGLISH_PIECES, EmbeddingManifest
from recollect.providers.prompts import Prompts, prompts_of
from recollect.types import digest_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from recollect.providers.models.manifest import Pooling

_WEIGHTS = ("model.onnx", "onnx/model.onnx")
_VOCABULARY = "vocab.txt"
_CONFIG = "config.json"
POOLING = "1_Pooling/config.json"
_MODULES = frozenset({"Transformer", "Pooling", "Normalize"})

_BERT_PIECES = frozenset({"[PAD]", "[UNK]", "[CLS]", "[SEP]"})
_OTHER_PIECE = "<s>"  # MPNet has BERT's pieces too, but starts and ends texts with others
_CAPITALISED = re.compile(r"^(?!\[).*[A-Z]", re.MULTILINE)
_FEW = 100  # an uncased vocabulary has hardly any capitals besides its control pieces
_FEWEST_TOKENS = 32  # a prefix and a few words
_MOST_TOKENS = 8192


def weights_in(folder: Path) -> Path:
    """Return the path of a folder's ONNX file, whether it exists or not."""
    paths = [folder / name for name in _WEIGHTS]
    return next((path for path in paths if path.is_file()), paths[0])


def is_own(folder: Path) -> bool:
    """Return whether a folder has a model, and another one than the default."""
    weights = weights_in(folder)
    return weights.is_file() and weights.stat().st_size != EMBEDDER.files[0].size_bytes


def describe(folder: Path) -> EmbeddingManifest:
    """Return a manifest of the folder's model."""
    vocabulary = _check_files(folder)
    _check_modules(folder)
    config = _read_json(folder, _CONFIG)
    pooling, max_tokens = _pooling(folder), _max_tokens(folder, config)
    prompts = _prompts(folder, config)
    weights = weights_in(folder)
    # Large models keep their weights in a second file, such as model.onnx_data.
    parts = [sample_digest(path) for path in sorted(weights.parent.glob(f"{weights.name}*"))]
    parts += [sample_digest(folder / _VOCABULARY), pooling, str(max_tokens)]
    return EmbeddingManifest(
        id=folder.resolve().name,
        licence=None,
        files=(),
        dimensions=_count(folder, config, "hidden_size"),
        max_tokens=max_tokens,
        pooling=pooling,
        reads_latin_only=vocabulary in ENGLISH_PIECES,
        query_prefix=prompts.query,
        document_prefix=prompts.document,
        background=None,
        usage=f"{prompts.identity}-{digest_of(' '.join(parts).encode())[:12]}",
    )


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


def _pooling(folder: Path) -> Pooling:
    fields = _read_json(folder, POOLING)
    is_cls = fields.get("pooling_mode") == "cls" or bool(fields.get("pooling_mode_cls_token"))
    is_mean = fields.get("pooling_mode") == "mean" or bool(fields.get("pooling_mode_mean_tokens"))
    if is_cls == is_mean:
        raise _unusable(folder, f"{POOLING} does not name exactly one of cls and mean")
    return "cls" if is_cls else "mean"


def _max_tokens(folder: Path, config: Mapping[str, object]) -> int:
    sentence = _read_json(folder, "sentence_bert_config.json", is_optional=True)
    lengths = (
        _count(folder, sentence, "max_seq_length"),
        _count(folder, config, "max_position_embeddings"),
    )
    max_tokens = min((length for length in lengths if length is not None), default=None)
    if max_tokens is None:
        raise _unusable(folder, f"{_CONFIG} has no max_position_embeddings")
    if not _FEWEST_TOKENS <= max_tokens <= _MOST_TOKENS:
        raise _unusable(folder, f"an input of {max_tokens} tokens is not supported")
    return max_tokens


def _prompts(folder: Path, config: Mapping[str, object]) -> Prompts:
    sentence = _read_json(folder, "config_sentence_transformers.json", is_optional=True)
    named = sentence.get("prompts")
    if isinstance(named, dict) and named:
        document = named.get("document", named.get("passage", ""))
        return Prompts(str(named.get("query", "")), str(document))
    known_as = config.get("_name_or_path") or ""
    return prompts_of(f"{folder.resolve().name} {known_as}")


def _check_modules(folder: Path) -> None:
    """Refuse a model with more steps than pooling and normalising."""
    path = folder / "modules.json"
    if not path.is_file():
        return
    kinds = re.findall(r'"type"\s*:\s*"(?:[^"]*\.)?(\w+)"', path.read_text(encoding="utf-8"))
    more = sorted(set(kinds).difference(_MODULES))
    if more:
        raise _unusable(folder, f"it has a step {more[0]} after pooling, which is not supported")


def _read_json(folder: Path, name: str, *, is_optional: bool = False) -> Mapping[str, object]:
    """Return the fields of a JSON file; an optional file that is missing has none."""
    path = folder / name
    if not path.is_file():
        if is_optional:
            return {}
        raise _unusable(folder, f"{name} is missing")
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _unusable(folder, f"{name} is not JSON ({error})") from error
    if not isinstance(fields, dict):
        raise _unusable(folder, f"{name} is not a JSON object")
    return fields


def _count(folder: Path, fields: Mapping[str, object], name: str) -> int | None:
    """Return a field's positive number; None if it is missing."""
    value = fields.get(name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0):
        return value
    raise _unusable(folder, f"{name} is not a positive number")


def _unusable(folder: Path, reason: str) -> ModelUnavailableError:
    return ModelUnavailableError(
        f"The model in {folder} cannot be used: {reason}.",
        action="Export the model with sentence-transformers: it writes model.onnx, vocab.txt, "
        f"{_CONFIG} and {POOLING}. Or remove the setting local.model_path.",
    )
