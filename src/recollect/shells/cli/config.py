"""`recollect config`: what is set and where, changing it, bringing it over from OpenClaw."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.shells.cli.shared import given, print_json, print_lines, shared_options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recollect.config.files import SettingsFiles


@click.group("config")
@shared_options
@click.pass_context
def command(context: click.Context, /, **options: object) -> None:
    """Show the settings and where each was set; change them."""
    context.obj = given(context, options)


@command.command("show")
@click.argument("key", required=False)
@click.option("--all", "everything", is_flag=True, help="Also what is at its default.")
@shared_options
@click.pass_context
def show(
    context: click.Context, /, *, key: str | None, everything: bool, **options: object
) -> None:
    """Show what is set, with its value and where it was set.

    KEY shows one setting, such as max_results, or a group, such as remote.
    """
    from recollect.shells.render import config as render  # noqa: PLC0415 - not needed for --help

    common = given(context, options)
    config_file = common["config_file"]
    if config_file is not None and not Path(str(config_file)).is_file():
        raise click.BadParameter(f"there is no file {config_file}", param_hint="--config")
    shown = _files(common).show(key, everything=everything)
    if common["as_json"]:
        print_json(render.settings_json(shown))
    else:
        print_lines(render.settings_text(shown))


@command.command("path")
@shared_options
@click.pass_context
def path(context: click.Context, /, **options: object) -> None:
    """Show the files that settings are read from, the home, the index and the models."""
    from recollect.shells.render import config as render  # noqa: PLC0415 - not needed for --help

    common = given(context, options)
    locations = _files(common).locate()
    print_lines(render.problem_lines(locations.problem), to_stderr=True)
    if common["as_json"]:
        print_json(render.locations_json(locations))
    else:
        print_lines(render.locations_text(locations))


@command.command("set")
@click.argument("key")
@click.argument("value", required=False)
@click.option("--unset", is_flag=True, help="Remove the setting from the file.")
@click.option(
    "--workspace-file", is_flag=True, help="Change recollect.toml of the workspace, not your file."
)
@shared_options
@click.pass_context
def change(
    context: click.Context,
    /,
    *,
    key: str,
    value: str | None,
    unset: bool,
    workspace_file: bool,
    **options: object,
) -> None:
    """Set KEY to VALUE in your settings file; its other lines stay as they are.

    Lists are separated by commas: `config set extra_paths ~/notes,docs/*.md`.
    """
    from recollect.shells.render import config as render  # noqa: PLC0415 - not needed for --help

    if unset == (value is not None):
        raise click.UsageError("Give either a VALUE or --unset.")
    common = given(context, options)
    changed = _files(common).change(key, value, in_workspace=workspace_file)
    print_lines(render.change_remarks(changed), to_stderr=True)
    if common["as_json"]:
        print_json(render.change_json(changed))
    else:
        print_lines(render.change_text(changed))


@command.command("import-openclaw")
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False))
@click.option("--write", is_flag=True, help="Write what can be taken over into your settings file.")
@click.option("--agent", metavar="ID", help="OpenClaw's agent. Default: its default agent.")
@click.option(
    "-w", "--workspace", type=click.Path(path_type=Path), help="Folder with MEMORY.md and memory/."
)
@click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Settings file to write instead of your own.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def import_openclaw(
    context: click.Context,
    /,
    *,
    file: Path | None,
    write: bool,
    agent: str | None,
    **options: object,
) -> None:
    """Tell what OpenClaw's memory search settings are here; with --write, take them over.

    FILE is OpenClaw's configuration, by default ~/.openclaw/openclaw.json. Keys are never copied.
    """
    from recollect.shells.render import config as render  # noqa: PLC0415 - not needed for --help

    common = given(context, options)  # --agent before the command is the index's, as everywhere
    found = _files(common).import_openclaw(file, agent=agent, write=write)
    print_lines(render.import_remarks(found), to_stderr=True)
    if common["as_json"]:
        print_json(render.import_json(found))
    else:
        print_lines(render.import_text(found, write=write))


def _files(common: Mapping[str, object]) -> SettingsFiles:
    from recollect.config.files import SettingsFiles  # noqa: PLC0415 - pulls in every stage's options

    workspace, agent, config_file = common["workspace"], common["agent"], common["config_file"]
    return SettingsFiles.find(
        Path(str(workspace)) if workspace is not None else None,
        agent=str(agent) if agent is not None else None,
        config_file=Path(str(config_file)) if config_file is not None else None,
    )
