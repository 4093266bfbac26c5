"""Generated parts of pages that are otherwise written by hand stand between two marks."""

from __future__ import annotations

_END = "<!-- end -->"


def filled(page: str, name: str, *, with_text: str) -> str:
    """Return the page with this between the marks of the part; the rest stays as it is."""
    begin = f"<!-- generated: {name} -->"
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(_END)
    return f"{before}{begin}\n\n{with_text}\n\n{_END}{after}"
