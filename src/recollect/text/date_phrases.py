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
_UNITS = {
    "woche": "week", "monat": "month", "jahr": "year", "wochenende": "weekend",
    "semaine": "week", "mois": "month", "année": "year", "an": "year", "week-end": "weekend",
}  # fmt: skip
_WEEKDAYS = {
    "montag": "monday", "dienstag": "tuesday", "mittwoch": "wednesday", "donnerstag": "thursday",
    "freitag": "friday", "samstag": "saturday", "sonnabend": "saturday", "sonntag": "sunday",
    "lundi": "monday", "mardi": "tuesday", "mercredi": "wednesday", "jeudi": "thursday",
    "vendredi": "friday", "samedi": "saturday", "dimanche": "sunday",
}  # fmt: skip
_NAMED = _UNITS | _WEEKDAYS
_NAME = rf"(?P<name>{'|'.join(sorted(_NAMED, key=len, reverse=True))})"

_FLAGS = re.IGNORECASE | re.ASCII  # else ſ would be an s, in words that no table has
_FRENCH = re.compile(
    r"\b(?:qu|que|qui|quoi|quels?|quelles?|ai|avons|avez|ont|est|fait|le|nous)\b", _FLAGS
)
"""Words that neither German nor Dutch has: in both `hier` means "here"."""

_PHRASES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\bvorgestern\b|\bavant-hier\b", _FLAGS), "day before yesterday"),
    (re.compile(r"\bgestern\b|\bhier soir\b|\bd['’]hier\b", _FLAGS), "yesterday"),
    (re.compile(r"\bheute\b|\baujourd['’]hui\b", _FLAGS), "today"),
    (re.compile(rf"\b(?:letzte|vorige|vergangene)[mnrs]?\s+{_NAME}\b", _FLAGS), "last {}"),
    (re.compile(rf"\b{_NAME}\s+(?:derni(?:er|ère)|passée?)(?![a-z])", _FLAGS), "last {}"),
    (re.compile(rf"\b(?:diese[mnrs]?|ce|cette)\s+{_NAME}\b", _FLAGS), "this {}"),
    (re.compile(rf"\b(?:nächste|kommende)[mnrs]?\s+{_NAME}\b", _FLAGS), "next {}"),
    (re.compile(rf"\b{_NAME}\s+prochaine?\b", _FLAGS), "next {}"),
)
_HIER = re.compile(r"\bhier\b", _FLAGS)


def in_english(text: str) -> tuple[str, str] | None:
    """Return the first date words of a text in another language, and the same in English."""
    for pattern, english in _PHRASES:
        if found := pattern.search(text):
            name = found.groupdict().get("name")
            return found[0], english.format(_NAMED[name.lower()]) if name else english
    if (found := _HIER.search(text)) and _FRENCH.search(text):
        return found[0], "yesterday"
    return None
