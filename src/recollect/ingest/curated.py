"""The two hand-kept files at the workspace root, and the annotations their entries may carry.

It knows their names and the form of an annotation, not what an annotation means.
"""

from __future__ import annotations

import re

CURATED = ("MEMORY.md", "USER.md")
"""Files of single entries that speak of no date, in the order in which they are taken in."""

_ANNOTATION = re.compile(r"<!--\s*(?:trigger|importance|project)\s*:")


def is_curated(path: str) -> bool:
    """Tell whether a stored path names one of the curated files."""
    return path in CURATED


def without_annotations(line: str) -> str:
    """Return the line without the annotations at its end."""
    end = len(line.rstrip())
    while line.endswith("-->", 0, end):
        start = line.rfind("<!--", 0, end)
        if start < 0 or not _ANNOTATION.match(line, start, end):
            break
        end = start
        while end and line[end - 1].isspace():
            end -= 1
    return line if end == len(line.rstrip()) else line[:end]
