"""The command line as records: every command with its usage, its text and its options."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from recollect.shells.cli import cli

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = "recollect"
_HELP = {"help", "version"}


@dataclass(frozen=True, slots=True)
class Option:
    """One option: how it is written, and what it means."""

    written: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Command:
    """One command, as its `--help` has it."""

    name: str
    """With those above it: `recollect facts list`."""
    usage: str
    paragraphs: tuple[str, ...]
    options: tuple[Option, ...]
    """Its own: those of every command are told once."""
    is_group: bool


def shared_options() -> tuple[Option, ...]:
    """Return the options that every command takes."""
    return _options(cli, click.Context(cli, info_name=PROGRAM), without=set())


def about() -> str:
    """Return what the program is for."""
    return " ".join(_paragraphs(cli))


def commands() -> Iterator[Command]:
    """Yield every command, those of a group after it, in the order of the alphabet."""
    root = click.Context(cli, info_name=PROGRAM)
    for name in cli.list_commands(root):
        command = cli.get_command(root, name)
        assert command is not None  # noqa: S101 - the group itself named it
        yield from _described(command, click.Context(command, parent=root, info_name=name))


def _described(command: click.Command, context: click.Context) -> Iterator[Command]:
    shared = {option.name for option in cli.params}
    is_group = isinstance(command, click.Group)
    yield Command(
        name=context.command_path,
        usage=" ".join([context.command_path, *command.collect_usage_pieces(context)]),
        paragraphs=_paragraphs(command),
        options=_options(command, context, without=shared),
        is_group=is_group,
    )
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None  # noqa: S101 - the group itself named it
            inner = click.Context(below, parent=context, info_name=name)
            yield from _described(below, inner)


def _paragraphs(command: click.Command) -> tuple[str, ...]:
    text = inspect.cleandoc(command.help or "").split("\f")[0].replace("\b", "")
    return tuple(" ".join(part.split()) for part in text.split("\n\n") if part.strip())


def _options(
    command: click.Command, context: click.Context, *, without: set[str]
) -> tuple[Option, ...]:
    records = [
        option.get_help_record(context)
        for option in command.params
        if isinstance(option, click.Option) and option.name not in without | _HELP
    ]
    return tuple(Option(*record) for record in records if record is not None)
