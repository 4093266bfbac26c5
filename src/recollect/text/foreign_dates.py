"""Date words of German and French, as the English ones that `date_words` reads.

Only what is relative to today: "letzten Dienstag", "vorige Woche", "avant-hier", "le mois dernier".
"""

from __future__ import annotations

import re

WHAT_HAPPENED = (
    "Was habe ich gemacht? Was haben wir getan? Was war los? Was ist geschehen, passiert? "
    "Qu'est-ce que j'ai fait ? Qu'avons-nous fait ? Que s'est-il passé ?"
)
"""Questions that ask for nothing but the days they name."""
_GERMAN = {
    "woche": "week", "monat": "month", "jahr": "year", "wochenende": "weekend",
    "montag": "monday", "dienstag": "tuesday", "mittwoch": "wednesday", "donnerstag": "thursday",
    "freitag": "friday", "samstag": "saturday", "sonnabend": "saturday", "sonntag": "sunday",
}  # fmt: skip
_FRENCH = {
    "semaine": "week", "mois": "month", "année": "year", "an": "year", "week-end": "weekend",
    "lundi": "monday", "mardi": "tuesday", "mercredi": "wednesday", "jeudi": "thursday",
    "vendredi": "friday", "samedi": "saturday", "dimanche": "sunday",
}  # fmt: skip
_NAMED = _GERMAN | _FRENCH

_FLAGS = re.IGNORECASE | re.ASCII  # else ſ would be an s, in words that no table has


def _german(pattern: str) -> re.Pattern[str]:
    name = f"(?P<name>{'|'.join(_GERMAN)})"
    return re.compile(rf"\b(?P<since>seit\s+(?:de[mnr]\s+)?)?{pattern.format(name=name)}\b", _FLAGS)


def _french(pattern: str) -> re.Pattern[str]:
    name = f"(?P<name>{'|'.join(sorted(_FRENCH, key=len, reverse=True))})"
    since = r"(?P<since>depuis\s+(?:l[ea]\s+|l['’])?)?"
    return re.compile(rf"\b{since}{pattern.format(name=name)}(?![a-z])", _FLAGS)


# Each is of one language alone: "diese an" has a German word and one that is French, too.
_PHRASES: tuple[tuple[re.Pattern[str], str], ...] = (
    (_german("vorgestern"), "day before yesterday"),
    (_french("avant-hier"), "day before yesterday"),
    (_german("gestern"), "yesterday"),
    (_french("(?:hier soir|d['’]hier)"), "yesterday"),
    (_german("heute"), "today"),
    (_french("aujourd['’]hui"), "today"),
    (_german(r"(?:letzte|vorige|vergangene)[mnrs]?\s+{name}"), "last {}"),
    (_french(r"{name}\s+(?:derni(?:er|ère)|passée?)"), "last {}"),
    (_german(r"diese[mnrs]?\s+{name}"), "this {}"),
    (_french(r"(?:ce|cette)\s+{name}"), "this {}"),
    (_german(r"(?:nächste|kommende)[mnrs]?\s+{name}"), "next {}"),
    (_french(r"{name}\s+prochaine?"), "next {}"),
)
_HIER = _french("hier")
_IS_FRENCH = re.compile(
    r"\b(?:(?:[JjDdLl]|[Qq]u)['’]|de hier\b"
    r"|(?:ai|avons|avez|ont|nous|le|la|une|[Qq]uel(?:le)?s?)\b)"
)
"""Words beside which `hier` is not the German and Dutch word for "here"; AI is an abbreviation."""


def in_english(text: str) -> tuple[int, int, str] | None:
    """Return where the first date words of another language are, and the same in English."""
    for pattern, english in _PHRASES:
        if found := pattern.search(text):
            name = found.groupdict().get("name")
            return _translated(found, english.format(_NAMED[name.lower()]) if name else english)
    if (found := _HIER.search(text)) and _IS_FRENCH.search(text):
        return _translated(found, "yesterday")
    return None


def _translated(found: re.Match[str], english: str) -> tuple[int, int, str]:
    return found.start(), found.end(), f"since {english}" if found["since"] else english
