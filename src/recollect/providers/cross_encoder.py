"""The reranker: a small cross-encoder on the CPU, which reads question and passage together.

It was trained on English web questions (MS MARCO). Each pair is run alone, for the
reason given in `providers/local.py`; pairs run in parallel threads. A long passage is cut to the
part that shares most with the question, which may not be its start (docs/decisions/ranking.md).
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np

from recollect.providers.models.bert import WordPiece, bert_input, open_session, thread_count
from recollect.providers.models.files import read_model, resolve
from recollect.providers.models.manifest import MS_MARCO_MINILM, Manifest
from recollect.text.scripts import latin_share
from recollect.types import silent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from recollect.providers.options import ProviderOptions
    from recollect.types import Progress

_QUESTION_TOKENS = 64  # ten times a usual question; a pasted file must leave room for the passage
_PASSAGE_TOKENS = 128  # twice as many would take two and a half times as long
_STEP_TOKENS = 32  # between the windows of a passage that are compared
_FREQUENT = (
    "a an and are at by did do does for from had has have he her his how in is it its of on or "
    "she that the their they this to was were what when where which who why with . , ? ! '"
)
"""Words in nearly every window, which do not tell windows apart."""


class CrossEncoder:
    """Judges passages; loads its model on first use."""

    def __init__(self, manifest: Manifest, *, cache: Path) -> None:
        self._manifest = manifest
        self._cache = cache
        self._files: Mapping[str, bytes] | None = None
        self._model: _LoadedReranker | None = None

    def reads(self, text: str) -> float:
        return latin_share(text)

    def prepare(self, *, progress: Progress, retry: bool) -> None:
        if self._model is None and self._files is None:
            folder = resolve(
                self._manifest, configured=None, cache=self._cache, progress=progress, retry=retry
            )
            self._files = read_model(self._manifest, folder)

    def score(
        self, question: str, passages: Sequence[str], *, deadline: float | None
    ) -> list[float]:
        model = self._load()
        words = model.words
        question_ids = words.ids(question)[:_QUESTION_TOKENS]
        distinctive = set(question_ids).difference(words.ids(_FREQUENT))

        def judge(passage: str) -> float | None:
            if deadline is not None and time.monotonic() >= deadline:
                return None
            passage_ids = _best_window(words.ids(passage), distinctive=distinctive)
            return model.opinion(question_ids, passage_ids)

        with ThreadPoolExecutor(thread_count()) as pool:
            judged = list(pool.map(judge, passages))
        return [
            each for each in takewhile(lambda each: each is not None, judged) if each is not None
        ]

    def close(self) -> None:
        self._model = None

    def _load(self) -> _LoadedReranker:
        self.prepare(progress=silent, retry=False)
        if self._model is None:
            assert self._files is not None  # noqa: S101 - prepare either sets it or raises
            self._model, self._files = _LoadedReranker(self._files), None
        return self._model


class _LoadedReranker:
    """A loaded model."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.words = WordPiece.from_bytes(files["vocab.txt"])
        self._session = open_session(files["model.onnx"])

    def opinion(self, question: list[int], passage: list[int]) -> float:
        """Return the probability that a passage answers a question."""
        head = [self.words.cls_id, *question, self.words.sep_id]
        given = bert_input([*head, *passage, self.words.sep_id], second_from=len(head))
        logit = self._session.run(["logits"], given)[0][0, 0]
        return float(1.0 / (1.0 + np.exp(-np.float64(logit))))


def _best_window(ids: list[int], *, distinctive: set[int]) -> list[int]:
    """Return the part of a passage with the most distinctive pieces of the question.

    The first one on a tie; a short passage is returned whole.
    """
    last = len(ids) - _PASSAGE_TOKENS
    if last <= 0:
        return ids
    starts = [*range(0, last, _STEP_TOKENS), last]
    best = max(starts, key=lambda at: len(distinctive.intersection(ids[at : at + _PASSAGE_TOKENS])))
    return ids[best : best + _PASSAGE_TOKENS]


def open_cross_encoder(options: ProviderOptions, *, cache: Path) -> CrossEncoder:
    """Return the reranker of the settings; nothing is loaded or downloaded yet."""
    return CrossEncoder(MS_MARCO_MINILM, cache=options.model_cache or cache)
