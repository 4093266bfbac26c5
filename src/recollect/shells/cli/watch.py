"""`recollect watch`: keep the index fresh until stopped."""

from __future__ import annotations

import json
import signal
import time
from typing import TYPE_CHECKING

import click

from recollect.shells.cli.shared import given, open_memory, print_lines, say, shared_options

if TYPE_CHECKING:
    from recollect.errors import RecollectError
    from recollect.reports import Report

_WAKE_SECONDS = 0.5


@click.command("watch")
@shared_options
@click.pass_context
def command(context: click.Context, /, **options: object) -> None:
    """Keep the index fresh until stopped (Ctrl-C)."""
    common = given(context, options)
    signals: list[int] = []
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda number, _: signals.append(number))
    with open_memory(common) as memory:
        worker = memory.worker(
            on_sync=lambda ended: _tell(ended, as_json=bool(common["as_json"])), on_notice=say
        )
        say(f"Watching {memory.workspace}. Stop with Ctrl-C.")
        worker.start()
        # A signal may reach another thread: it does not wake this one then, and is seen soon.
        while not signals:
            time.sleep(_WAKE_SECONDS)
        worker.stop()


def _tell(ended: Report | RecollectError, *, as_json: bool) -> None:
    """Print what a sync changed; with --json one line each, since there is no end."""
    from recollect.errors import RecollectError  # noqa: PLC0415 - not needed for --help
    from recollect.shells.render import search as render  # noqa: PLC0415

    if isinstance(ended, RecollectError):
        say(f"{ended.message}\n  → {ended.action}")
        return
    print_lines(render.report_remarks(ended), to_stderr=True)
    if as_json:
        click.echo(json.dumps(render.report_json(ended), ensure_ascii=False))
    elif ended.added or ended.changed or ended.moved or ended.removed or ended.embedded:
        print_lines(render.report_text(ended))
