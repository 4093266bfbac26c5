"""English stems by the rules of Snowball's English stemmer 3.1 ("Porter 2"), equal for every word.

The `snowballstemmer` package runs a program made by a compiler, character by character: 26 µs for a
word. Written with string operations, the same rules take 5: docs/decisions/keyword-index.md.
The rules are those of M. F. Porter and the Snowball project, under the BSD licence of the package.
"""

from __future__ import annotations

import re

_VOWELS = frozenset("aeiouy")
_NOT_SHORT = frozenset("aeiouywxY")
_VOWEL = re.compile("[aeiouy]")
_REGION = re.compile("[^aeiouy]*[aeiouy]+[^aeiouy]")
"""Part up to the first consonant after a vowel: suffixes are cut after one or two of these."""
_WHOLE_PREFIX = re.compile("arsen|commun|emerg|gener|inter|later|organ|past|univers")
_EXCEPTIONS = {
    "andes": "andes", "atlas": "atlas", "bias": "bias", "cosmos": "cosmos", "early": "earli",
    "gently": "gentl", "howe": "howe", "idly": "idl", "news": "news", "only": "onli",
    "singly": "singl", "skies": "sky", "skis": "ski", "sky": "sky", "ugly": "ugli",
}  # fmt: skip
_NOT_ED = frozenset({"succ", "proc", "exc"})
_NOT_ING = frozenset({"even", "cann", "inn", "earr", "herr", "out"})
_DOUBLES = frozenset({"bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt"})
_WITHOUT_E = frozenset({"at", "bl", "iz"})
_NEEDS = {"li": "cdeghkmnrt", "ogi": "l"}
"""Letters of which one must be before a suffix."""
_SECOND = {
    "anci": "ance", "enci": "ence", "ogi": "og", "li": "", "bli": "ble", "abli": "able",
    "alli": "al", "fulli": "ful", "lessli": "less", "ousli": "ous", "entli": "ent", "aliti": "al",
    "biliti": "ble", "iviti": "ive", "tional": "tion", "ational": "ate", "alism": "al",
    "ation": "ate", "ization": "ize", "izer": "ize", "ator": "ate", "iveness": "ive",
    "fulness": "ful", "ousness": "ous", "ogist": "og",
}  # fmt: skip
_THIRD = {
    "icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "tional": "tion",
    "ational": "ate", "ful": "", "ness": "",
}  # fmt: skip
_FOURTH = frozenset({
    "ic", "ance", "ence", "able", "ible", "ate", "ive", "ize", "iti", "al", "ism", "ion", "er",
    "ous", "ant", "ent", "ment", "ement",
})  # fmt: skip
_ENDS = frozenset(suffix[-2:] for suffix in (*_SECOND, *_THIRD, *_FOURTH))
"""The last two letters of all suffixes: most words have others."""


def stem_english(word: str) -> str:
    """Return the stem of a word of lower-case ASCII letters."""
    if word in _EXCEPTIONS:
        return _EXCEPTIONS[word]
    if len(word) < 3:  # noqa: PLR2004 - such a word has no ending
        return word
    marked = _mark_consonants(word) if "y" in word else word
    # Endings are cut only after one or two syllables.
    known = _WHOLE_PREFIX.match(marked) or _REGION.match(marked)
    first = known.end() if known else len(marked)
    second = region.end() if (region := _REGION.match(marked, first)) else len(marked)
    cut = _without_inflection(_without_plural(marked), first)
    if cut[-1] in "yY" and len(cut) > 2 and cut[-2] not in _VOWELS:  # noqa: PLR2004
        cut = f"{cut[:-1]}i"
    cut = _without_last(_without_derivation(cut, first, second), first, second)
    return cut if marked is word else cut.replace("Y", "y")


def _mark_consonants(word: str) -> str:
    """Return the word with `Y` for each y that is a consonant: at the start, or after a vowel."""
    letters = list(word)
    if letters[0] == "y":
        letters[0] = "Y"
    for at in range(1, len(letters)):
        if letters[at] == "y" and letters[at - 1] in _VOWELS:
            letters[at] = "Y"
    return "".join(letters)


def _without_plural(word: str) -> str:
    if word.endswith(("ies", "ied")):
        return f"{word[:-3]}{'i' if len(word) > 4 else 'ie'}"  # noqa: PLR2004
    if word[-1] != "s" or word.endswith(("us", "ss")):
        return word
    if word.endswith("sses"):
        return word[:-2]
    return word[:-1] if _VOWEL.search(word[:-2]) else word


_INFLECTIONS = ("eedly", "ingly", "edly", "eed", "ing", "ed")


def _without_inflection(word: str, first: int) -> str:
    """Return a word without -ed, -ing and their adverbs."""
    if word[-1] not in "dgy":
        return word
    ending = next((each for each in _INFLECTIONS if word.endswith(each)), "")
    stem = word[: len(word) - len(ending)]
    if ending in {"eed", "eedly"}:
        return word if len(stem) < first or stem in _NOT_ED else f"{stem}ee"
    if ending == "ing" and len(stem) == 2 and stem[1] == "y" and stem[0] not in _VOWELS:  # noqa: PLR2004
        return f"{stem[0]}ie"
    if not ending or (ending == "ing" and stem in _NOT_ING) or not _VOWEL.search(stem):
        return word
    return _completed(stem, first)


def _completed(stem: str, first: int) -> str:
    """Return what is left of an inflected word as it is spelled alone: hop(ping), hop(e)."""
    last = stem[-2:]
    if last in _DOUBLES:
        return stem if len(stem) == 3 and stem[0] in "aeo" else stem[:-1]  # noqa: PLR2004
    lacks_e = last in _WITHOUT_E or (len(stem) == first and _is_short(stem))
    return f"{stem}e" if lacks_e else stem


def _is_short(word: str) -> bool:
    """Return whether a word ends with a short syllable."""
    if len(word) == 2:  # noqa: PLR2004
        return word[0] in _VOWELS and word[1] not in _VOWELS
    if len(word) > 2 and word[-1] not in _NOT_SHORT and word[-2] in _VOWELS:  # noqa: PLR2004
        return word[-3] not in _VOWELS or word.endswith("past")
    return word.endswith("past")


def _without_derivation(word: str, first: int, second: int) -> str:
    """Return a word without -ness, -ful, -ation and the like: three steps, a suffix in each."""
    suffix = _longest(word, _SECOND, 7)
    at = len(word) - len(suffix)
    needs = _NEEDS.get(suffix)
    if suffix and at >= first and (needs is None or word[at - 1] in needs):
        word = f"{word[:at]}{_SECOND[suffix]}"
    suffix = _longest(word, _THIRD, 7)
    at = len(word) - len(suffix)
    if suffix and at >= (second if suffix == "ative" else first):
        word = f"{word[:at]}{_THIRD[suffix]}"
    suffix = _longest(word, _FOURTH, 5)
    at = len(word) - len(suffix)
    if suffix and at >= second and (suffix != "ion" or word[at - 1] in "st"):
        word = word[:at]
    return word


def _longest(word: str, suffixes: dict[str, str] | frozenset[str], most: int) -> str:
    """Return the longest of these suffixes that a word has."""
    if word[-2:] not in _ENDS:
        return ""
    for size in range(min(most, len(word)), 1, -1):
        if (suffix := word[-size:]) in suffixes:
            return suffix
    return ""


def _without_last(word: str, first: int, second: int) -> str:
    """Return a word without a final -e, or with one -l instead of two."""
    at = len(word) - 1
    if word[at] == "e":
        is_cut = at >= second or (at >= first and not _is_short(word[:at]))
        return word[:at] if is_cut else word
    return word[:at] if at >= second and word.endswith("ll") else word
