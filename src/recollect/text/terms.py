"""Turns a text into the terms that stores index and queries look up.

A token is what a reader sees as one word: a compound such as `src/types.py` or `don't`, a run of
a script written without spaces, or an emoji. Each token yields one or more terms. How terms are
weighted and stored is decided elsewhere.

Terms contain only lower-case ASCII letters, digits, non-ASCII characters and `-_.@/:#+`. Joined by
spaces they are exactly the tokens of FTS5's `ascii` tokenizer configured to keep those characters.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from recollect.records import dataclass
from recollect.text.scripts import EMOJI, FLAG_HALF, HAN_KANA, HANGUL, SOUTH_EAST_ASIAN, fold, stem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

TERMS_VERSION = 2
"""Part of an index's recipe: raise it whenever the terms of some text change."""

MAX_TERM_CHARS = 96
"""Longer words are cut, longer compounds are only split. Enough for a path or a SHA-256."""

_MAX_COMPOUND_CHARS = 1024
"""A longer compound is a blob (base64, minified code); nobody searches for its end."""

_MAX_CACHED_CHARS = 48
_MAX_CACHED_TOKENS = 1 << 16
_MAX_CACHED_PIECES = 1 << 17
"""Words with the punctuation around them: 10,000 notes have 84,000."""

_SHORT_KOREAN_CHARS = 3
"""Words up to this length may be a one-syllable noun with its particle."""

_MIN_HUMP_CHARS = 3
"""Mean length below which the parts of camelCase may be noise: IoT, mRNA, random keys."""

_BEFORE_WORDS, _AFTER_WORDS = '(["*', '.,;:!?)]"*'
"""Punctuation that is no part of the word beside it."""
_CONNECTORS = "-_.@/:#+"
_UNSPACED = HAN_KANA + SOUTH_EAST_ASIAN
# `fold` leaves no other separators, so every character outside these classes is part of a word.
_WORD_CHAR = rf"[^\x00-\x2f:-@\[-`{{-\x7f{_UNSPACED}{HANGUL}{EMOJI}]"
_SPACED_WORD_CHAR = r"[^\x00-\x2f:-@\[-`{-\x7f]"  # the same below _FIRST_UNSPACED
_ASCII_WORD_CHAR = "[0-9A-Za-z]"
_CONNECTOR = rf"(?![-.]{{2}})[{_CONNECTORS}']{{1,3}}|(?<=[0-9]),(?=[0-9]{{3}}(?![0-9]))"
_LANGUAGE = r"\+\+|(?<![A-Za-z0-9].)(?<=[CcFfJj])\#"
_UNSPACED_TOKEN = rf"[{_UNSPACED}]+|[{HANGUL}]+|[{FLAG_HALF}]{{2}}|[{EMOJI}]"
_FIRST_UNSPACED = "\u0e00"

_CONTRACTION = re.compile(r"'(?:[smd]|re|ve|ll)(?![A-Za-z])", re.IGNORECASE)
# don't, O'Brien, Ukrainian п'ять; the rest is French or Italian elision, which separates words.
_JOINING = re.compile(
    r"'(?=[tT](?![A-Za-z]))|(?<![A-Za-z].)(?<=[oO])'|(?<=[^\x00-\x7f])'(?=[^\x00-\x7f])"
)
_GROUPED = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_DATE = re.compile(r"(?<![0-9])([0-9]{4}-[0-9]{2})-[0-9]{2}(?![0-9])")
_VERSION = re.compile(r"((?<![A-Za-z0-9.])[vV]?[0-9]+(?:\.[0-9]+)+(?![A-Za-z0-9]|\.[0-9]))")

# From loosest to tightest: each part is a term before it is split further. A pattern is only tried
# on what has one of its characters.
_SEPARATORS = (
    (":#", re.compile(r":+|(?<!\b[CcFfJj])#+")),
    ("/", re.compile("/+")),
    ("@+", re.compile(r"@+|(?<!\+)\+(?!\+)")),
    (".", re.compile(r"\.+")),
    ("-", re.compile("-+")),
    ("_", re.compile("_+")),
)
_DOT, _HYPHEN = 3, 4
_ANY_CONNECTORS = re.compile(f"[{_CONNECTORS}]+")
_NOT_DOTS = re.compile(r"[-_@/:]+|(?<!\b[CcFfJj])#+|(?<!\+)\+(?!\+)")
_DOTS = re.compile("[.+#]+")
_LANGUAGE_NAME = re.compile(r"[A-Za-z]+\+\+|[CcFfJj]#")
_CAMEL = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_HUMP = re.compile(r"[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z]+[0-9]*|[0-9]+")
_PLURAL_ACRONYM = re.compile(r"[A-Z]{2,}s")
_PLURAL_END = re.compile(r"(?<=[A-Z]{2})s$")
_SPOKEN_HUMP = re.compile(r"[A-Z]?[a-z]+")

# Tokens that look like identifiers but are ordinary language: 16gb, 2nd, 1990s, 10:30am, 24-hour,
# 5mmol/l, mid-2023.
_QUANTITY = r"[0-9]{1,4}(?:[.:][0-9]+)*-?[a-z]+"
_ORDINARY = re.compile(rf"{_QUANTITY}(?:[-/](?:{_QUANTITY}|[a-z]+))*|[a-z]+-(?:19|20)[0-9]{{2}}")
_IDENTIFIER = re.compile(
    r"[#@.].+|.*[_@].*|.*::.*|.*/.*[./].*|.*\..*/.*"  # tag, mention, name, path
    r"|.*[^.]{2}\.(?:[a-z][a-z0-9]{0,5}|[A-Z]{2,4})"  # file name
    r"|[0-9]{5,}|[0-9]{4}-[0-9]{2}-[0-9]{2}"  # number, date
    r"|[0-9]+(?:\.[0-9]+){2,}(?::[0-9]+)?"  # version, address
    r"|(?![0-9]{4}-[0-9]{2,4}$)(?=(?:-?[0-9]){7})[0-9]+(?:-[0-9]+)+",  # telephone, ISBN
)
# Brands are written in PascalCase of up to ten letters: YouTube, PowerPoint, FreshMart.
_CODE_NAME = re.compile(r"(?:[a-z]{2}|(?=.{11})|(?:[A-Z]+[a-z0-9]+){3}).*")
_LINE_SUFFIX = re.compile(r"(?<=[A-Za-z])(?::[0-9]+){1,2}")
_MIN_IDENTIFIER_CHARS = 3

# Weighting these at 0.25 instead of 1 gains 5 points of nDCG@10 on LoCoMo turns, 2 on LongMemEval
# and 0.5 on CMRC. Spanish, Russian, Korean and Japanese lists gained under 0.4 and were left out.
_STOP_WORDS = """
a an the this that these those and or but nor if then than so as at by for from in into of off on
onto out over to up with about after before between during through under until while because be am
is are was were been being do does did doing done have has had having can could will would shall
should may might must i me my mine we us our ours you your yours he him his she her hers it its they
them their theirs who whom whose which what when where why how there here not no yes dont didnt
doesnt isnt wasnt arent cant wont any some all each both either such own same too very just also
only again more most many much ever other please tell know remember say said get got go went make
made let give
什么 哪些 多少 怎么 为什 是什 的是 哪个 如何 哪里 几个 是谁 谁的 哪一 有哪 么时 时候 请问
我们 你们 他们 这个 那个 可以 没有 是在 是哪 之前
"""


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """The terms of a query."""

    terms: tuple[str, ...]
    """Distinct, in order of first occurrence."""
    identifiers: tuple[str, ...]
    """The `terms` that name one thing: a chunk that contains them is an exact match."""
    stop: frozenset[str]
    """The `terms` without a topic: they may count, but must not dominate."""


def terms(text: str) -> list[str]:
    """Return the terms of a document's text, in order, with repetitions."""
    # No token crosses a space, and most of what is between two spaces occurs again and again.
    pieces = fold(text).split()
    return list(chain.from_iterable(map(_TERMS_BETWEEN_SPACES.__getitem__, pieces)))


def query_terms(text: str) -> QueryTerms:
    """Return the terms of a query; stop words are terms too."""
    found: dict[str, None] = {}
    identifiers: dict[str, None] = {}
    for token in _tokens(text):
        if is_unspaced(token):
            found.update(dict.fromkeys(_grams(token)))
        else:
            found.update(dict.fromkeys(_word_terms(token)))
            identifiers.update(dict.fromkeys(_identifiers(token)))
    return QueryTerms(
        terms=tuple(found),
        identifiers=tuple(term for term in identifiers if term in found),
        stop=stop_terms().intersection(found),
    )


def character_terms(text: str) -> QueryTerms:
    """Return the single characters of scripts written without spaces: a weak last resort.

    For a question whose character pairs occur nowhere: 猫叫什么 against 猫的名字叫墨墨.
    """
    runs = [token for token in _tokens(text) if is_unspaced(token)]
    found = dict.fromkeys(char for run in runs for char in run)
    return QueryTerms(terms=tuple(found), identifiers=(), stop=frozenset())


def phrase_words(text: str) -> tuple[str, ...]:
    """Return the words of a text in the form in which phrases are compared.

    Compounds fall apart, so that "blue button" is in `blue-button`. Of scripts without spaces each
    character is a word, so that a line break does not matter. A Korean word begins with a space.
    """
    pieces = fold(text).split()
    found = tuple(chain.from_iterable(map(_PHRASE_WORDS_BETWEEN_SPACES.__getitem__, pieces)))
    return found[1:] if found[:1] == (" ",) else found


def phrase_terms(text: str) -> tuple[str, ...]:
    """Return terms that every text with these words side by side has."""
    found: dict[str, None] = {}
    for token in _tokens(text):
        if not is_unspaced(token):
            found.update(dict.fromkeys(_cached_parts(token[:_MAX_COMPOUND_CHARS])))
        elif not _korean_pattern().match(token):
            found.update(dict.fromkeys(token))
        elif len(token) > 1:
            found.update(dict.fromkeys(_grams(token)))
    indexed = set(terms(text))  # `0++0` is indexed as `0`, whatever joins its parts
    return tuple(term for term in found if term in indexed)


def _tokens(text: str) -> list[str]:
    return _tokens_of_folded(fold(text))


def _tokens_of_folded(folded: str) -> list[str]:
    char = _WORD_CHAR
    if folded.isascii():
        char = _ASCII_WORD_CHAR
    elif max(folded) < _FIRST_UNSPACED:
        char = _SPACED_WORD_CHAR
    return _token_pattern(char).findall(folded)


class _BetweenSpaces(dict[str, tuple[str, ...]]):
    """Maps a piece of folded text without spaces to what it yields, computed on first use."""

    def __init__(self, read: Callable[[str], Iterable[str]]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, piece: str) -> tuple[str, ...]:
        found = tuple(self._read(piece))
        # Only ASCII: elsewhere a piece may be a whole sentence, which does not occur again.
        if len(piece) <= _MAX_CACHED_CHARS and piece.isascii():
            if len(self) >= _MAX_CACHED_PIECES:
                self.clear()
            self[piece] = found
        return found


def _terms_of_piece(piece: str) -> Iterable[str]:
    return _plain_word(piece) or _terms_of_tokens(piece)


def _plain_word(piece: str) -> tuple[str, ...]:
    """Return what most pieces yield: one word with nothing to split it at; empty for others."""
    word = piece.rstrip(_AFTER_WORDS).lstrip(_BEFORE_WORDS)
    if word.isalpha() and word.isascii() and (word.islower() or word[1:].islower()):
        return (stem(word.lower()[:MAX_TERM_CHARS]),)
    return ()


def _terms_of_tokens(piece: str) -> Iterable[str]:
    return chain.from_iterable(map(_terms_of_token, _tokens_of_folded(piece)))


def _phrase_words_of_piece(piece: str) -> Iterable[str]:
    return _plain_word(piece) or _phrase_words_of_tokens(piece)


def _phrase_words_of_tokens(piece: str) -> Iterator[str]:
    for token in _tokens_of_folded(piece):
        if not is_unspaced(token):
            yield from _cached_parts(token[:_MAX_COMPOUND_CHARS])
        elif _korean_pattern().match(token):
            yield from (" ", *token)
        else:
            yield from token


_TERMS_BETWEEN_SPACES = _BetweenSpaces(_terms_of_piece)
_PHRASE_WORDS_BETWEEN_SPACES = _BetweenSpaces(_phrase_words_of_piece)


def _terms_of_token(token: str) -> Sequence[str]:
    return _run_terms(token) if is_unspaced(token) else _word_terms(token)


def is_unspaced(token: str) -> bool:
    """Return whether a token is a run of a script without spaces, or Korean."""
    return token >= _FIRST_UNSPACED and _unspaced_pattern().match(token) is not None


# The large character classes take 20 ms to compile, so they are compiled when a text needs them.
@cache
def _token_pattern(char: str) -> re.Pattern[str]:
    prefix = rf"(?<![#@.])(?<!{char})(?:[#@]|\.(?=[A-Za-z]))(?={char})"
    word = rf"(?:{prefix})?{char}+(?:(?:{_CONNECTOR}){char}+)*(?:(?:{_LANGUAGE})(?!{char}))?"
    return re.compile(f"{word}|{_UNSPACED_TOKEN}" if char == _WORD_CHAR else word)


@cache
def _unspaced_pattern() -> re.Pattern[str]:
    return re.compile(f"[{_UNSPACED}{HANGUL}]")


@cache
def _korean_pattern() -> re.Pattern[str]:
    return re.compile(f"[{HANGUL}]")


@cache
def stop_terms() -> frozenset[str]:
    """Return the terms without a topic."""
    return frozenset(stem(word) for word in _STOP_WORDS.split())


def _grams(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(max(1, len(run) - 1))]


def _run_terms(run: str) -> list[str]:
    # Queries use bigrams, or a single character if that is all there is. Indexing single
    # characters makes those queries work without affecting longer ones.
    if len(run) == 1:
        return [run]
    if not _korean_pattern().match(run):
        return [*run, *_grams(run)]
    # Korean separates words by spaces but attaches particles to them: nDCG@10 on KorQuAD is 85.4
    # with whole words, 94.8 with words and bigrams, 95.4 with bigrams and all syllables, 95.8 here.
    return _grams(run) if len(run) > _SHORT_KOREAN_CHARS else [run[0], *_grams(run)]


def _word_terms(token: str) -> tuple[str, ...]:
    if len(token) <= _MAX_CACHED_CHARS:
        return _cached_word_terms(token)
    return tuple(_split(token[:_MAX_COMPOUND_CHARS]))


@lru_cache(maxsize=_MAX_CACHED_TOKENS)
def _cached_word_terms(token: str) -> tuple[str, ...]:
    return tuple(_split(token))


@lru_cache(maxsize=_MAX_CACHED_TOKENS)
def _cached_parts(token: str) -> tuple[str, ...]:
    """Return the smallest terms of a compound, in order."""
    fragments = _fragments(token)
    if _GROUPED.fullmatch(token):
        fragments = fragments[:1]
    return tuple(part[:MAX_TERM_CHARS] for fragment in fragments for part in _parts(fragment))


def _parts(fragment: str) -> Iterator[str]:
    for piece in _NOT_DOTS.split(fragment.lstrip("#@.")):
        if _LANGUAGE_NAME.fullmatch(piece):
            yield piece.casefold()
            continue
        for at, part in enumerate(_VERSION.split(piece)):
            words = [word for word in _DOTS.split(part) if word]
            if at % 2:
                yield part.lstrip("vV")
            elif len(words) > 1 and max(map(len, words)) == 1:
                yield "".join(words).casefold()  # U.S.A.
            else:
                yield from (stem(word.casefold()[:MAX_TERM_CHARS]) for word in words)


def _split(token: str) -> Iterator[str]:
    if token.isascii() and token.isalnum():  # most tokens: there is nothing to split them at
        yield from (term[:MAX_TERM_CHARS] for term in _letters(token))
        return
    for fragment in _fragments(token):
        for term in _compound(fragment):
            yield term[:MAX_TERM_CHARS]


def _fragments(token: str) -> list[str]:
    """Remove what a term must not contain: URL scheme, apostrophes, commas between digits."""
    scheme, _, rest = token.partition("://")
    token = rest if rest and scheme.isalpha() else token
    if "'" in token:
        token = _JOINING.sub("", _CONTRACTION.sub("", token))
    if _GROUPED.fullmatch(token):
        return [token.replace(",", ""), *token.split(",")]
    if "'" in token or "," in token:
        parts = (part.strip(_CONNECTORS) for part in re.split("[',]", token))
        return [part for part in parts if part]
    return [token]


def _compound(fragment: str) -> Iterator[str]:
    for date in _DATE.finditer(fragment) if "-" in fragment else ():
        yield date[1]
        if date[0] != fragment:
            yield date[0]
    if fragment[0] in "#@." and len(fragment) <= MAX_TERM_CHARS:
        yield fragment.casefold()
    yield from _pieces(fragment.lstrip("#@."), 0)


def _pieces(piece: str, first: int) -> Iterator[str]:
    for level, (marks, separator) in enumerate(_SEPARATORS[first:], start=first):
        if not any(mark in piece for mark in marks):
            continue
        if level == _DOT and (split := _VERSION.split(piece))[1:]:
            yield from _versions(piece, split)
            return
        parts = [part for part in separator.split(piece) if part]
        if len(parts) > 1:
            wholes = list(_wholes(piece, parts, level)) if len(piece) <= MAX_TERM_CHARS else []
            yield from wholes
            # The single letters of an abbreviation (U.S.A.) are not worth indexing.
            if not (wholes and level == _DOT and max(map(len, parts)) == 1):
                for part in parts:
                    yield from _pieces(part, level + 1)
            return
    yield from _word(piece)


def _wholes(piece: str, parts: list[str], level: int) -> Iterator[str]:
    whole = piece.casefold()
    joined = "".join(parts).casefold()
    if level == _HYPHEN and joined.isalpha():
        # An ordinary hyphenated word: follow-up is also spelled followup.
        yield stem(joined)
        return
    yield whole
    if level == _HYPHEN and not parts[2:] and not joined.isdigit():
        # IL-6 is also spelled IL6: nDCG@10 on SciFact 68.9 → 69.5.
        yield joined
    if level == _DOT and len(joined) == len(parts):
        yield joined


def _versions(piece: str, split: list[str]) -> Iterator[str]:
    if len(piece) <= MAX_TERM_CHARS:
        yield piece.casefold()
    for at, part in enumerate(split):
        if at % 2:
            number = part.lstrip("vV")
            if number != piece:
                yield number
            if part not in (number, piece):
                yield part.casefold()
            if number.count(".") > 1:
                yield ".".join(number.split(".")[:2])
        elif rest := part.strip(_CONNECTORS):
            yield from _pieces(rest, _DOT)


def _word(piece: str) -> Iterator[str]:
    if language := _LANGUAGE_NAME.match(piece):
        yield language[0].casefold()
    elif piece[0] == ".":
        yield piece.casefold()
    for word in _ANY_CONNECTORS.split(piece):
        if word:
            yield from _letters(word)


def _letters(word: str) -> Iterator[str]:
    # A camelCase whole is stemmed like any word, so that `youtube` finds YouTube.
    yield stem(word.casefold()[:MAX_TERM_CHARS])
    yield from (stem(hump.lower()) for hump in _humps(word))


def _humps(word: str) -> list[str]:
    if not _CAMEL.search(word) or _PLURAL_ACRONYM.fullmatch(word):
        return []
    word = _PLURAL_END.sub("", word[:MAX_TERM_CHARS])
    humps = _HUMP.findall(word)
    is_long = len(word) >= _MIN_HUMP_CHARS * len(humps)
    return humps if humps[1:] and (is_long or _is_code(word, humps)) else []


def _is_code(word: str, humps: list[str]) -> bool:
    """Return whether short parts are words: `getUserById`, but not `siRNA`, `LaTeX` or `mmHg`."""
    are_spoken = all(len(hump) > 1 and _SPOKEN_HUMP.fullmatch(hump) for hump in humps)
    has_word = max(map(len, humps)) >= _MIN_HUMP_CHARS
    return are_spoken and has_word and _CODE_NAME.fullmatch(word) is not None


def _identifiers(token: str) -> list[str]:
    if "," in token or len(token) > _MAX_COMPOUND_CHARS:
        return []
    return [_exact(fragment) for fragment in _fragments(token) if _is_identifier(fragment)]


def _is_identifier(fragment: str) -> bool:
    if not _MIN_IDENTIFIER_CHARS <= len(fragment) <= MAX_TERM_CHARS:
        return False
    if _ORDINARY.fullmatch(fragment.casefold()):
        return False
    if any(map(str.isdigit, fragment)) and any(map(str.isalpha, fragment)):
        return True
    if fragment.isalpha():
        parts = len(_humps(fragment))
        # Two short parts may be a name: arXiv, spaCy.
        is_name = parts == 2 and len(fragment) < _MIN_HUMP_CHARS * parts  # noqa: PLR2004
        return bool(parts and not is_name and _CODE_NAME.fullmatch(fragment))
    return bool(_IDENTIFIER.fullmatch(fragment))


def _exact(fragment: str) -> str:
    """Return the term shared by all spellings of the identifier."""
    if _VERSION.fullmatch(fragment):
        return fragment.lstrip("vV")
    name = _LINE_SUFFIX.sub("", fragment)
    return stem(name.casefold())
