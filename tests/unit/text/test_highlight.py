"""The words that a page marks are those that the keyword leg matches, in every script."""

from __future__ import annotations

import pytest

from recollect.text.highlight import matched_words


@pytest.mark.parametrize(
    ("text", "question", "wanted"),
    [
        ("Backups of the backup-server.", "how do we backup", ("Backups", "backup")),
        ("Der Zug fährt über Zürich", "zurich", ("Zürich",)),
        ("他每天骑自行车上班", "他的自行车在哪里", ("自行车",)),
        ("猫的名字叫墨墨", "猫叫什么", ("猫", "叫")),
        ("고양이는 생선을 먹는다", "고양이", ("고양이",)),
        ("Он купил велосипеды", "велосипед", ("велосипеды",)),
        ("see src/types.py here", "src/types.py", ("src/types.py",)),
        ("The end of it", "of the", ("The", "of")),
        ("nothing of that kind", "certificate", ()),
    ],
)
def test_words_are_found_in_the_form_in_which_they_are_written(
    text: str, question: str, wanted: tuple[str, ...]
) -> None:
    assert wanted == matched_words(text, question=question)
