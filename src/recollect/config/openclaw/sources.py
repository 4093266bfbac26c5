"""What is remembered: extra paths and transcripts, of OpenClaw's own engine and of QMD."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from recollect.config.openclaw.sorting import Found, Sorting

_MEMORY = "memory"
_SESSIONS = "sessions"
_SEARCH_SESSIONS = "`recollect config set sources memory,sessions` searches transcripts"


def sort_paths(lists: Iterable[Found], *, sorting: Sorting) -> None:
    """Carry over lists of paths, each a string or a folder with a pattern."""
    for found in lists:
        given = found.value if isinstance(found.value, list) else [found.value]
        plain = [path for each in given if (path := _path(each))]
        globs = [glob for each in given if (glob := _glob(each))]
        if plain:
            sorting.carry(found, "extra_paths", plain, joins=True)
        if globs:
            how = "a folder and a pattern are one glob"
            sorting.carry(found, "extra_paths", globs, how=how, joins=True)
        if any(not _path(each) and not _glob(each) for each in given):
            sorting.refuse(found, "Some of it is neither a path nor {path, pattern}.")


def sort_sources(keys: Mapping[str, Found], *, qmd: Found | None, sorting: Sorting) -> None:
    """Carry over whether transcripts are searched: OpenClaw wants two keys for that."""
    listed, flag = keys.get("sources"), keys.get("experimental.sessionMemory")
    is_on = flag is not None and flag.value is True
    wanted = listed.value if listed is not None and isinstance(listed.value, list) else []
    if listed is not None:
        searched = [name for name in wanted if name != _SESSIONS or is_on] or [_MEMORY]
        how = None
        if _SESSIONS in wanted and not is_on:
            how = f"without experimental.sessionMemory none are searched; {_SEARCH_SESSIONS}"
        sorting.carry(listed, "sources", searched, how=how)
    elif qmd is not None and qmd.value is True:
        sorting.carry(qmd, "sources", [_MEMORY, _SESSIONS], how="transcripts are a source here")
        qmd = None
    if flag is not None and not is_on:
        sorting.settle(flag, f"nothing to set; {_SEARCH_SESSIONS}")
    elif flag is not None:
        is_used = _SESSIONS in wanted
        said = "`sources` says it" if is_used else "without `sessions` in `sources` it does nothing"
        sorting.settle(flag, said)
    if qmd is not None:
        sorting.settle(
            qmd, "`sources` says it" if listed else f"nothing to set; {_SEARCH_SESSIONS}"
        )


def _path(given: object) -> str | None:
    if isinstance(given, dict) and not given.get("pattern"):
        given = given.get("path")
    return given.strip() or None if isinstance(given, str) else None


def _glob(given: object) -> str | None:
    if not isinstance(given, dict):
        return None
    folder, pattern = given.get("path"), given.get("pattern")
    if not isinstance(folder, str) or not isinstance(pattern, str) or not pattern.strip():
        return None
    return f"{folder.strip().rstrip('/')}/{pattern.strip().removeprefix('./')}"
