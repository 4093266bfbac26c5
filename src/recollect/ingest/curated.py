"""The two hand-kept files at the workspace root, and the annotations of their entries."""

from __future__ import annotations

import re

CURATED = ("MEMORY.md", "USER.md")
"""Files of separate, undated entries, in the order in which they are indexed."""

_ANNOTATION = re.compile(r"<!--\s*(?:trigger|importance|project)\s*:")


def is_curated(path: str) -> bool:
    """Tell whether a stored path names one of the curated files."""
    return path in CURATED


def without_annotations(line: str) -> str:
    """Return the line without its trailing annotations."""
    end = len(line.rstrip())
    while line.endswith("-->", 0, end):
        start = line.rfind("<!--", 0, end)
        if start < 0 or not _ANNOTATION.match(line, start, end):
            break
        end = start
        while end and line[end - 1].isspace():
            end -= 1
    return line if end == len(line.rstrip()) else line[:end]
