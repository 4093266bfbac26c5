"""Our stemmer gives what Snowball's gives, whose stems are in every index."""

from __future__ import annotations

import random
import re
from pathlib import Path

from snowballstemmer.english_stemmer import EnglishStemmer

from recollect.text.english import stem_english

SUFFIXES = (
    "s ies ied sses ss us eed eedly ed edly ing ingly y bli abli alli fulli lessli ousli entli"
    " aliti biliti iviti tional ational alism ation ization izer ator iveness fulness ousness ogist"
    " ogi li enci anci icate ative alize iciti ical ful ness ic ance ence able ible ate ive ize iti"
    " al ism ion er ous ant ent ment ement e l ll at bl iz bb tt le"
)
PREFIXES = (
    "arsen commun emerg gener inter later organ past univers succ proc exc even cann inn earr herr"
    " out d t l y sk howe news andes atlas bias cosmos early gently idly only singly skies skis"
    " ugly"
)
LETTERS = "aeiouybcdlnrstwxyzpgm"


def made_up(count: int) -> set[str]:
    """Return words that meet the conditions of the rules more often than real ones do."""
    rng = random.Random(3)
    prefixes, suffixes = PREFIXES.split(), SUFFIXES.split()
    found = set(prefixes)
    while len(found) < count:
        start = rng.choice(prefixes) if rng.random() < 0.2 else ""
        middle = "".join(rng.choices(LETTERS, k=rng.randint(0, 5)))
        end = "".join(rng.choices(suffixes, k=rng.randint(0, 3)))
        found.add(f"{start}{middle}{end}" or "a")
    return found


def real() -> set[str]:
    root = Path(__file__).parents[3]
    pages = [*root.glob("docs/**/*.md"), *root.glob("examples/**/*.md")]
    return {
        word
        for page in pages
        for word in re.findall("[a-z]+", page.read_text(encoding="utf-8").lower())
    }


def test_every_stem_is_that_of_snowball() -> None:
    snowball = EnglishStemmer()
    words = sorted(made_up(12_000) | real())
    differing = [word for word in words if stem_english(word) != snowball.stemWord(word)]
    assert differing == []
