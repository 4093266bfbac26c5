"""Weights and quotas of sources."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recollect.search.factors import weigh_sources
from recollect.search.select import keep_quota
from recollect.types import SourceKind

NOTE, TALK = SourceKind.MEMORY, SourceKind.SESSIONS


def order(scores: list[float], sources: list[SourceKind]) -> list[int]:
    rows = sorted(range(len(scores)), key=lambda row: -scores[row])
    return keep_quota(rows, scores=np.array(scores), sources=sources)


def test_a_transcripts_score_is_multiplied_by_its_weight() -> None:
    weighed = weigh_sources(np.array([0.5, 0.5]), sources=(NOTE, TALK))

    assert [0.5, 0.45] == weighed.tolist()


def test_half_of_the_hits_may_be_transcripts_while_good_notes_are_left() -> None:
    scores = [0.9, 0.8, 0.7, 0.6, 0.5]

    assert [0, 3, 1, 4, 2] == order(scores, [TALK, TALK, TALK, NOTE, NOTE])


def test_a_note_that_is_less_than_half_as_good_waits() -> None:
    assert [0, 1, 2] == order([0.9, 0.8, 0.3], [TALK, TALK, NOTE])


def test_without_notes_nothing_is_put_back() -> None:
    assert [0, 1] == order([0.9, 0.8], [TALK, TALK])


def test_notes_are_never_put_back() -> None:
    assert [0, 1, 2] == order([0.9, 0.8, 0.7], [NOTE, NOTE, TALK])


@given(
    given=st.lists(st.tuples(st.floats(0.01, 1), st.sampled_from([NOTE, TALK])), max_size=30),
)
def test_nothing_is_lost_and_each_source_keeps_its_own_order(
    given: list[tuple[float, SourceKind]],
) -> None:
    scores, sources = [each[0] for each in given], [each[1] for each in given]
    rows = sorted(range(len(scores)), key=lambda row: -scores[row])

    kept = order(scores, sources)

    assert sorted(rows) == sorted(kept)
    for source in (NOTE, TALK):
        assert [row for row in rows if sources[row] is source] == [
            row for row in kept if sources[row] is source
        ]
