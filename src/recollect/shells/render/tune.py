"""What `recollect tune` shows: what was tried, what is proposed, and on what grounds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from recollect.shells.render.evaluate import (
    interval_json,
    interval_text,
    table,
    unfindable_lines,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from recollect.evaluate.tune import Tuning
    from recollect.shells.render.search import Json, Line

_DIGITS = 4


def tuning_text(
    tuning: Tuning, *, diff: str | None, cases_file: Path, write: bool
) -> Iterator[Line]:
    """Yield what `tune` prints."""
    ranked = sorted(tuning.trials.items(), key=lambda trial: -trial[1])
    yield from table([["tried", "worth"], *([name, f"{worth:.3f}"] for name, worth in ranked)])
    yield "", ""
    yield f"Settings in force      {interval_text(tuning.present)}", ""
    yield f"Chosen on other cases  {interval_text(tuning.chosen)}", ""
    yield f"Gain, case by case     {interval_text(tuning.gain, sign='+')}", ""
    yield "", ""
    if not tuning.changes:
        yield "Your settings are as good: nothing tried is better beyond chance.", ""
        if ranked[0][1] > tuning.trials["present"]:
            yield "A row above `present` is not proposed: its gain may be chance.", ""
        if write:
            yield "Nothing was written.", ""
        return
    if diff is not None:
        for line in diff.split("\n"):
            yield line, {"+": "green", "-": "red"}.get(line[:1], "")
        return
    yield f"Better settings for these {tuning.cases} cases:", ""
    for key, value in tuning.changes.items():
        yield f"  {key} = {json.dumps(value)}", "bold"
    yield f"`recollect tune {cases_file} --write` writes them into {tuning.file}.", ""


def tuning_remarks(tuning: Tuning, *, warnings: Sequence[str], cases_file: Path) -> Iterator[Line]:
    """Yield what the user should know besides the proposal."""
    yield from unfindable_lines(warnings, cases_file=cases_file)
    if tuning.without_vector:
        count = f"{tuning.without_vector} of {tuning.cases} cases"
        yield f"The vector leg did not run for {count}; `recollect eval` tells why.", "yellow"
    for key, origin in tuning.overridden.items():
        yield f"`{key}` is also set in the {origin}, which wins over {tuning.file}.", "yellow"


def tuning_json(tuning: Tuning, *, diff: str | None, warnings: Sequence[str]) -> Json:
    """Return the contract of `tune --json`."""
    return {
        "cases": tuning.cases,
        "trials": {name: round(worth, _DIGITS) for name, worth in tuning.trials.items()},
        "present": interval_json(tuning.present),
        "chosen": interval_json(tuning.chosen),
        "gain": interval_json(tuning.gain),
        "best": tuning.best,
        "proposal": dict(tuning.changes) or None,
        "file": str(tuning.file),
        "written": diff is not None,
        "diff": diff,
        "overridden": dict(tuning.overridden),
        "withoutVector": tuning.without_vector,
        "warnings": list(warnings),
    }
