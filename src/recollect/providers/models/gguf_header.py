"""Reads the header of a GGUF file in milliseconds, without llama.cpp.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. A file is untrusted: nothing is
read or skipped beyond the file's size or the longest header.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

from recollect.errors import ModelUnavailableError
from recollect.providers.models.manifest import ENGLISH_PIECES
from recollect.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Value: TypeAlias = "str | int | float | bool | None"

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)  # version 1, with 32-bit counts, was in use for a few weeks only
_LONGEST_HEADER_BYTES = 1 << 26  # a vocabulary of 260,000 pieces needs a tenth of it

_FIXED = {
    0: struct.Struct("<B"),
    1: struct.Struct("<b"),
    2: struct.Struct("<H"),
    3: struct.Struct("<h"),
    4: struct.Struct("<I"),
    5: struct.Struct("<i"),
    6: struct.Struct("<f"),
    7: struct.Struct("<?"),
    10: struct.Struct("<Q"),
    11: struct.Struct("<q"),
    12: struct.Struct("<d"),
}
_TEXT = 8
_ARRAY = 9
_VOCABULARY = "tokenizer.ggml.tokens"

_NO_POOLING = 0
_RANK_POOLING = 4


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """What a GGUF file says about its model."""

    architecture: str
    name: str | None
    context_tokens: int | None
    dimensions: int | None
    pooling: int | None
    """llama.cpp's number: 1 mean, 2 first token, 3 last token, 4 reranker; None if missing."""
    tokenizer: str | None
    vocabulary: int
    """The number of pieces."""

    @property
    def embeds(self) -> bool:
        """Return whether the model gives one vector per text."""
        return self.pooling not in (None, _NO_POOLING, _RANK_POOLING)

    @property
    def reads_latin_only(self) -> bool:
        """Return whether this is a BERT with an English vocabulary.

        The tokenizer decides, not the architecture: `nomic-bert` and `jina-bert` have it too, while
        `bert` is also the architecture of multilingual models.
        """
        return self.tokenizer == "bert" and self.vocabulary in ENGLISH_PIECES


class _MalformedError(Exception):
    """The bytes are not a GGUF header."""


def read_header(path: Path) -> GgufHeader:
    """Return what a GGUF file says about its model."""
    action = "Set local.model_path to a GGUF file of an embedding model, or download it again."
    try:
        with path.open("rb") as stream:
            return _header(_HeaderReader(stream, path.stat().st_size).metadata())
    except OSError as error:
        reason = error.strerror or str(error)
        raise ModelUnavailableError(f"{path} cannot be read ({reason}).", action=action) from error
    except _MalformedError as error:
        raise ModelUnavailableError(
            f"{path} is not a usable GGUF model: {error}.", action=action
        ) from error


def _header(metadata: Mapping[str, Value]) -> GgufHeader:
    architecture = _text(metadata, "general.architecture")
    if not architecture:
        raise _MalformedError("it does not name its architecture")
    return GgufHeader(
        architecture=architecture,
        name=_text(metadata, "general.name"),
        context_tokens=_count(metadata, f"{architecture}.context_length"),
        dimensions=_count(metadata, f"{architecture}.embedding_length_out")
        or _count(metadata, f"{architecture}.embedding_length"),
        pooling=_count(metadata, f"{architecture}.pooling_type"),
        tokenizer=_text(metadata, "tokenizer.ggml.model"),
        vocabulary=_count(metadata, _VOCABULARY) or 0,
    )


def _is_enough(metadata: Mapping[str, Value]) -> bool:
    header = _header(metadata) if "general.architecture" in metadata else None
    return header is not None and None not in (
        header.context_tokens,
        header.dimensions,
        header.pooling,
        header.tokenizer,
    )


def _text(metadata: Mapping[str, Value], key: str) -> str | None:
    value = metadata.get(key)
    return value if isinstance(value, str) else None


def _count(metadata: Mapping[str, Value], key: str) -> int | None:
    value = metadata.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


class _HeaderReader:
    """Reads values one after the other, never beyond the end of the file."""

    def __init__(self, stream: BinaryIO, size_bytes: int) -> None:
        self._stream = stream
        self._left_bytes = min(size_bytes, _LONGEST_HEADER_BYTES)

    def metadata(self) -> dict[str, Value]:
        """Return keys and values; the value of an array is its length.

        Reading stops at the vocabulary, up to 300,000 texts that are not needed here, unless a
        needed key has not come yet. Writers usually put these keys first, but need not.
        """
        if self._take(len(_MAGIC)) != _MAGIC:
            raise _MalformedError("it does not start with GGUF")
        version = self._number(4)
        if version not in _VERSIONS:
            raise _MalformedError(f"its version {version} is not one of {_VERSIONS}")
        self._number(10)  # the number of tensors
        count = self._number(10)
        found: dict[str, Value] = {}
        for _ in range(count):
            key, kind = self._text(), self._number(4)
            if key == _VOCABULARY and kind == _ARRAY and _is_enough(found):
                self._number(4)  # the type of the pieces
                return {**found, key: self._number(10)}
            found[key] = self._value(kind)
        return found

    def _value(self, kind: int) -> Value:
        if kind == _TEXT:
            return self._text()
        if kind == _ARRAY:
            return self._array()
        form = _FIXED.get(kind)
        if form is None:
            raise _MalformedError(f"it has a value of the unknown type {kind}")
        value: Value = form.unpack(self._take(form.size))[0]
        return value

    def _array(self) -> int:
        """Skip an array; return the count of its elements."""
        kind, count = self._number(4), self._number(10)
        if kind == _TEXT:
            for _ in range(count):
                self._skip(self._number(10))
        elif kind in _FIXED:
            self._skip(_FIXED[kind].size * count)
        else:
            raise _MalformedError(f"it has an array of the unknown type {kind}")
        return count

    def _text(self) -> str:
        return self._take(self._number(10)).decode("utf-8", "replace")

    def _number(self, kind: int) -> int:
        form = _FIXED[kind]
        return int(form.unpack(self._take(form.size))[0])

    def _take(self, count: int) -> bytes:
        self._spend(count)
        taken = self._stream.read(count)
        if len(taken) != count:
            raise _MalformedError("its header is cut off or endless")
        return taken

    def _skip(self, count: int) -> None:
        self._spend(count)
        self._stream.seek(count, 1)

    def _spend(self, count: int) -> None:
        self._left_bytes -= count
        if self._left_bytes < 0:
            raise _MalformedError("its header is cut off or endless")
