"""The rerank model: real weights, real numbers."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from recollect.providers.cross_encoder import CrossEncoder, _best_window
from recollect.providers.models.files import read_model
from recollect.providers.models.manifest import MS_MARCO_MINILM

if TYPE_CHECKING:
    from pathlib import Path

NOTES = (
    "The ferry leaves at nine from pier four.",
    "Mika is allergic to peanuts.",
    "The backup runs every night on the server in the cellar.",
)


@pytest.fixture(scope="module")
def encoder(reranker_folder: Path) -> CrossEncoder:
    return CrossEncoder(MS_MARCO_MINILM, cache=reranker_folder.parent)


def test_the_real_model_is_the_pinned_one(reranker_folder: Path) -> None:
    assert read_model(MS_MARCO_MINILM, reranker_folder)


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

    assert deep > 0.1
    assert deep > 100 * plain


def test_what_the_model_sees_is_bounded(encoder: CrossEncoder) -> None:
    pasted = "when does the ferry leave " * 2000

    assert 3 == len(encoder.score(pasted, [note * 2000 for note in NOTES], deadline=None))


def test_a_window_of_a_long_passage_holds_most_of_the_telling_pieces() -> None:
    ids = [0] * 1000
    ids[700:703] = [7, 8, 9]
    ids[10] = 7

    found = _best_window(ids, distinctive={7, 8, 9})

    assert (128, {0, 7, 8, 9}) == (len(found), set(found))


@pytest.mark.parametrize("length", [0, 1, 128])
def test_a_passage_that_fits_is_read_whole(length: int) -> None:
    ids = list(range(length))

    assert ids == _best_window(ids, distinctive=set())


@pytest.mark.parametrize("length", [129, 160, 1000])
def test_the_end_of_a_long_passage_can_be_reached(length: int) -> None:
    ids = list(range(length))

    assert ids[-128:] == _best_window(ids, distinctive={length - 1})


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


def test_the_runtime_reports_nothing_to_its_maker(reranker_folder: Path, tmp_path: Path) -> None:
    code = (
        "import sys, pathlib\n"
        "from recollect.providers.cross_encoder import CrossEncoder\n"
        "from recollect.providers.models.manifest import MS_MARCO_MINILM\n"
        "cache = pathlib.Path(sys.argv[1])\n"
        "encoder = CrossEncoder(MS_MARCO_MINILM, cache=cache)\n"
        "encoder.score('ping', ['pong'], deadline=None)\n"
    )
    environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}

    subprocess.run([sys.executable, "-c", code, reranker_folder.parent], env=environ, check=True)

    assert [] == list(tmp_path.iterdir())
