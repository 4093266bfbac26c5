"""Which texts count as English, on invented memories in eleven languages."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from recollect.text.language import is_english

DATA = Path(__file__).parents[3] / "training" / "data"
LEAST = {"en": 0.995, "de": 0.85, "pt": 0.94, "es": 0.93, "fr": 0.95}
"""Shares of the notes, and of the questions, whose language is told; of other scripts nearly all.

A question of two or three nouns has nothing that tells it from English.
"""
LEAST_BY_SCRIPT = 0.985


@pytest.mark.parametrize("kind", ["text", "q"])
def test_the_language_of_notes_and_questions_is_told(kind: str) -> None:
    count, right = Counter[str](), Counter[str]()
    for file in sorted(DATA.glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            fields = json.loads(line)
            if kind in fields:
                language = fields.get("lang", "en")
                count[language] += 1
                right[language] += is_english(fields[kind]) == (language == "en")

    shares = {language: right[language] / count[language] for language in count}
    assert 11 == len(shares)
    assert {} == {
        language: share
        for language, share in shares.items()
        if share < LEAST.get(language, LEAST_BY_SCRIPT)
    }


@pytest.mark.parametrize(
    ("text", "is_it"),
    [
        ("", True),
        ("4711", True),
        ("backup server", True),
        ("Jörg Müller from Zürich", True),
        ("git push origin main --force", True),
        ("Who set PROD_DE to EN?", True),
        ("数据库", False),
        ("ab 数据库", False),
        ("Wo ist der Schlüssel?", False),
        ("¿llevan elefantes?", False),
        ("przełącznik światła", False),
    ],
)
def test_function_words_and_letters_decide(text: str, *, is_it: bool) -> None:
    assert is_it == is_english(text)
