"""Other forms of a word that a stemmer keeps apart: lose and lost, allergy and allergic.

Only for words that occur nowhere: of a word that occurs, its own notes are the best answer.
"""

from __future__ import annotations

from functools import cache

from recollect.text.scripts import fold, stem
from recollect.text.terms import stop_terms

# Irregular verbs and nouns, and words of one root. Stop words are left out: they say little.
_GROUPS = """
begin began begun, bite bit bitten, blow blew blown, break broke broken, bring brought,
build built, burn burnt, buy bought, catch caught, choose chose chosen choice, deal dealt,
dig dug, draw drew drawn, dream dreamt, drink drank drunk, drive drove driven, eat ate eaten,
fall fell fallen, feed fed food, feel felt, fight fought, find found, flee fled, fly flew flown,
forget forgot forgotten, freeze froze frozen, grow grew grown growth, hang hung, hear heard,
hide hid hidden, hold held, keep kept, lead led, learn learnt, leave left, lend lent,
lose lost loss,
mean meant, meet met, pay paid, ride rode ridden, ring rang rung, rise rose risen, run ran,
see saw seen, seek sought, sell sold sale, send sent, shake shook shaken, shine shone, shoot shot,
sing sang sung song, sink sank sunk, sit sat, sleep slept, speak spoke spoken speech, spend spent,
stand stood, steal stole stolen, stick stuck, strike struck, swim swam swum, take took taken,
teach taught, tear tore torn, think thought, throw threw thrown, wake woke woken, wear wore worn,
win won, write wrote written, child children, foot feet, goose geese, man men, mouse mice,
person people, tooth teeth, wife wives, knife knives, life lives, leaf leaves, shelf shelves,
die death dead, high height, long length, strong strength, wide width, deep depth, warm warmth,
marry marriage, analysis analyse, advice advise, proof prove, belief believe, choir chorus
"""
_ENDINGS = (("i", ""), ("craci", "crat"), ("s", "d"), ("tion", "t"))
"""What stems of one root end in: allergi and allerg, democraci and democrat, decis and decid."""
_MIN_ROOT = 5
_MIN_BARE_ROOT = 6
"""Where nothing takes the place of an ending: allergi is of one root with allerg, but not parti
with part."""
_UMLAUTS = (("ä", "ae", "a"), ("ö", "oe", "o"), ("ü", "ue", "u"))


def forms_of(word: str) -> frozenset[str]:
    """Return the terms of other forms of a word, which is given as it is written."""
    lower = word.casefold()
    root = stem(fold(lower))
    found = set(_related().get(root, ()))
    found.update(_spellings(lower))
    for one, other in _ENDINGS:
        for own, instead in ((one, other), (other, one)):
            kept = root.removesuffix(own)
            least = _MIN_ROOT - 1 if own and instead else _MIN_BARE_ROOT
            if root.endswith(own) and len(kept) >= least and len(root) >= _MIN_ROOT:
                found.add(f"{kept}{instead}")
    return frozenset(found - stop_terms() - {root})


def _spellings(lower: str) -> set[str]:
    """Return German words with ä for ae and the reverse; terms have neither dots nor ß."""
    if len(lower) < _MIN_ROOT:
        return set()  # poet is not pot
    dotted, plain = lower, lower
    for umlaut, digraph, letter in _UMLAUTS:
        dotted = dotted.replace(umlaut, digraph)
        plain = plain.replace(digraph, letter)
    return {stem(fold(each)) for each in (dotted, plain)}


@cache
def _related() -> dict[str, frozenset[str]]:
    related: dict[str, frozenset[str]] = {}
    for group in _GROUPS.split(","):
        roots = frozenset(map(stem, group.split()))
        for root in roots:  # leaves are of leave and of leaf
            related[root] = related.get(root, frozenset()) | roots
    return related
