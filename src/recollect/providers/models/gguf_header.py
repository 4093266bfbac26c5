"""Reads the header of a GGUF file: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.

A file is untrusted: nothing is read beyond its end or the longest header.
"""

from __future__ import annotations

import mmap
import struct
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from recollect.errors import ModelUnavailableError
from recollect.providers.models.manifest import ENGLISH_PIECES
from recollect.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

T = TypeVar("T")
Value: TypeAlias = "str | int | float | bool"

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)  # version 1, with 32-bit counts, was in use for a few weeks only
_LONGEST_HEADER_BYTES = 1 << 26  # a vocabulary of 260,000 pieces needs a tenth of it
_CUT_OFF = "its header is cut off or endless"
_FORMS = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}
"""Types of numbers, as `struct` names them."""
_TEXT = 8
_ARRAY = 9

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
            length = min(path.stat().st_size, _LONGEST_HEADER_BYTES)
            with mmap.mmap(stream.fileno(), length, access=mmap.ACCESS_READ) as content:
                return _header(_HeaderReader(content).metadata())
    except OSError as error:
        reason = error.strerror or str(error)
        raise ModelUnavailableError(f"{path} cannot be read ({reason}).", action=action) from error
    except (_MalformedError, struct.error, OverflowError, ValueError) as error:
        reason = str(error) if isinstance(error, _MalformedError) else _CUT_OFF
        raise ModelUnavailableError(
            f"{path} is not a usable GGUF model: {reason}.", action=action
        ) from error


def _header(said: Mapping[str, Value]) -> GgufHeader:
    def value_of(kind: type[T], key: str) -> T | None:
        value = said.get(key)
        return value if isinstance(value, kind) else None

    architecture = value_of(str, "general.architecture")
    if not architecture:
        raise _MalformedError("it does not name its architecture")
    return GgufHeader(
        architecture=architecture,
        name=value_of(str, "general.name"),
        context_tokens=value_of(int, f"{architecture}.context_length"),
        dimensions=value_of(int, f"{architecture}.embedding_length_out")
        or value_of(int, f"{architecture}.embedding_length"),
        pooling=value_of(int, f"{architecture}.pooling_type"),
        tokenizer=value_of(str, "tokenizer.ggml.model"),
        vocabulary=value_of(int, "tokenizer.ggml.tokens") or 0,
    )


class _HeaderReader:
    """Reads values one after the other; `struct` refuses to read beyond the end."""

    def __init__(self, content: mmap.mmap) -> None:
        self._content = content
        self._at = 0

    def metadata(self) -> dict[str, Value]:
        """Return keys and values; the value of an array is its length."""
        if self._take(len(_MAGIC)) != _MAGIC:
            raise _MalformedError("it does not start with GGUF")
        version = self._number("I")
        if version not in _VERSIONS:
            raise _MalformedError(f"its version {version} is not one of {_VERSIONS}")
        self._number("Q")  # the number of tensors
        count = self._number("Q")
        found = {self._text(): self._value(self._number("I")) for _ in range(count)}
        if self._at > len(self._content):
            raise _MalformedError(_CUT_OFF)
        return found

    def _value(self, kind: int) -> Value:
        if kind == _TEXT:
            return self._text()
        if kind == _ARRAY:
            return self._array(self._number("I"), self._number("Q"))
        if kind not in _FORMS:
            raise _MalformedError(f"it has a value of the unknown type {kind}")
        return self._number(_FORMS[kind])

    def _array(self, kind: int, count: int) -> int:
        """Skip an array; return the count of its elements."""
        if kind == _TEXT:
            for _ in range(count):
                length = self._number("Q")
                self._at += length
        elif kind in _FORMS:
            self._at += struct.calcsize(_FORMS[kind]) * count
        else:
            raise _MalformedError(f"it has an array of the unknown type {kind}")
        return count

    def _text(self) -> str:
        return self._take(self._number("Q")).decode("utf-8", "replace")

    def _number(self, form: str) -> int:
        [value] = struct.unpack_from(f"<{form}", self._content, self._at)
        self._at += struct.calcsize(form)
        return value  # type: ignore[no-any-return]  # or a float, of which none is needed

    def _take(self, count: int) -> bytes:
        self._at += count
        return self._content[self._at - count : self._at]
