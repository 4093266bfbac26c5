"""Date words of German, French and Spanish: "letzten Dienstag", "le mois dernier", "ayer"."""

from __future__ import annotations

import calendar
import re

WHAT_HAPPENED = (
    "Was habe ich gemacht? Was haben wir getan? Was war los im? Was ist geschehen, passiert? "
    "Qu'est-ce que j'ai fait ? Qu'avons-nous fait ? Que s'est-il passé le, en ? "
    "¿Qué hice? ¿Qué hicimos? ¿Qué pasó el, en la?"
)
"""Questions that ask for nothing but the days they name."""


_MONTHS = [name.lower() for name in calendar.month_name if name]
_ENGLISH = (*_MONTHS, *map(str.lower, calendar.day_name), "week", "month", "year", "weekend")


def _table(names: str) -> dict[str, str]:
    return dict(zip(names.split(), _ENGLISH, strict=True))


_GERMAN = {"sonnabend": "saturday"} | _table(
    "januar februar märz april mai juni juli august september oktober november dezember montag "
    "dienstag mittwoch donnerstag freitag samstag sonntag woche monat jahr wochenende"
)
_FRENCH = {"année": "year"} | _table(
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre lundi "
    "mardi mercredi jeudi vendredi samedi dimanche semaine mois an week-end"
)
_SPANISH = {"fin de semana": "weekend"} | _table(
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre "
    "lunes martes miércoles jueves viernes sábado domingo semana mes año finde"
)
NAMED = _GERMAN | _FRENCH | _SPANISH

_SINCE_FRENCH = r"depuis\s+(?:l[ea]\s+|l['’])?"
_TO = "(?P<to>[0-9]{{1,2}})"
# Each is of one language alone: "diese an" has a German word and one that is French, too.
_LANGUAGES: tuple[tuple[dict[str, str], str, dict[str, str]], ...] = (
    (_GERMAN, r"seit\s+(?:de[mnr]\s+)?", {
        "vorgestern": "day before yesterday", "gestern": "yesterday", "heute": "today",
        r"(?:letzte|vorige|vergangene)[mnrs]?\s+{name}": "last {}",
        r"diese[mnrs]?\s+{name}": "this {}", r"(?:nächste|kommende)[mnrs]?\s+{name}": "next {}",
        rf"(?<=[0-9])\.\s*(?:bis(?:\s+zum)?|[-–])\s*{_TO}\.\s*{{month}}": " to {to} {}",
        r"(?<=[0-9])\.\s*{month}": " {}", r"im\s+{month}": "in {}", r"seit\s+{month}": "since {}",
    }),
    (_FRENCH, _SINCE_FRENCH, {
        "avant-hier": "day before yesterday", "(?:hier soir|d['’]hier)": "yesterday",
        "aujourd['’]hui": "today", r"{name}\s+(?:derni(?:er|ère)|passée?)": "last {}",
        r"(?:ce|cette)\s+{name}": "this {}", r"{name}\s+prochaine?": "next {}",
        rf"(?<=[0-9])\s+au\s+{_TO}\s+(?-i:{{month}})": " to {to} {}",
        r"1er\s+{month}": "1 {}", r"(?<=[0-9])\s+(?-i:{month})": " {}",
        r"en\s+{month}": "in {}", r"depuis\s+{month}": "since {}",
    }),
    (_SPANISH, r"desde\s+(?:(?:el|la)\s+)?", {
        "anteayer": "day before yesterday", "ayer": "yesterday", "hoy": "today",
        r"{name}\s+pasad[oa]": "last {}", r"est[ea]\s+{name}": "this {}",
        r"próxim[oa]\s+{name}": "next {}", r"en\s+{month}": "in {}", r"desde\s+{month}": "since {}",
        rf"(?<=[0-9])\s+al\s+{_TO}\s+de\s+{{month}}(?:\s+de(?=\s+[0-9]))?": " to {to} {}",
        r"(?<=[0-9])\s+de\s+{month}(?:\s+de(?=\s+[0-9]))?": " {}",
    }),
)  # fmt: skip


def _compiled(pattern: str, names: dict[str, str], since: str) -> re.Pattern[str]:
    longest = sorted(names, key=len, reverse=True)
    name, month = (
        f"(?P<name>{'|'.join(each for each in longest if names[each] in among)})"
        for among in (names.values(), _MONTHS)
    )
    phrase = pattern.format(name=name, month=month)
    # Of ASCII letters: else ſ would be an s, in words that no table has.
    return re.compile(rf"\b(?P<since>{since})?{phrase}(?!\w)", re.IGNORECASE | re.ASCII)


_PHRASES = tuple(
    (_compiled(pattern, names, since), english)
    for names, since, phrases in _LANGUAGES
    for pattern, english in phrases.items()
)
_HIER = _compiled("hier", _FRENCH, _SINCE_FRENCH)
_IS_FRENCH = re.compile(
    r"\b(?:(?:[JjDdLl]|[Qq]u)['’]|de hier\b"
    r"|(?:ai|avons|avez|ont|nous|le|la|une|[Qq]uel(?:le)?s?)\b)"
)
"""Words beside which `hier` is not the German and Dutch word for "here"; AI is an abbreviation."""


def in_english(text: str) -> tuple[int, int, str] | None:
    """Return where the first date words of another language are, and the same in English."""
    for pattern, english in _PHRASES:
        if found := pattern.search(text):
            groups = found.groupdict()
            name = NAMED[groups["name"].lower()] if groups.get("name") else ""
            return _translated(found, english.format(name.capitalize(), **groups))  # not "may"
    if (found := _HIER.search(text)) and _IS_FRENCH.search(text):
        return _translated(found, "yesterday")
    return None


def _translated(found: re.Match[str], english: str) -> tuple[int, int, str]:
    return found.start(), found.end(), f"since {english}" if found["since"] else english
