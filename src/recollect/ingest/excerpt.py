"""Part of a text by line numbers, within a size an agent can take in.

It knows nothing of files or permissions: the caller has read the text and may show it.
"""

from __future__ import annotations

from itertools import accumulate

from recollect.reports import Excerpt
from recollect.text.graphemes import boundary_before


def excerpt(
    text: str,
    *,
    path: str,
    start_line: int = 1,
    lines: int = 120,
    max_chars: int = 12_000,
) -> Excerpt:
    """Return up to `lines` whole lines from `start_line` on, at most `max_chars` long.

    A first line longer than that is cut, and reading goes on after it: otherwise a reader
    could never get past it.
    """
    start = max(1, start_line)
    every = text.removesuffix("\n").split("\n") if text else []
    asked = every[start - 1 : start - 1 + max(1, lines)]
    ends = accumulate(len(line) + 1 for line in asked)
    # The last line's newline is not shown, so it takes no room.
    kept = asked[: sum(end - 1 <= max_chars for end in ends)]
    if asked and not kept:
        kept = [asked[0][: boundary_before(asked[0], max_chars)]]
    following = start + len(kept)
    return Excerpt(
        path=path,
        start_line=start,
        lines=len(kept),
        text="\n".join(kept),
        next_line=following if kept and following <= len(every) else None,
    )
