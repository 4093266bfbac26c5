"""`recollect hook`: answers the hooks of an agent's session; never blocks one, never fails one."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.shells.cli.shared import given, open_memory, shared_options

if TYPE_CHECKING:
    from recollect.memory import Memory


class _Unfailing(click.Command):
    """A command that says what was wrong with its arguments and ends well all the same."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, or answer that one could not: exit code 2 would block the agent's session."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            message = f"Recollect: {error.format_message()} See `recollect hook --help`."
            click.echo(json.dumps({"systemMessage": message}, ensure_ascii=False))
            ctx.exit(0)


@click.command("hook", cls=_Unfailing, hidden=True)
@click.argument("event")
@click.option(
    "--budget", type=int, default=800, help="The most tokens that a turn is given.  [default: 800]"
)
@click.option("--seconds", type=float, default=8.0, help="The longest it may take.  [default: 8]")
@shared_options
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    event: str,
    budget: int,
    seconds: float,
    **options: object,
) -> None:
    """Answer EVENT of Claude Code: session-start, prompt or stop.

    Reads the event as JSON from standard input and prints the answer as JSON.
    """
    from recollect.shells import hooks  # noqa: PLC0415 - not needed for --help

    common = given(context, options)
    workspace = common["workspace"]

    def opened(folder: Path) -> Memory:
        return open_memory({**common, "workspace": folder})

    answer = hooks.answer(
        event,
        _read_event,
        open_memory=opened,
        workspace=Path(str(workspace)) if workspace is not None else None,
        limits=hooks.Limits(seconds=seconds, budget_tokens=budget),
    )
    click.echo(json.dumps(answer, ensure_ascii=False))
    if answer == hooks.TIMED_OUT:
        sys.stdout.flush()
        os._exit(0)  # the work that took too long is not waited for


def _read_event() -> dict[str, object]:
    """Return what the agent sent; nothing where it sent nothing that can be understood."""
    if sys.stdin.isatty():
        return {}
    try:
        event = json.loads(sys.stdin.buffer.read().decode("utf-8", errors="replace"))
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}
