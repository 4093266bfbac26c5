"""Exact matches: a query that is an identifier or a file name wants that, whatever its age."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from recollect.stores.base import Corpus, Loaded
    from recollect.text.terms import QueryTerms

    Floats = npt.NDArray[np.float64]

_RARE_SHARE = 0.02  # an "identifier" that occurs in more chunks than this identifies nothing
_RARE_COUNT = 10
_BODY_OR_HEADING = slice(0, 2)
_PATH = 2
_QUOTES = "\"'`“”‘’«»「」 \t\r\n"


def exactness(
    text: str, *, words: QueryTerms, loaded: Loaded, corpus: Corpus, scores: Floats
) -> npt.NDArray[np.int64]:
    """Return the tier of each chunk's exact match; 0 is no exact match.

    A named file counts most (whole path 3, base name 2, stem 1, all above any identifier) and lifts
    its best chunk; an identifier lifts every chunk that contains it, more identifiers more.
    """
    held = np.zeros(len(loaded.keys), dtype=np.int64)
    named = np.zeros(len(loaded.keys), dtype=np.int64)
    for identifier in words.identifiers:
        if corpus.frequencies[identifier] > max(_RARE_COUNT, _RARE_SHARE * corpus.chunks):
            continue
        counts = loaded.counts[:, words.terms.index(identifier)]
        held += counts[:, _BODY_OR_HEADING].any(axis=1)
        named += counts[:, _PATH] > 0
    asked = fold(text)
    specificity = np.array([_specificity(asked, each.path) for each in loaded.chunks], dtype=int)
    tiers = held + _best_of_each_file(named, loaded, scores)
    whole = _best_of_each_file(specificity, loaded, scores)
    return np.where(whole > 0, whole + len(words.identifiers) + 1, tiers)


def fold(text: str) -> str:
    """Return a name as it is compared: composed, case-folded, without quotes."""
    return unicodedata.normalize("NFC", text.strip(_QUOTES)).casefold()


@lru_cache(maxsize=1 << 12)  # a process that stays sees the same paths again
def _names(path: str) -> tuple[str, str, str]:
    """Return how a file may be named: by its path, its name, or its name without an ending."""
    whole = fold(path)
    name = whole.rpartition("/")[2]
    return whole, name, name.rpartition(".")[0] or name


def _specificity(asked: str, path: str) -> int:
    whole, name, stem = _names(path)
    return 3 if whole == asked else 2 if name == asked else 1 if stem == asked else 0


def _best_of_each_file(
    values: npt.NDArray[np.int64], loaded: Loaded, scores: Floats
) -> npt.NDArray[np.int64]:
    """Keep a file's value on its best chunk only, so that one file cannot fill the answer."""
    kept = np.zeros_like(values)
    if not values.any():
        return kept
    seen: set[str] = set()
    for row in np.argsort(-scores, kind="stable"):
        path = loaded.chunks[row].path
        if values[row] and path not in seen:
            seen.add(path)
            kept[row] = values[row]
    return kept
