"""Addresses of memory files as resources: `memory:///` and the path, as search shows it."""

from __future__ import annotations

from urllib.parse import quote, unquote

SCHEME = "memory:///"
TEMPLATE = f"{SCHEME}{{+path}}"
_KEPT = "/@+,;=!$&'()*~"  # besides letters and digits: what a URI's path holds as it is


def uri_of(path: str) -> str:
    """Return the address of a path; of a citation with its lines as the fragment."""
    path, mark, lines = path.rpartition("#L") if "#L" in path else (path, "", "")
    return f"{SCHEME}{quote(path, safe=_KEPT)}{mark}{lines}"


def path_of(address: str) -> str | None:
    """Return the path, with the lines if there are any, of an address; None for anything else."""
    if not address.startswith(SCHEME):
        return None
    path, mark, lines = address.removeprefix(SCHEME).partition("#")
    return f"{unquote(path)}{mark}{lines}"
