"""Which day a text speaks of, from its path and its front matter.

It never looks at a file's age on disk: copying a folder must not change what its notes are about.
"""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING

from recollect.ingest.curated import is_curated

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_DATE_KEYS = ("date", "day", "created")

_DAY = r"([12][0-9]{3})([-_])([0-9]{2})\2([0-9]{2})(?![0-9])"
_IN_NAME = re.compile(rf"(?<![0-9]){_DAY}")
_FOLDER = re.compile(_DAY)
_NESTED = re.compile(r"(?:^|/)([12][0-9]{3})([-_/])([0-9]{2})/([0-9]{2})(?![0-9])[^/]*$")
_STATED = re.compile(r"([0-9]{4})(-)([0-9]{2})-([0-9]{2})(?![0-9-])")


def when_of(path: str, *, front_matter: Mapping[str, str]) -> date | None:
    """Return the day a text speaks of, or None for an evergreen one.

    The file's own name counts first (`2026-02-01-standup.md`, `2026/02/01.md`), then a date in
    its front matter, then the nearest dated folder.
    """
    if is_curated(path):
        return None
    *folders, name = path.split("/")
    return (
        _first_day(_IN_NAME.finditer(name))
        or _first_day(_NESTED.finditer(path))
        or _first_day(_stated(front_matter))
        or _first_day(found for part in reversed(folders) if (found := _FOLDER.match(part)))
        or _first_day(_NESTED.finditer("/".join(folders)))
    )


def _stated(front_matter: Mapping[str, str]) -> Iterable[re.Match[str]]:
    values = (front_matter.get(key, "").strip().strip("\"'") for key in _DATE_KEYS)
    return (found for value in values if (found := _STATED.match(value)))


def _first_day(candidates: Iterable[re.Match[str]]) -> date | None:
    for found in candidates:
        try:
            return date(int(found[1]), int(found[3]), int(found[4]))
        except ValueError:  # 2026-02-30 has the form of a date only
            continue
    return None
