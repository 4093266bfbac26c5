"""Counts what a backtracking matcher does with a pattern, so that growth is a number, not a time.

`steps` follows Python's own rules over the same parsed pattern, without its short cuts, so it is
an upper bound. The numbers of a repetition such as {8,64} count as small ones: they are constant
factors, and this way small texts show the growth.

`witnesses` makes the texts on which a pattern would be slow, from the pattern itself: each
repetition is fed many times what it accepts, and then what the rest cannot accept.
"""

from __future__ import annotations

import re
import sys
from re import _constants as ops  # the parser of `re` itself
from re import _parser as parser
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Next = Callable[[int], bool]
    Match = Callable[[int, Next], bool]

REPRESENTATIVES = " \t\na0A_-.:/<>\"'`#*|[](){}=&;,!~+@%\\é数\u200d\u2028\x00"
"""One or two characters of each kind, to repeat."""
_FEW = 4
"""What a repetition needs at least counts as at most so many, and a limit as so many more."""
_REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT)
_MOST_STEPS = 200_000


class TooManyStepsError(Exception):
    """A pattern goes on for longer than any that is proportional to its text."""


class _Counter:
    """Matches one pattern and counts."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._tree = parser.parse(pattern.pattern, pattern.flags)
        self._flags = pattern.flags
        self._text = ""
        self._groups: dict[int, tuple[int, int]] = {}
        self.steps = 0

    def run(self, text: str, *, is_scan: bool) -> int:
        self._text, self.steps, self._groups = text, 0, {}
        match = self._sequence(list(self._tree), self._flags)
        place = 0
        while place <= len(text):
            ends: list[int] = []
            found = match(place, lambda end, ends=ends: not ends.append(end))  # type: ignore[misc]
            if not is_scan:
                break
            place = max(place + 1, ends[-1]) if found and ends else place + 1
        return self.steps

    def _count(self) -> None:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise TooManyStepsError

    def _sequence(self, nodes: list[Any], flags: int) -> Match:
        matches = [self._node(node, flags) for node in nodes]

        def match(place: int, then: Next, at: int = 0) -> bool:
            if at == len(matches):
                return then(place)
            return matches[at](place, lambda end: match(end, then, at + 1))

        return match

    def _node(self, node: Any, flags: int) -> Match:  # noqa: PLR0911 - one for each kind
        op, value = node
        if op in (ops.LITERAL, ops.NOT_LITERAL, ops.IN, ops.ANY):
            return self._character(self._accepting(node, flags))
        if op in _REPEATS:
            return self._repeat(op, *value, flags=flags)
        if op is ops.SUBPATTERN:
            number, added, removed, body = value
            return self._group(number, self._sequence(list(body), (flags | added) & ~removed))
        if op is ops.ATOMIC_GROUP:
            return self._atomic(self._sequence(list(value), flags))
        if op is ops.BRANCH:
            return self._branch([self._sequence(list(each), flags) for each in value[1]])
        if op in (ops.ASSERT, ops.ASSERT_NOT):
            direction, body = value
            return self._look(
                self._sequence(list(body), flags),
                back=body.getwidth()[0] if direction < 0 else 0,
                wanted=op is ops.ASSERT,
            )
        if op is ops.AT:
            return lambda place, then: self._is_at(value, place, flags) and then(place)
        if op is ops.GROUPREF:
            return lambda place, then: self._again(value, place, then)
        raise NotImplementedError(str(op))

    def _accepting(self, node: Any, flags: int) -> Callable[[str], bool]:
        known: dict[str, bool] = {}

        def accepted(character: str) -> bool:
            if character not in known:
                known[character] = accepts(node, character, flags)
            return known[character]

        return accepted

    def _character(self, accepted: Callable[[str], bool]) -> Match:
        def match(place: int, then: Next) -> bool:
            self._count()
            return place < len(self._text) and accepted(self._text[place]) and then(place + 1)

        return match

    def _group(self, number: int | None, body: Match) -> Match:
        def match(place: int, then: Next) -> bool:
            def closed(end: int) -> bool:
                if number is not None:
                    self._groups[number] = (place, end)
                return then(end)

            return body(place, closed)

        return match

    def _branch(self, branches: list[Match]) -> Match:
        return lambda place, then: any(each(place, then) for each in branches)

    def _atomic(self, body: Match) -> Match:
        def match(place: int, then: Next) -> bool:
            ends: list[int] = []
            return body(place, lambda end: not ends.append(end)) and then(ends[0])  # type: ignore[func-returns-value]

        return match

    def _look(self, body: Match, *, back: int, wanted: bool) -> Match:
        def match(place: int, then: Next) -> bool:
            found = place >= back and body(place - back, lambda _: True)
            return found is wanted and then(place)

        return match

    def _again(self, number: int, place: int, then: Next) -> bool:
        start, end = self._groups.get(number, (0, -1))
        said = self._text[start:end]
        self.steps += len(said)
        return end >= 0 and self._text.startswith(said, place) and then(place + len(said))

    def _repeat(self, op: object, least: int, most: int, body: Any, *, flags: int) -> Match:
        nodes = list(body)
        most = most if most is ops.MAXREPEAT else min(least, _FEW) + min(most - least, _FEW)
        least = min(least, _FEW)
        is_single = len(nodes) == 1 and nodes[0][0] in (
            ops.LITERAL, ops.NOT_LITERAL, ops.IN, ops.ANY,
        )  # fmt: skip
        if is_single:
            match = self._run_of(nodes[0], least, most, is_lazy=op is ops.MIN_REPEAT, flags=flags)
        else:
            match = self._repeat_group(
                self._sequence(nodes, flags), least, most, is_lazy=op is ops.MIN_REPEAT
            )
        return self._atomic(match) if op is ops.POSSESSIVE_REPEAT else match

    def _run_of(self, node: Any, least: int, most: int, *, is_lazy: bool, flags: int) -> Match:
        accepted = self._accepting(node, flags)

        def is_more(start: int, end: int) -> bool:
            self._count()
            return end < len(self._text) and end - start < most and accepted(self._text[end])

        def lazy(place: int, then: Next) -> bool:
            end = place
            while not (end - place >= least and then(end)):
                if not is_more(place, end):
                    return False
                end += 1
            return True

        def greedy(place: int, then: Next) -> bool:
            end = place
            while is_more(place, end):
                end += 1
            for each in range(end, place + least - 1, -1):
                self._count()
                if then(each):
                    return True
            return False

        return lazy if is_lazy else greedy

    def _repeat_group(self, body: Match, least: int, most: int, *, is_lazy: bool) -> Match:
        def match(place: int, then: Next, done: int = 0) -> bool:
            self._count()

            def more(end: int) -> bool:
                return (end > place or done < least) and match(end, then, done + 1)

            if is_lazy and done >= least and then(place):
                return True
            if done < most and body(place, more):
                return True
            return not is_lazy and done >= least and then(place)

        return match

    def _is_at(self, where: object, place: int, flags: int) -> bool:
        self._count()
        text, lines = self._text, bool(flags & re.MULTILINE)
        before, after = text[place - 1 : place], text[place : place + 1]
        if where in (ops.AT_BEGINNING, ops.AT_BEGINNING_STRING):
            return not before or (lines and before == "\n" and where is ops.AT_BEGINNING)
        if where is ops.AT_END_STRING:
            return not after
        if where is ops.AT_END:
            return not after or text[place:] == "\n" or (lines and after == "\n")
        is_edge = _is_word(before) is not _is_word(after)
        return is_edge is (where is ops.AT_BOUNDARY)


def _is_word(character: str) -> bool:
    return bool(character) and (character.isalnum() or character == "_")


def accepts(node: Any, character: str, flags: int) -> bool:
    """Return whether a node for one character matches it."""
    op, value = node
    if op is ops.ANY:
        return character != "\n" or bool(flags & re.DOTALL)
    if op is ops.IN:
        is_negated = value[0][0] is ops.NEGATE
        parts = value[1:] if is_negated else value
        return any(_accepts_part(part, character, flags) for part in parts) is not is_negated
    same = _same(value, character, flags)
    return same if op is ops.LITERAL else not same


def _accepts_part(part: Any, character: str, flags: int) -> bool:
    op, value = part
    if op is ops.LITERAL:
        return _same(value, character, flags)
    if op is ops.RANGE:
        cases = (
            {character, character.lower(), character.upper()}
            if flags & re.IGNORECASE
            else {character}
        )
        return any(len(each) == 1 and value[0] <= ord(each) <= value[1] for each in cases)
    letter = {ops.CATEGORY_DIGIT: "d", ops.CATEGORY_SPACE: "s", ops.CATEGORY_WORD: "w"}
    negated = {ops.CATEGORY_NOT_DIGIT: "D", ops.CATEGORY_NOT_SPACE: "S", ops.CATEGORY_NOT_WORD: "W"}
    return re.match("\\" + {**letter, **negated}[value], character, flags & re.ASCII) is not None


def _same(code: int, character: str, flags: int) -> bool:
    return chr(code) == character or (
        bool(flags & re.IGNORECASE) and chr(code).lower() == character.lower()
    )


def steps(pattern: re.Pattern[str], text: str, *, is_scan: bool) -> int:
    """Return how many steps it takes to match a text, or to find all matches in it.

    Raises:
        TooManyStepsError: there are too many for a pattern that is proportional to its text.

    """
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, 20_000))
    try:
        return _Counter(pattern).run(text, is_scan=is_scan)
    finally:
        sys.setrecursionlimit(before)


def witnesses(pattern: re.Pattern[str]) -> Iterator[Callable[[int], str]]:
    """Yield texts of any size that are as slow as the pattern can be made."""
    tree = list(parser.parse(pattern.pattern, pattern.flags))
    whole = _sample(tree, pattern.flags)
    found = list(dict.fromkeys(_repeats(tree, pattern.flags, "")))
    starts = {whole, whole[:-1], *(prefix for prefix, _ in found)} - {""}
    for prefix, pump in found:
        for fail in ("\x00", "\n"):
            yield lambda size, prefix=prefix, pump=pump, fail=fail: prefix + pump * size + fail  # type: ignore[misc]
        starts.add(prefix + pump)
    for start in starts:
        yield lambda size, start=start: start * size  # type: ignore[misc]


def _bodies(op: object, value: Any) -> list[Any]:
    if op is ops.SUBPATTERN:
        return [value[3]]
    if op is ops.BRANCH:
        return list(value[1])
    if op in (ops.ASSERT, ops.ASSERT_NOT):
        return [value[1]]
    return [value] if op is ops.ATOMIC_GROUP else []


def _repeats(nodes: list[Any], flags: int, prefix: str) -> Iterator[tuple[str, str]]:
    for op, value in nodes:
        if op in _REPEATS:
            least, most, body = value
            inner = list(body)
            if most is ops.MAXREPEAT or most > 1:
                yield from ((prefix, pump) for pump in _pumps(inner, flags))
            yield from _repeats(inner, flags, prefix)
            prefix += _sample(inner, flags) * max(least, 1)
        else:
            bodies = _bodies(op, value)
            for body in bodies:
                yield from _repeats(list(body), flags, prefix)
            is_look = op in (ops.ASSERT, ops.ASSERT_NOT)
            prefix += "" if is_look else _sample([(op, value)], flags)


def _pumps(nodes: list[Any], flags: int) -> list[str]:
    if len(nodes) == 1 and nodes[0][0] in (ops.LITERAL, ops.NOT_LITERAL, ops.IN, ops.ANY):
        fitting = [each for each in REPRESENTATIVES if accepts(nodes[0], each, flags)]
        return fitting[:6] or [_sample(nodes, flags)]
    sample = _sample(nodes, flags)
    return [sample] if sample else []


def _sample(nodes: list[Any], flags: int) -> str:
    """Return a short text that the nodes match, looks aside."""
    parts: list[str] = []
    for node in nodes:
        op, value = node
        if op is ops.LITERAL:
            parts.append(chr(value))
        elif op in (ops.NOT_LITERAL, ops.IN, ops.ANY):
            every = [*REPRESENTATIVES, *map(chr, range(0x21, 0x7F)), *_firsts(node)]
            parts.append(next((each for each in every if accepts(node, each, flags)), ""))
        elif op in _REPEATS:
            parts.append(_sample(list(value[2]), flags) * max(value[0], 1))
        elif op is ops.BRANCH:
            parts.append(_sample(list(value[1][0]), flags))
        elif op in (ops.SUBPATTERN, ops.ATOMIC_GROUP):
            parts.append(_sample(list(_bodies(op, value)[0]), flags))
    return "".join(parts)


def _firsts(node: Any) -> list[str]:
    op, value = node
    if op is not ops.IN:
        return []
    return [
        chr(each[0] if isinstance(each, tuple) else each)
        for kind, each in value
        if kind in (ops.LITERAL, ops.RANGE)
    ]
