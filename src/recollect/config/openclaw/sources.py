"""Maps what is indexed: extra paths and transcripts, of OpenClaw's own engine and of QMD."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from recollect.config.openclaw.mapper import KeyMapper
    from recollect.config.openclaw.read import OpenClawKey

_MEMORY = "memory"
_SESSIONS = "sessions"
_SEARCH_SESSIONS = "`recollect config set sources memory,sessions` searches transcripts"


def map_paths(lists: Iterable[OpenClawKey], *, mapper: KeyMapper) -> None:
    """Map lists of paths, each a string or a folder with a pattern."""
    for key in lists:
        given = key.value if isinstance(key.value, list) else [key.value]
        plain = [path for each in given if (path := _plain_path(each))]
        globs = [glob for each in given if (glob := _glob(each))]
        if plain:
            mapper.map_to(key, "extra_paths", plain, joins=True)
        if globs:
            how = "a folder and a pattern are one glob"
            mapper.map_to(key, "extra_paths", globs, how=how, joins=True)
        if any(not _plain_path(each) and not _glob(each) for each in given):
            mapper.unsupported(key, "Some of it is neither a path nor {path, pattern}.")


def map_sources(
    keys: Mapping[str, OpenClawKey], *, qmd: OpenClawKey | None, mapper: KeyMapper
) -> None:
    """Map whether transcripts are searched; in OpenClaw that takes two keys."""
    listed, flag = keys.get("sources"), keys.get("experimental.sessionMemory")
    is_on = flag is not None and flag.value is True
    wanted = listed.value if listed is not None and isinstance(listed.value, list) else []
    if listed is not None:
        searched = [name for name in wanted if name != _SESSIONS or is_on] or [_MEMORY]
        how = None
        if _SESSIONS in wanted and not is_on:
            how = f"without experimental.sessionMemory none are searched; {_SEARCH_SESSIONS}"
        mapper.map_to(listed, "sources", searched, how=how)
    elif qmd is not None and qmd.value is True:
        mapper.map_to(qmd, "sources", [_MEMORY, _SESSIONS], how="transcripts are a source here")
        qmd = None
    if flag is not None and not is_on:
        mapper.not_needed(flag, f"nothing to set; {_SEARCH_SESSIONS}")
    elif flag is not None:
        unused = "without `sessions` in `sources` it does nothing"
        mapper.not_needed(flag, "it is part of `sources`" if _SESSIONS in wanted else unused)
    if qmd is not None:
        mapper.not_needed(
            qmd, "it is part of `sources`" if listed else f"nothing to set; {_SEARCH_SESSIONS}"
        )


def _plain_path(given: object) -> str | None:
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
