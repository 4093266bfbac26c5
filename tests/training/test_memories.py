"""Training data: as the brief describes it, and apart from what judges the models."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from training.memories import HELD_OUT, Memory, best_part, read, read_all

ROOT = Path(__file__).parent.parent.parent
JUDGES = (
    *sorted((ROOT / "bench" / "memories").glob("*/questions.jsonl")),
    *sorted((ROOT / "tests" / "golden" / "cases").glob("*.jsonl")),
)


@pytest.fixture(scope="module")
def memories() -> list[Memory]:
    return read_all()


def test_every_memory_has_questions_of_every_kind_and_enough_without_an_answer(
    memories: list[Memory],
) -> None:
    for memory in memories:
        kinds = Counter(question.kind for question in memory.questions)
        share = kinds["absent"] / len(memory.questions)

        assert 6 == len(kinds), memory.name
        assert 0.1 < share < 0.25, memory.name


def test_no_question_stands_twice_in_a_memory(memories: list[Memory]) -> None:
    for memory in memories:
        texts = Counter(question.text for question in memory.questions)

        assert [] == [text for text, count in texts.items() if count > 1], memory.name


def test_no_question_that_judges_a_model_is_trained_on(memories: list[Memory]) -> None:
    trained = {question.text.casefold() for memory in memories for question in memory.questions}
    judging = {
        json.loads(line)["query"].casefold()
        for file in JUDGES
        for line in file.read_text(encoding="utf-8").splitlines()
    }

    assert len(judging) > 300
    assert set() == trained & judging


def test_each_memory_that_is_held_out_exists(memories: list[Memory]) -> None:
    held = {memory.name[:4] for memory in memories if memory.is_held_out}

    assert set(HELD_OUT) == held


def test_a_line_that_names_an_unknown_note_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "A-01.jsonl"
    note = {"note": "n01", "path": "a.md", "text": "The kiln is paid."}
    question = {"q": "is the kiln paid?", "kind": "natural", "notes": ["n02"]}
    file.write_text(f"{json.dumps(note)}\n{json.dumps(question)}\n", encoding="utf-8")

    with pytest.raises(ValueError, match="n02"):
        read(file)


def test_of_a_long_note_the_part_is_read_that_shares_most_with_the_question() -> None:
    note = "\n".join([*["Nothing happened today at all."] * 60, "The kiln cost 90 euros."])

    part = best_part(note, "what did the kiln cost?", most_words=20)

    assert "The kiln cost 90 euros." in part
    assert len(part.split()) <= 20
