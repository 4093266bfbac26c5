"""The reader: a small cross-encoder on the CPU, which reads question and passage together.

Each pair is run alone, for the reason given in `providers/local.py`. A long passage is cut to the
sentences around what shares most with the question (docs/decisions/ranking.md).
"""

from __future__ import annotations

import math
import re
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.providers.models.bert import WordPiece, bert_input, open_session, thread_count
from recollect.providers.models.files import read_model
from recollect.providers.models.manifest import READER
from recollect.text.scripts import latin_share

if TYPE_CHECKING:
    from collections.abc import Sequence

_QUESTION_TOKENS = 64  # ten times a usual question; a pasted file must leave room for the passage
_PASSAGE_TOKENS = 128  # twice as many would take two and a half times as long
_PIECE_END = re.compile(r"(?<=[.!?…])\s+|\n+")
_SLOPE, _START = 0.44, -1.06
"""The logarithm of the odds that a passage answers is start + slope · logit, fitted on the memories
that the reader was not trained on: docs/decisions/confidence.md."""
_FREQUENT = (
    "a an and are at by did do does for from had has have he her his how in is it its of on or "
    "she that the their they this to was were what when where which who why with . , ? ! '"
)
"""Words in nearly every sentence, which do not tell sentences apart."""


class CrossEncoder:
    """Judges passages; loads its model on first use."""

    def __init__(self) -> None:
        self._model: tuple[WordPiece, Any] | None = None

    def reads(self, text: str) -> float:
        return latin_share(text)

    def prepare(self) -> None:
        self._loaded()

    def score(
        self, question: str, passages: Sequence[str], *, deadline: float | None
    ) -> list[float]:
        words, session = self._loaded()
        question_ids = words.ids(question)[:_QUESTION_TOKENS]
        distinctive = set(question_ids).difference(words.ids(_FREQUENT))
        head = [words.start_id, *question_ids, words.end_id]

        def judge(passage: str) -> float | None:
            """Return the probability that a passage answers the question; None if it is late."""
            if deadline is not None and time.monotonic() >= deadline:
                return None
            pieces = [words.ids(piece) for piece in _PIECE_END.split(passage)]
            part = _best_part(pieces, distinctive=distinctive)
            given = bert_input([*head, *part, words.end_id], second_from=len(head))
            logit = float(session.run(["logits"], given)[0][0, 0])
            return 1.0 / (1.0 + math.exp(-_START - _SLOPE * logit))

        with ThreadPoolExecutor(thread_count()) as pool:
            judged = list(pool.map(judge, passages))
        return [
            each for each in takewhile(lambda each: each is not None, judged) if each is not None
        ]

    def close(self) -> None:
        self._model = None

    def _loaded(self) -> tuple[WordPiece, Any]:
        model = self._model
        if model is None:
            files = read_model(READER, None)
            model = WordPiece.from_bytes(files["vocab.txt"]), open_session(files["model.onnx"])
            self._model = model
        return model


def _best_part(pieces: list[list[int]], *, distinctive: set[int]) -> list[int]:
    """Return the part of a passage around what shares most, grown to the side that shares more."""
    shared = [len(distinctive.intersection(piece)) for piece in pieces]
    around = [own + sum(shared[max(0, at - 1) : at + 2]) / 2 for at, own in enumerate(shared)]
    first = int(np.argmax(around))
    last = first + 1
    room = _PASSAGE_TOKENS - len(pieces[first])
    while first > 0 or last < len(pieces):
        before = shared[first - 1] if first > 0 else -1
        after = shared[last] if last < len(pieces) else -1
        room -= len(pieces[first - 1 if before >= after else last])
        if room < 0:
            break
        first, last = (first - 1, last) if before >= after else (first, last + 1)
    return [number for piece in pieces[first:last] for number in piece][:_PASSAGE_TOKENS]
