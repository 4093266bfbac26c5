"""A command group that knows its commands by name and imports one only when it is called."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Mapping


class LazyGroup(click.Group):
    """A click group over a table of command name → module with a function `command`."""

    def __init__(self, *, commands_at: Mapping[str, str], **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]  # click's own options, passed on
        self._commands_at = commands_at

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names; nothing is imported for that."""
        del ctx
        return sorted(self._commands_at)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command asked for."""
        del ctx
        if cmd_name not in self._commands_at:
            return None
        command = import_module(self._commands_at[cmd_name]).command
        assert isinstance(command, click.Command)  # noqa: S101 - a mistake in our own table
        return command
