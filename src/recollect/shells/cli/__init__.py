"""The command line. Errors end a command with the next step and an exit code."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

import click

from recollect.errors import RecollectError, UsageError, system_failures_explained
from recollect.shells.cli.output import guard_streams, write_json, write_text
from recollect.shells.cli.shared import Group, SharedOptions, shared_options
from recollect.version import SHOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

ABANDONED = -1
"""The command has succeeded and left a thread at work, which nothing should wait for."""
FAILED = 1
MISUSED = 2
INTERRUPTED = 130

COMMANDS = {
    "config": "config",
    "doctor": "status",
    "eval": "evaluate",
    "facts": "facts",
    "get": "search",
    "hook": "hook",
    "index": "index",
    "ingest": "facts",
    "install": "install",
    "mcp": "serve",
    "recall": "search",
    "remember": "facts",
    "reset": "index",
    "search": "search",
    "serve": "serve",
    "server": "server",
    "sessions": "sessions",
    "status": "status",
    "tidy": "evaluate",
}
"""Each command and its module here, which has a function `…_command`."""
_ELSEWHERE = frozenset({"ingest"})
"""Commands that are listed in a group, and also work without its name: `facts ingest`."""
_MEANT = {
    "agents": "status --all",
    "cache": "status",
    "forget": "facts forget",
    "push": "server push",
    "store": "server",
    "supersede": "facts supersede",
    "tokens": "server tokens",
    "tune": "eval --compare",
    "verify": "doctor --verify",
    "watch": "index --watch",
    "worker": "server worker",
}
"""What does the work of commands that people look for here."""


class LazyGroup(Group):
    """A group that imports a command's module only when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands without importing any."""
        del ctx
        return sorted(COMMANDS.keys() - _ELSEWHERE)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or suggest the nearest name."""
        if args and args[0] not in COMMANDS:
            import difflib  # noqa: PLC0415 - only for a mistake

            near = [_MEANT[args[0]]] if args[0] in _MEANT else []
            near += difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"There is no command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module and return the command."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"{__name__}.{COMMANDS[cmd_name]}")
        command = getattr(module, f"{cmd_name}_command")
        assert isinstance(command, click.Command)  # noqa: S101 - a mistake in our own table
        return command


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(SHOWN, message="%(version)s")
@shared_options
def cli(_options: SharedOptions) -> None:
    """Search Markdown notes, for people and AI agents, by keyword and by meaning together."""


def main() -> None:
    """Run the command line and exit with its code."""
    guard_streams()
    # Starting a thread per core takes numpy longer than anything a command multiplies.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    code = run(cli, sys.argv[1:])
    if code == ABANDONED:
        sys.stdout.flush()
        os._exit(0)
    sys.exit(code)


def run(command: click.Command, arguments: Sequence[str]) -> int:
    """Run a command, print its error if it fails, and return its exit code."""
    wants_json = "--json" in arguments
    try:
        with system_failures_explained():
            code = command.main(
                list(arguments), prog_name="recollect", standalone_mode=False, obj=SharedOptions()
            )
    except click.UsageError as error:
        if not wants_json:
            error.show()
        else:
            hint = error.ctx.get_usage() if error.ctx else "recollect --help"
            _print_error("usage", error.format_message(), hint)
        return MISUSED
    except click.Abort:
        write_text("Interrupted.", to_stderr=True)
        return INTERRUPTED
    except RecollectError as error:
        if wants_json:
            _print_error(error.kind, error.message, error.action)
        else:
            write_text(f"Error: {error.message}\n  → {error.action}", to_stderr=True)
        return MISUSED if isinstance(error, UsageError) else FAILED
    return code if isinstance(code, int) else 0


def _print_error(kind: str, message: str, action: str) -> None:
    envelope = {"ok": False, "error": {"type": kind, "message": message, "action": action}}
    write_json(envelope, indent=2)
