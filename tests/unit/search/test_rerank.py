"""The reader: what its opinion adds, and everything that must stay as it was."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import exp, log
from typing import TYPE_CHECKING

import numpy as np
import pytest

from recollect.errors import ModelUnavailableError
from recollect.search.options import RerankOptions
from recollect.search.rerank import CANDIDATES, Standing, rerank
from recollect.search.scores import RATE, raised
from recollect.types import Chunk, SourceKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

OPTIONS = RerankOptions(enabled=True, weight=0.5)


@dataclass
class Judge:
    """A reranker that knows the answers beforehand, and how many it finds the time for."""

    opinions: dict[str, float]
    in_time: int = 99
    unavailable: bool = False
    asked: list[str] = field(default_factory=list)

    def reads(self, text: str) -> float:
        return float(text.isascii())

    def prepare(self) -> None:
        if self.unavailable:
            raise ModelUnavailableError("No such model.", action="Fetch it.")

    def score(
        self, question: str, passages: Sequence[str], *, deadline: float | None
    ) -> list[float]:
        assert question
        assert deadline is not None
        self.asked.extend(passages)
        return [self.opinions[passage] for passage in passages][: self.in_time]

    def close(self) -> None: ...


def standing(scores: dict[str, float], *, ceiling: float = 1.0) -> Standing:
    chunks = [Chunk(f"{text}.md", SourceKind.MEMORY, 1, 1, text) for text in scores]
    return Standing(
        scores=np.array(list(scores.values())),
        ceilings=np.full(len(scores), ceiling),
        order=sorted(range(len(scores)), key=lambda row: -list(scores.values())[row]),
        chunks=chunks,
    )


def look(judge: Judge, stands: Standing, options: RerankOptions = OPTIONS) -> list[float]:
    looked = rerank("which", standing=stands, reranker=judge, options=options)
    assert looked.degradation is None
    return [float(score) for score in looked.scores]


def test_an_opinion_is_evidence_that_adds_to_the_legs() -> None:
    evidence = 0.2
    score = 1 - exp(-RATE * evidence)

    scores = raised(np.array([score]), evidence=np.array([0.5 * 0.9]), ceilings=np.array([1.0]))

    assert 1 - exp(-RATE * (0.2 + 0.5 * 0.9)) == pytest.approx(scores[0])
    assert 0.2 + 0.45 == pytest.approx(-log(1 - scores[0]) / RATE)


def test_no_opinion_leaves_a_score_as_it_is() -> None:
    assert [0.4, 0.7] == look(Judge({"a": 0.0, "b": 0.0}), standing({"a": 0.4, "b": 0.7}))


def test_what_the_model_is_sure_of_overtakes_what_it_is_not() -> None:
    first, second = look(Judge({"a": 0.1, "b": 0.95}), standing({"a": 0.5, "b": 0.4}))

    assert first < second < 1


def test_what_was_not_asked_about_stays_below_what_was() -> None:
    scores = {f"text {place}": 0.9 - place / 100 for place in range(CANDIDATES + 1)}
    *read, _ = scores
    judge = Judge(dict.fromkeys(read, 0.0))

    assert list(scores.values()) == look(judge, standing(scores))
    assert read == judge.asked


def test_no_score_rises_above_its_ceiling() -> None:
    scores = raised(np.array([0.9, 0.3]), evidence=np.full(2, 100.0), ceilings=np.array([1.0, 0.4]))

    assert [1.0, 0.4] == pytest.approx(scores.tolist())


@pytest.mark.parametrize(
    ("opinions", "probability"), [({"a": 0.5, "b": 0.5}, 0.75), ({"a": 0.0, "b": 0.0}, 0.0)]
)
def test_one_answer_among_the_best_is_enough(
    opinions: dict[str, float], probability: float
) -> None:
    stands = standing({"a": 0.5, "b": 0.4})

    looked = rerank("which", standing=stands, reranker=Judge(opinions), options=OPTIONS)

    assert probability == looked.probability


def test_what_was_left_out_may_be_the_answer() -> None:
    stands = standing({"a": 0.5, "备份": 0.4})

    looked = rerank("which", standing=stands, reranker=Judge({"a": 0.0}), options=OPTIONS)

    assert looked.probability is None


def test_an_opinion_ages_as_the_score_does() -> None:
    new = raised(np.array([0.5]), evidence=np.array([0.4]), ceilings=np.array([1.0]))
    old = raised(np.array([0.2]), evidence=np.array([0.4]), ceilings=np.array([0.4]))

    assert 0.4 * new[0] == pytest.approx(old[0])


def test_out_of_time_the_order_stands_and_the_answer_says_so() -> None:
    stands = standing({"a": 0.5, "b": 0.4, "c": 0.3})
    judge = Judge({"a": 0.0, "b": 1.0, "c": 1.0}, in_time=2)

    looked = rerank("which", standing=stands, reranker=judge, options=OPTIONS)

    assert stands.scores.tolist() == looked.scores.tolist()
    assert looked.degradation is not None
    assert "2 of 3 candidates in 5000 ms" in looked.degradation.reason
    assert "rerank.budget_ms" in looked.degradation.action


def test_without_its_model_the_order_stands_and_the_answer_says_so() -> None:
    stands = standing({"a": 0.5, "b": 0.4})

    looked = rerank("which", standing=stands, reranker=Judge({}, unavailable=True), options=OPTIONS)

    assert stands.scores.tolist() == looked.scores.tolist()
    assert looked.degradation is not None
    assert ("No such model.", "Fetch it.") == (
        looked.degradation.reason,
        looked.degradation.action,
    )


def test_a_question_in_a_script_the_model_does_not_read_is_not_judged() -> None:
    judge = Judge({"a": 1.0})

    looked = rerank("哪个", standing=standing({"a": 0.5}), reranker=judge, options=OPTIONS)

    assert ([0.5], []) == (looked.scores.tolist(), judge.asked)
    assert (None, None) == (looked.degradation, looked.probability)


def test_a_chunk_in_a_script_the_model_does_not_read_rises_with_the_best() -> None:
    judge = Judge({"a": 0.1, "b": 0.9})

    first, second, unread = look(judge, standing({"a": 0.6, "b": 0.5, "备份": 0.4}))

    assert ["a", "b"] == judge.asked
    assert first < unread < second
