"""Settings: `config show`, `path`, `set` and `import-openclaw`."""

from __future__ import annotations

import functools
import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.config.paths import PROJECT_FILE
from recollect.shape import camel, json_of
from recollect.shells.cli.shared import Group, SharedOptions, print_remarks, shared_options
from recollect.shells.render.shared import diff_lines, overridden_lines, table, warning_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recollect.config.files import OpenClawImport, SettingChange, SettingsFiles, SettingState
    from recollect.errors import ConfigError
    from recollect.shells.render.shared import Line


@click.group("config", cls=Group)
@shared_options
def config_command(_options: SharedOptions) -> None:
    """Show the settings and where each was set, or change them."""


@config_command.command("show")
@click.argument("key", required=False)
@click.option(
    "--all", "everything", is_flag=True, help="Also show settings that have their default."
)
@shared_options
def show_settings(options: SharedOptions, *, key: str | None, everything: bool) -> None:
    """Show each setting that is set, its value and where it was set.

    KEY shows one setting, such as max_results, or a group, such as remote.
    """
    options.require_config_file()
    shown = _files(options).show(key, everything=everything)
    rows = [[each.key, _text(each.value), each.origin] for each in shown]
    text = (
        table(rows) or "All settings have their defaults; `recollect config show --all` lists them."
    )
    options.print({"settings": shown}, text)


@config_command.command("path")
@shared_options
def show_paths(options: SharedOptions) -> None:
    """Show where the settings files, the home, the index and the cache are."""
    files = _files(options)
    places, problem = files.locate(), files.problem()
    print_remarks(_problem(problem))
    options.print(
        {
            "agent": files.workspace.agent,
            **{camel(name): _place(path) for name, path in places.items()},
            "problem": problem,
        },
        table(
            [name.replace("_", " "), f"{path}{'' if path.exists() else '  (missing)'}"]
            for name, path in places.items()
        ),
    )


@config_command.command("set")
@click.argument("key")
@click.argument("value", required=False)
@click.option("--unset", is_flag=True, help="Remove the setting from the file.")
@click.option(
    "--user-file/--workspace-file",
    default=None,
    help="Change your own file, for all workspaces, or this one's recollect.toml.  [default: "
    "recollect.toml, unless your own file has KEY or only it may]",
)
@shared_options
def set_setting(
    options: SharedOptions, *, key: str, value: str | None, unset: bool, user_file: bool | None
) -> None:
    """Set KEY to VALUE for this workspace, or for all if only your own file may set it.

    The other lines of the file stay as they are.

    Separate the values of a list with commas: `config set extra_paths journal,docs/*.md`.
    """
    if unset == (value is not None):
        raise click.UsageError("Give either a VALUE or --unset.")
    if user_file is None and options.config_file is not None:
        user_file = True  # a file was named
    change = _files(options).change(key, value, in_user_file=user_file)
    print_remarks(_change_remarks(change))
    options.print(change, _change_text(change))


@config_command.command("import-openclaw")
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False))
@click.option("--write", is_flag=True, help="Write the converted settings into your settings file.")
@click.option(
    "--agent", "openclaw_agent", metavar="ID", help="OpenClaw's agent. Default: its default agent."
)
@functools.partial(shared_options, without="agent")
def import_openclaw(
    options: SharedOptions, *, file: Path | None, write: bool, openclaw_agent: str | None
) -> None:
    """Show OpenClaw's memory search settings as ours; with --write, import them.

    FILE is OpenClaw's configuration, by default ~/.openclaw/openclaw.json. Keys are never copied.
    """
    found = _files(options).import_openclaw(file, agent=openclaw_agent, write=write)
    print_remarks((remark, "yellow") for remark in found.translation.remarks)
    print_remarks(overridden_lines(found.overridden, file=found.file))
    told = {
        **json_of(found),
        "workspace": _place(found.translation.workspace),
        "settings": found.translation.changes,
        "written": found.diff is not None,
    }
    options.print(told, _import_text(found, write=write))


def _files(options: SharedOptions) -> SettingsFiles:
    from recollect.config.files import SettingsFiles  # noqa: PLC0415 - loads every stage's options

    return SettingsFiles.find(
        options.workspace, agent=options.agent, config_file=options.config_file
    )


def _place(path: Path) -> dict[str, object]:
    return {"path": path, "exists": path.exists()}


def _problem(problem: ConfigError | None) -> Iterator[Line]:
    """Yield why the settings cannot be read, if they cannot."""
    if problem is not None:
        yield from warning_lines(problem.message, problem.action)


def _change_text(change: SettingChange) -> Iterator[Line]:
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


def _change_remarks(change: SettingChange) -> Iterator[Line]:
    """Yield which other setting overrides this one, and what is still wrong."""
    after = change.after
    is_overridden = after is not None and after.origin not in (str(change.file), "default")
    if is_overridden and after is not None and change.written is not None:
        place = after.origin if after.origin.endswith(".toml") else f"the {after.origin}"
        yield f"`{change.key}` is also set in {place}, which wins: {_text(after.value)}.", "yellow"
    yield from _problem(change.problem)


def _import_text(found: OpenClawImport, *, write: bool) -> Iterator[Line]:
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
