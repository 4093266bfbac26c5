"""A command group that knows its commands by name and imports one only when it is called."""

from __future__ import annotations

import difflib
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

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the nearest command when there is none of that name."""
        if args and args[0] not in self._commands_at:
            near = difflib.get_close_matches(args[0], self._commands_at, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"There is no command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command asked for."""
        del ctx
        if cmd_name not in self._commands_at:
            return None
        command = import_module(self._commands_at[cmd_name]).command
        assert isinstance(command, click.Command)  # noqa: S101 - a mistake in our own table
        return command
