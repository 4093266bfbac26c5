"""What a small BERT model needs: tokenizer, input, and an onnxruntime session.

Ids are those of Hugging Face `tokenizers`, except that control tokens such as `[SEP]` in a text are
plain text, so that a note cannot steer the model that reads it.
"""

from __future__ import annotations

import os
import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.text.scripts import CharTable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy.typing as npt

_MOST_THREADS = 8
_TOKEN_OUTPUTS = ("last_hidden_state", "token_embeddings")
_TOKEN_RANK = 3  # text, token, dimension
_MAX_WORD_CHARS = 100
"""A longer word is unknown to BERT."""

_MAX_CACHED_WORDS = 1 << 16

_ASCII_PART = re.compile(r"[0-9a-z]+|[!-/:-@\[-`{-~]")
_FIRST_IDEOGRAPH = "\u3400"
_IDEOGRAPH = (
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b81f"
    "\U0002b920-\U0002ceaf\U0002f800-\U0002fa1f]"
)
# `tokenizers` uses the categories of Unicode 8. Marks and punctuation added since have none there,
# and so have none here: ids must not depend on the Unicode version of this Python.
_LATER = re.compile(
    "[\u05c8\u05c9\u061d\u07fd\u0890-\u08e2\u09fd\u09fe\u0a76\u0afa-\u0aff\u0b53-\u0b55"
    "\u0c04-\u0c3c\u0c77\u0c84\u0d00\u0d3b\u0d3c\u0d81\u0eba\u0ece\u180f-\u1886\u1abf-\u1af0"
    "\u1b4e\u1b4f\u1b7d-\u1b7f\u1df6-\u1dfb\u2e43-\u2e63\ua82c\ua8c5\ua8ff\ua9bd"
    "\U00010d24-\U00010f89\U00011070-\U00011074\U000110c2-\U000110cd\U000111cf"
    "\U0001123e-\U00011241\U0001133b\U000113bb-\U0001145e\U00011660-\U0001166c\U000116b9"
    "\U0001182f-\U00011fff\U00012ff1-\U0001612f\U00016d6d-\U00016f4f\U00016fe2-\U00016fe4"
    "\U0001cf00-\U0001d128\U0001d25b\U0001d25c\U0001e000-\U0001e6f5\U0001e944-\U0001e95f]"
)
_CHANGED_SINCE = {"\u166d": "Po", "\u1734": "Mn", "\U000111c9": "Po", "\U0001171e": "Mn"}


class WordPiece:
    """Turns a text into the ids of a BERT vocabulary."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._ids = {piece: number for number, piece in enumerate(vocabulary)}
        self._unknown = self._ids["[UNK]"]
        self.start_id, self.end_id = self._ids["[CLS]"], self._ids["[SEP]"]
        self._word_ids = lru_cache(maxsize=_MAX_CACHED_WORDS)(self._pieces)

    @classmethod
    def from_bytes(cls, content: bytes) -> WordPiece:
        """Read a vocabulary with one piece per line."""
        return cls(content.decode("utf-8").removesuffix("\n").split("\n"))

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text, without control tokens and of any length."""
        return [number for word in _words(text) for number in self._word_ids(word)]

    def words(self, text: str) -> list[tuple[str, tuple[int, ...]]]:
        """Return the words of a text, each with its ids."""
        return [(word, self._word_ids(word)) for word in _words(text)]

    def _pieces(self, word: str) -> tuple[int, ...]:
        """Return the longest pieces from left to right, or unknown if there is a gap."""
        if len(word) > _MAX_WORD_CHARS:
            return (self._unknown,)
        pieces: list[int] = []
        start = 0
        while start < len(word):
            lead = "##" if start else ""
            for end in range(len(word), start, -1):
                piece = self._ids.get(lead + word[start:end])
                if piece is not None:
                    pieces.append(piece)
                    start = end
                    break
            else:
                return (self._unknown,)
        return tuple(pieces)


def _words(text: str) -> list[str]:
    """Return words and punctuation signs, in lower case and without accents."""
    cleaned = text.translate(_CLEANED)
    if cleaned.isascii():
        return _ASCII_PART.findall(cleaned.lower())
    return unicodedata.normalize("NFD", cleaned).translate(_PARTED).split()


def _category(char: str) -> str:
    if _LATER.match(char):
        return "Cn"
    return _CHANGED_SINCE.get(char) or unicodedata.category(char)


def _cleaned(char: str) -> str:
    if char.isspace() and (char in "\t\n\r" or _category(char) != "Cc"):
        return " "
    if char in "\0\ufffd" or _category(char) in {"Cc", "Cf", "Co", "Cs"}:
        return ""
    # Not compiled before: that takes 4 ms, which only ideographs need.
    return f" {char} " if char >= _FIRST_IDEOGRAPH and re.match(_IDEOGRAPH, char) else char


def _parted(char: str) -> str:
    category = _category(char)
    if category == "Mn":
        return ""
    is_sign = category[0] == "P" or (char.isascii() and char.isprintable() and not char.isalnum())
    # Character by character, unlike `str.lower` on a word, which treats a final sigma differently.
    return f" {char} " if is_sign else char.lower()


_CLEANED = CharTable(_cleaned)
_PARTED = CharTable(_parted)


def bert_input(
    ids: list[int], *, second_from: int | None = None
) -> dict[str, npt.NDArray[np.int64]]:
    """Return one sequence as model input; the second text of a pair starts at `second_from`."""
    tokens = np.array([ids], dtype=np.int64)
    types = np.zeros_like(tokens)
    if second_from is not None:
        types[0, second_from:] = 1
    return {
        "input_ids": tokens,
        "attention_mask": np.ones_like(tokens),
        "token_type_ids": types,
    }


def thread_count() -> int:
    """Return how many inputs to run in parallel on this machine."""
    return min(os.cpu_count() or 1, _MOST_THREADS)


def open_session(model: Path | bytes) -> Any:  # noqa: ANN401 - onnxruntime has no types
    """Load a model; each run uses one thread, so that inputs can run in parallel."""
    # Some builds of the runtime send telemetry unless it is disabled before the import.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime  # noqa: PLC0415 - 90 ms, only for users of a model

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    # Spinning threads waste the cores of a shared machine.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    given = model if isinstance(model, bytes) else str(model)
    return onnxruntime.InferenceSession(given, options, providers=["CPUExecutionProvider"])


def token_output(session: Any) -> str | None:  # noqa: ANN401 - onnxruntime has no types
    """Return the name of the output with one vector per token; None if there is none."""
    by_token = [each.name for each in session.get_outputs() if len(each.shape) == _TOKEN_RANK]
    return next((name for name in (*_TOKEN_OUTPUTS, *by_token) if name in by_token), None)
