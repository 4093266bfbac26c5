"""The reader: real weights, real numbers."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from recollect.providers.cross_encoder import CrossEncoder, _best_part

if TYPE_CHECKING:
    from pathlib import Path

NOTES = (
    "The ferry leaves at nine from pier four.",
    "Mika is allergic to peanuts.",
    "The backup runs every night on the server in the cellar.",
)


@pytest.fixture(scope="module")
def encoder() -> CrossEncoder:
    return CrossEncoder()


def test_the_passage_that_answers_is_the_likeliest(encoder: CrossEncoder) -> None:
    questions = (
        "when does the boat depart",
        "who is allergic to peanuts",
        "when is the backup made",
    )

    judged = [encoder.score(question, NOTES, deadline=None) for question in questions]

    assert [0, 1, 2] == [scores.index(max(scores)) for scores in judged]
    assert all(0 <= score <= 1 for scores in judged for score in scores)


def test_a_score_does_not_depend_on_the_other_passages(encoder: CrossEncoder) -> None:
    alone = encoder.score("when does the ferry leave", NOTES[:1], deadline=None)
    among = encoder.score("when does the ferry leave", [NOTES[2] * 30, NOTES[0]], deadline=None)

    assert alone[0] == among[1]


def test_question_and_passage_are_told_apart(encoder: CrossEncoder) -> None:
    there = encoder.score("pier four", ["The ferry leaves from pier four at nine."], deadline=None)
    back = encoder.score("The ferry leaves from pier four at nine.", ["pier four"], deadline=None)

    assert there != back


def test_the_answer_is_found_deep_inside_a_long_passage(encoder: CrossEncoder) -> None:
    filler = "The weather was mild and the roads were dry that week. " * 30

    plain, deep = encoder.score(
        "who is allergic to peanuts", [filler, f"{filler}{NOTES[1]} {filler}"], deadline=None
    )

    assert deep > 0.5
    assert plain < 0.1


def test_what_the_model_sees_is_bounded(encoder: CrossEncoder) -> None:
    pasted = "when does the ferry leave " * 2000

    assert 3 == len(encoder.score(pasted, [note * 2000 for note in NOTES], deadline=None))


def test_the_part_of_a_long_passage_that_is_read_shares_most_with_the_question() -> None:
    sentences = [[0] * 50 for _ in range(20)]
    sentences[2] = [7] * 50
    sentences[14] = [7, 8, 9]

    found = _best_part(sentences, distinctive={7, 8, 9})

    assert ({0, 7, 8, 9}, 103) == (set(found), len(found))


def test_the_part_grows_towards_the_neighbour_that_shares_more() -> None:
    sentences = [[1] * 60, [7, 8], [7] * 60, [2] * 60]

    assert [7, 8, *[7] * 60, *[2] * 60] == _best_part(sentences, distinctive={7, 8, 2})


@pytest.mark.parametrize("lengths", [[0], [1], [128], [60, 68]])
def test_a_passage_that_fits_is_read_whole(lengths: list[int]) -> None:
    sentences = [list(range(length)) for length in lengths]

    whole = [each for sentence in sentences for each in sentence]
    assert whole == _best_part(sentences, distinctive=set())


def test_a_single_long_sentence_is_cut() -> None:
    assert list(range(128)) == _best_part([list(range(1000))], distinctive={1})


def test_after_the_deadline_nothing_is_begun(encoder: CrossEncoder) -> None:
    assert [] == encoder.score("when", NOTES, deadline=time.monotonic())


def test_no_passage_gives_no_score(encoder: CrossEncoder) -> None:
    assert [] == encoder.score("when", [], deadline=None)


def test_a_closed_model_loads_again_when_asked(encoder: CrossEncoder) -> None:
    before = encoder.score("when does the boat depart", NOTES, deadline=None)
    encoder.close()

    assert before == encoder.score("when does the boat depart", NOTES, deadline=None)


@pytest.mark.parametrize(("text", "share"), [("plain English", 1.0), ("数据库", 0.0)])
def test_the_model_reads_latin_letters(encoder: CrossEncoder, text: str, share: float) -> None:
    assert share == encoder.reads(text)


def test_the_runtime_reports_nothing_to_its_maker(tmp_path: Path) -> None:
    code = (
        "from recollect.providers.cross_encoder import CrossEncoder\n"
        "encoder = CrossEncoder()\n"
        "encoder.score('ping', ['pong'], deadline=None)\n"
    )
    environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}

    subprocess.run([sys.executable, "-c", code], env=environ, check=True)

    assert [] == list(tmp_path.iterdir())
