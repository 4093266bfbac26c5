"""Leaves out notes that say nothing but a superseded fact, and marks those that also say it.

A correction is written once; the old claim may be in several notes. What else they say may be the
answer, so such notes are marked with the fact that replaced the claim.

A note repeats a claim if it contains the claim's words in order, or a sentence of nothing but its
words in any order and inflection: the old value, the subject, and words that change nothing. A note
that states the new value is never marked. Vectors cannot tell a claim from its denial, nor from the
same claim about something else: docs/decisions/facts.md.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.records import dataclass
from recollect.search.notices import copy_notice
from recollect.text.claims import compare_claims
from recollect.text.terms import terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from recollect.types import Hit, Results, SupersededFact

_STEM_CHARS = 3  # first characters of a word, which its inflections share
_OWN_LINE = re.compile(r"\s*(?:[-*+>#]|[0-9]+[.)]\s|$)")  # entry, quote, heading, or nothing
_HEADING = re.compile(r"\s*#")
_BETWEEN = re.compile(
    r"(?<=[.!?;…])[\s\"')\]*_]+|(?<=[。！？；])|\|"
)  # sentences, cells of a table
_APART = {code: " " for code in range(128) if not chr(code).isalnum()}
_ASKS = re.compile("[?？]")


def mark_copies(
    results: Results, *, superseded: Sequence[SupersededFact], keep: bool, most: int
) -> Results:
    """Return at most so many hits, with a mark on every one that repeats a superseded fact.

    Hits that say nothing else are left out, unless `keep`.
    """
    claims = list(_claims(superseded))
    hits = [
        hit
        if hit.fact is not None
        else replace(hit, superseded_by=_repeated_in(_text(hit), claims))
        for hit in results.hits
    ]
    kept = [hit for hit in hits if keep or not (hit.superseded_by and _is_copy(hit, claims))]
    shown = replace(results, hits=tuple(kept[:most]))
    if len(kept) == len(hits):
        return shown
    return replace(
        shown,
        notices=(*results.notices, copy_notice(len(hits) - len(kept))),
        confident=results.confident and bool(kept),
        confidence=results.confidence if kept else 0.0,
    )


@dataclass(frozen=True, slots=True)
class _Claim:
    """What a superseded fact says, and what replaced it."""

    words: str
    stems: frozenset[str]
    """Stems of the words by which it differs: a cheap first test."""
    text: str
    about: str
    instead: str
    by: str


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence of a note, as terms."""

    stems: frozenset[str]
    terms: frozenset[str]
    past: frozenset[str]
    """Words in the past tense: `lived` has the same term as `lives`."""


@dataclass(frozen=True, slots=True)
class _Gist:
    """A claim, as terms."""

    allowed: frozenset[str]
    required: frozenset[str]
    """Empty if the new claim says everything the old one did."""
    fresh: frozenset[str]
    """Terms of the new claim only."""
    past: frozenset[str]

    def is_said_by(self, sentence: _Sentence) -> bool:
        """Return whether a sentence states the claim, in the present tense, and nothing else."""
        is_claim = self.required <= sentence.terms <= self.allowed
        return is_claim and not self.fresh & sentence.terms and sentence.past <= self.past


def _claims(superseded: Sequence[SupersededFact]) -> Iterator[_Claim]:
    last = _last_ones(superseded)
    for fact in superseded:
        instead = last[fact.id].instead
        words = _words(fact.text)
        differing = _stems(words) - _stems(_words(instead)) - _FILLER_STEMS
        yield _Claim(words, differing, fact.text, fact.about, instead, last[fact.id].by)


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


def _repeated_in(text: str, claims: Sequence[_Claim]) -> str | None:
    """Return the id of the fact that replaced a claim which the text repeats."""
    said = [each for each in _sentences(text) if not _ASKS.search(each)]
    words = _words(" ".join(said))
    stems = _stems(words)
    possible = [claim for claim in claims if claim.stems <= stems]
    if not possible:
        return None
    sentences = [_sentence(each) for each in said]
    stated = frozenset(terms(text))
    for claim in possible:
        near = [each for each in sentences if claim.stems <= each.stems]
        is_quoted = claim.words in words
        if not near and not is_quoted:
            continue
        gist = _gist(claim)
        states_new = bool(gist.fresh) and gist.fresh <= stated
        if not gist.required or states_new:
            continue
        if compare_claims(claim.text, claim.instead) is not None:
            continue  # merged with a fact that says the same
        if is_quoted or any(map(gist.is_said_by, near)):
            return claim.by
    return None


def _is_copy(hit: Hit, claims: Sequence[_Claim]) -> bool:
    """Return whether a note says nothing but claims, apart from headings."""
    said = (each for each in _sentences(_text(hit)) if not _HEADING.match(each))
    gists = [(claim.words, gist) for claim in claims if (gist := _gist(claim)).required]
    return all(
        any(_words(each) == words or gist.is_said_by(_sentence(each)) for words, gist in gists)
        for each in said
        if _words(each).strip()
    )


def _text(hit: Hit) -> str:
    return hit.text or hit.snippet


def _sentence(text: str) -> _Sentence:
    return _Sentence(_stems(_words(text)), frozenset(terms(text)), _past(text))


def _gist(claim: _Claim) -> _Gist:
    old, new = frozenset(terms(claim.text)), frozenset(terms(claim.instead))
    about = frozenset(terms(claim.about))
    changed = old - new - _FILLERS
    # If it does not say what it is about, all of it is the subject.
    subject = (about or old) & old - _FILLERS
    return _Gist(
        allowed=old | about | _FILLERS,
        required=changed | subject if changed else frozenset(),
        fresh=new - old - _FILLERS,
        past=_past(claim.text),
    )


def _past(text: str) -> frozenset[str]:
    return frozenset(word for word in _words(text).split() if word.endswith("ed"))


def _sentences(text: str) -> Iterator[str]:
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


def _words(text: str) -> str:
    """Return the words of a text in one case, without punctuation or markup."""
    if text.isascii():
        kept = text.casefold().translate(_APART)
    else:
        folded = unicodedata.normalize("NFKC", text).casefold()
        kept = "".join(char if char.isalnum() else " " for char in folded)
    return f" {' '.join(kept.split())} "


def _stems(words: str) -> frozenset[str]:
    return frozenset(word[:_STEM_CHARS] for word in words.split())


_FILLER_WORDS = (
    "a an the this that these those and as at by for from in into of on onto to with is are am be "
    "has have do does i me my we us our it its who which where there here also own just"
)
_FILLERS = frozenset(terms(_FILLER_WORDS))
"""Words that a sentence may add to a claim without saying something else."""
_FILLER_STEMS = _stems(_FILLER_WORDS)
