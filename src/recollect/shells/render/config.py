"""What `config` prints: settings and where they were set, paths, changes, OpenClaw imports."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

from recollect.config.paths import PROJECT_FILE
from recollect.shape import camel
from recollect.shells.render.shared import diff_lines, overridden_lines, warning_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from recollect.config.files import Locations, OpenClawImport, SettingChange, SettingState
    from recollect.errors import ConfigError
    from recollect.shape import Json
    from recollect.shells.render.shared import Line


def settings_text(shown: Sequence[SettingState]) -> Iterator[Line]:
    """Yield one line per setting: name, value, origin."""
    if not shown:
        yield "All settings have their defaults; `recollect config show --all` lists them.", ""
        return
    widths = [
        max(len(column) for column in columns)
        for columns in zip(*((each.key, _text(each.value)) for each in shown), strict=True)
    ]
    for each in shown:
        value = _text(each.value)
        yield f"{each.key:<{widths[0]}}  {value:<{widths[1]}}  {each.origin}", ""


def locations_text(locations: Locations) -> Iterator[Line]:
    """Yield one line per path."""
    for name, path in _places(locations).items():
        missing = "" if path.exists() else "  (missing)"
        yield f"{name:<15} {path}{missing}", ""


def locations_json(locations: Locations) -> Json:
    """Return the JSON of `config path`."""
    places = {camel(name.replace(" ", "_")): path for name, path in _places(locations).items()}
    return {
        "agent": locations.agent,
        **{name: {"path": path, "exists": path.exists()} for name, path in places.items()},
        "problem": locations.problem,
    }


def problem_lines(problem: ConfigError | None) -> Iterator[Line]:
    """Yield why the settings cannot be read, if they cannot."""
    if problem is not None:
        yield from warning_lines(problem.message, problem.action)


def change_text(change: SettingChange) -> Iterator[Line]:
    """Yield the old value, the new one, and the file it was written to."""
    if not change.diff:
        state = "already has this value" if change.written is not None else "does not set it"
        yield f"{change.key}: {change.file} {state}.", ""
        return
    after = _text(change.written) if change.written is not None else _state(change.after)
    yield f"{change.key}: {_state(change.before)} → {after}", "bold"
    reach = "" if change.file.name == PROJECT_FILE else ", which applies to all your workspaces"
    done = "Removed from" if change.written is None else "Written to"
    yield f"{done} {change.file}{reach}.", ""


def change_remarks(change: SettingChange) -> Iterator[Line]:
    """Yield which other setting overrides this one, and what is still wrong."""
    after = change.after
    is_overridden = after is not None and after.origin not in (str(change.file), "default")
    if is_overridden and after is not None and change.written is not None:
        place = after.origin if after.origin.endswith(".toml") else f"the {after.origin}"
        yield f"`{change.key}` is also set in {place}, which wins: {_text(after.value)}.", "yellow"
    yield from problem_lines(change.problem)


def import_text(found: OpenClawImport, *, write: bool) -> Iterator[Line]:
    """Yield what was carried over and what was not, and what was or would be written."""
    translation = found.translation
    yield f"{translation.file}, agent {translation.agent}", "bold"
    here = "" if translation.workspace.is_dir() else " (missing)"
    option = f"-w {shlex.quote(str(translation.workspace))}"
    yield f"Its workspace is {translation.workspace}{here}: use it with `recollect {option} …`.", ""
    if translation.carried:
        yield "", ""
        yield "Carried over:", "bold"
        for each in translation.carried:
            yield f"  {each.key} → {each.setting} = {json.dumps(each.value)}", ""
    if translation.not_carried:
        yield "", ""
        yield f"Not carried over: {', '.join(translation.not_carried)}.", ""
    yield "", ""
    yield from _outcome(found, write=write)


def import_remarks(found: OpenClawImport) -> Iterator[Line]:
    """Yield what the user should know in addition to the lists."""
    for remark in found.translation.remarks:
        yield remark, "yellow"
    yield from overridden_lines(found.overridden, file=found.file)


def import_json(found: OpenClawImport) -> Json:
    """Return the JSON of `config import-openclaw`."""
    translation = found.translation
    return {
        "file": translation.file,
        "agent": translation.agent,
        "agents": translation.agents,
        "workspace": {"path": translation.workspace, "exists": translation.workspace.is_dir()},
        "carried": translation.carried,
        "notCarried": translation.not_carried,
        "remarks": translation.remarks,
        "settings": translation.changes,
        "changes": found.changes,
        "userFile": found.file,
        "written": found.diff is not None,
        "diff": found.diff,
        "overridden": found.overridden,
    }


def _outcome(found: OpenClawImport, *, write: bool) -> Iterator[Line]:
    if found.diff is not None:
        yield from diff_lines(found.diff)
    elif not found.translation.changes:
        yield "There is nothing to write: OpenClaw's file sets nothing that Recollect uses.", ""
    elif not found.changes:
        yield f"{found.file} already has all of this.", ""
    elif not write:
        yield f"Nothing was written. With --write, this goes into {found.file}:", ""
        for name, value in found.changes.items():
            yield f"  {name} = {json.dumps(value)}" if value is not None else f"  no {name}", "bold"


def _places(locations: Locations) -> dict[str, Path]:
    return {
        "workspace": locations.workspace,
        "workspace file": locations.workspace_file,
        "user file": locations.user_file,
        "home": locations.home,
        "index": locations.index,
        "cache": locations.cache,
        "models": locations.models,
    }


def _state(shown: SettingState | None) -> str:
    if shown is None:
        return "(unreadable)"
    return f"{_text(shown.value)} (default)" if shown.origin == "default" else _text(shown.value)


def _text(value: object) -> str:
    if value is None or value == "":
        return "unset"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (tuple, list)):
        return ", ".join(map(str, value)) or "none"
    return str(value)
