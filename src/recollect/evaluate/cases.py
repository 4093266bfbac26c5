"""The file of cases: one JSON object a line, read whole or not at all, appended to atomically."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from recollect.errors import UsageError
from recollect.evaluate.case import Case, Expected
from recollect.evaluate.shape import case_json, case_of
from recollect.evaluate.write import check_folder, unwritable, write_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from recollect.types import Hit

_OPTION = "--to"  # names the file to add to


def read_cases(file: Path) -> tuple[Case, ...]:
    """Return all cases of a file.

    Raises:
        UsageError: the file cannot be read, holds no case, or a line is wrong; which one is said.

    """
    cases = _parsed(_text_of(file), file=file)
    if not cases:
        raise UsageError(
            f"{file} holds no cases.", action="Add one with `recollect eval add QUERY`."
        )
    return cases


def case_from(
    query: str, *, hits: Sequence[Hit], kind: str, places: Sequence[Expected] = ()
) -> Case:
    """Return the case of a question that these hits and places answer; none: memory does not."""
    accepted = [Expected(hit.path, hit.start_line, hit.end_line) for hit in hits]
    return Case(
        query=query,
        expected=tuple(dict.fromkeys([*accepted, *places])),
        kind=kind,
    )


def append_case(case: Case, *, to: Path) -> int | None:
    """Write a case to the end of a file; return how many it holds then, None if it had this one.

    Raises:
        UsageError: the file is not one of cases, or its folder is not there.
        RecollectError: it cannot be written; it is left as it was.

    """
    check_folder(to, option=_OPTION)
    try:
        is_there = to.exists()
    except OSError as error:
        raise unwritable(to, error, option=_OPTION) from error
    text = _text_of(to) if is_there else ""
    known = _parsed(text, file=to)
    if any((case.query, set(case.expected)) == (old.query, set(old.expected)) for old in known):
        return None
    line = json.dumps(case_json(case), ensure_ascii=False)
    gap = "\n" if text and not text.endswith("\n") else ""
    write_file(to, f"{text}{gap}{line}\n", option=_OPTION)
    return len(known) + 1


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise UsageError(
            f"There is no file {file}.",
            action="Name a file of cases, or begin one with `recollect eval add QUERY`.",
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"The cases in {file} cannot be read ({error}).",
            action="Name a UTF-8 text file with one JSON object a line.",
        ) from error


def _parsed(text: str, *, file: Path) -> tuple[Case, ...]:
    # Not splitlines(): JSON may hold other line separators inside its strings.
    lines = [
        (number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()
    ]
    return tuple(_case(line, where=f"{file}:{number}", number=number) for number, line in lines)


def _case(line: str, *, where: str, number: int) -> Case:
    try:
        entry = json.loads(line)
    except json.JSONDecodeError as error:
        raise UsageError(
            f"{where}: this is not JSON ({error.msg}, column {error.colno}).",
            action='Write one object a line: {"query": "…", "expected": ["memory/a.md:10-24"]}.',
        ) from error
    return case_of(entry, where=where, line=number)
