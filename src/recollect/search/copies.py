"""Leaves out notes that say nothing but a superseded fact, and marks those that also say it.

A note repeats a claim if it contains the claim's words in order, or a sentence of nothing but its
words in any order: the old value, the subject, and words that change nothing. A note that states
the new value is never marked. Vectors cannot tell a claim from its denial, nor from the same claim
about something else: docs/decisions/facts.md.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from recollect.records import dataclass
from recollect.search.duplicates import wording
from recollect.search.notices import copy_notice
from recollect.text.claims import compare_claims

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from recollect.types import Hit, Results, SupersededFact

_OWN_LINE = re.compile(r"\s*(?:[-*+>#]|[0-9]+[.)]\s|$)")  # entry, quote, heading, or nothing
_HEADING = re.compile(r"\s*#")
_BETWEEN = re.compile(
    r"(?<=[.!?;…])[\s\"')\]*_]+|(?<=[。！？；])|\|"
)  # sentences, cells of a table
_ASKS = re.compile("[?？]")
_FILLERS = frozenset(
    wording(
        "this that these those and as at by for from in into of on onto to with is are am be s has "
        "have do does i me my we us our it its who which where there here also own just"
    ).split()
)
"""Words that a sentence may add to a claim without saying something else."""


def mark_copies(
    results: Results, *, superseded: Sequence[SupersededFact], keep: bool, most: int
) -> Results:
    """Return at most so many hits, with a mark on every one that repeats a superseded fact.

    Hits that say nothing else are left out, unless `keep`.
    """
    last = _last_ones(superseded)
    claims = [
        (claim, last[fact.id].by)
        for fact in superseded
        if (claim := _claim(fact.text, fact.about, last[fact.id].instead)).required
    ]
    hits: list[Hit] = []
    for hit in results.hits:
        if hit.fact is None:
            sentences = list(sentences_of(hit.text or hit.snippet))
            by = _repeated_in(sentences, claims)
            if by and not keep and _is_copy(sentences, claims):
                continue
            hit = replace(hit, superseded_by=by)  # noqa: PLW2901 - the same hit, marked
        hits.append(hit)
    shown = replace(results, hits=tuple(hits[:most]))
    if left_out := len(results.hits) - len(hits):
        return replace(
            shown,
            notices=(*results.notices, copy_notice(left_out)),
            confident=results.confident and bool(hits),
            confidence=results.confidence if hits else 0.0,
        )
    return shown


@dataclass(frozen=True, slots=True)
class _Claim:
    """What a superseded fact says, and what replaced it."""

    text: str
    instead: str
    said: str
    """Its words, between spaces."""
    allowed: frozenset[str]
    required: frozenset[str]
    """Empty if the new claim says everything the old one did."""
    fresh: frozenset[str]
    """Words of the new claim only."""

    def is_said_by(self, sentence: str) -> bool:
        """Return whether a sentence, given as words, states the claim and nothing else."""
        words = frozenset(sentence.split())
        return self.required <= words <= self.allowed and not self.fresh & words


@lru_cache(maxsize=4096)  # a process that stays compares the same facts again
def _claim(text: str, about: str, instead: str) -> _Claim:
    said = wording(text)
    old, new, subject = (
        frozenset(words.split()) for words in (said, wording(instead), wording(about))
    )
    changed = old - new - _FILLERS
    # If it does not say what it is about, all of it is the subject.
    required = changed | ((subject or old) & old - _FILLERS)
    return _Claim(
        text,
        instead,
        said,
        allowed=old | subject | _FILLERS,
        required=required if changed else frozenset(),
        fresh=new - old - _FILLERS,
    )


def _last_ones(superseded: Sequence[SupersededFact]) -> dict[str, SupersededFact]:
    """Return for each fact the end of its chain of successors, which names what holds now."""
    by_id = {fact.id: fact for fact in superseded}
    last: dict[str, SupersededFact] = {}
    for fact in superseded:
        passed: dict[str, SupersededFact] = {}
        while fact.id not in passed and fact.id not in last and fact.by in by_id:
            passed[fact.id] = fact
            fact = by_id[fact.by]  # noqa: PLW2901 - walks on
        end = last.get(fact.id, fact)
        last |= dict.fromkeys([*passed, fact.id], end)
    return last


def _repeated_in(sentences: Sequence[str], claims: Sequence[tuple[_Claim, str]]) -> str | None:
    """Return the id of the fact that replaced a claim which the sentences repeat."""
    said = [wording(each) for each in sentences if not _ASKS.search(each)]
    words = f" {' '.join(' '.join(said).split())} "
    stated = frozenset(wording(" ".join(sentences)).split())
    for claim, by in claims:
        is_possible = claim.required <= stated
        if claim.said in words or (is_possible and any(map(claim.is_said_by, said))):
            states_new = bool(claim.fresh) and claim.fresh <= stated
            is_merged = compare_claims(claim.text, claim.instead) is not None  # says the same
            if not states_new and not is_merged:
                return by
    return None


def _is_copy(sentences: Sequence[str], claims: Sequence[tuple[_Claim, str]]) -> bool:
    """Return whether a note says nothing but claims, apart from headings."""
    said = (wording(each) for each in sentences if not _HEADING.match(each))
    return all(
        any(words == claim.said or claim.is_said_by(words) for claim, _ in claims)
        for words in said
        if words.strip()
    )


def sentences_of(text: str) -> Iterator[str]:
    """Yield the sentences of Markdown; lines of one paragraph belong together."""
    paragraph: list[str] = []
    for line in [*text.splitlines(), ""]:
        if _OWN_LINE.match(line):
            yield from _BETWEEN.split(" ".join(paragraph))
            paragraph = []
        paragraph.append(line)
        if _HEADING.match(line):
            yield line
            paragraph = []
