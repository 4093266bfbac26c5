"""How commands fail: our errors and click's become a message with a next step, and an exit code."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

FAILED = 1
MISUSED = 2
INTERRUPTED = 130


def run(command: click.Command, arguments: Sequence[str]) -> int:
    """Run a command and return its exit code; nothing but the code leaves this function."""
    from recollect.errors import RecollectError, UsageError  # noqa: PLC0415 - light start-up

    wants_json = "--json" in arguments
    try:
        code = command.main(list(arguments), prog_name="recollect", standalone_mode=False)
    except click.UsageError as error:
        if not wants_json:
            error.show()
        else:
            hint = error.ctx.get_usage() if error.ctx else "recollect --help"
            _print_error("usage", error.format_message(), hint)
        return MISUSED
    except click.Abort:
        click.echo("Interrupted.", err=True)
        return INTERRUPTED
    except RecollectError as error:
        if wants_json:
            _print_error(error.kind, error.message, error.action)
        else:
            click.echo(f"Error: {error.message}\n  → {error.action}", err=True)
        return MISUSED if isinstance(error, UsageError) else FAILED
    return code if isinstance(code, int) else 0


def _print_error(kind: str, message: str, action: str) -> None:
    envelope = {"ok": False, "error": {"type": kind, "message": message, "action": action}}
    click.echo(json.dumps(envelope, ensure_ascii=False, indent=2))
