"""Settings: `config show`, `path`, `set` and `import-openclaw`."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.shells.cli.shared import Group, SharedOptions, print_remarks, shared_options
from recollect.shells.render import config as render

if TYPE_CHECKING:
    from recollect.config.files import SettingsFiles


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
    options.print({"settings": shown}, render.settings_text(shown))


@config_command.command("path")
@shared_options
def show_paths(options: SharedOptions) -> None:
    """Show where the settings files, the home, the index and the models are."""
    locations = _files(options).locate()
    print_remarks(render.problem_lines(locations.problem))
    options.print(render.locations_json(locations), render.locations_text(locations))


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
    print_remarks(render.change_remarks(change))
    options.print(change, render.change_text(change))


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
    print_remarks(render.import_remarks(found))
    options.print(render.import_json(found), render.import_text(found, write=write))


def _files(options: SharedOptions) -> SettingsFiles:
    from recollect.config.files import SettingsFiles  # noqa: PLC0415 - loads every stage's options

    return SettingsFiles.find(
        options.workspace, agent=options.agent, config_file=options.config_file
    )
