"""Commands that take a text: one that begins with a dash needs `--` before it, and is told so."""

from __future__ import annotations

import click


class TextCommand(click.Command):
    """A command whose arguments are words of a text."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; where a word was taken for an option, say how it is not."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.possibilities:
                raise
            said = error.format_message().rstrip(".")
            hint = "Write `--` before a text that begins with a dash."
            raise click.UsageError(f"{said}. {hint}", error.ctx) from error
