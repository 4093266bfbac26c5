"""`server worker`: embeds what was pushed to the memories of a database."""

from __future__ import annotations

import logging
import signal
import time
from typing import TYPE_CHECKING

import click

from recollect.errors import RecollectError
from recollect.shape import json_of
from recollect.shells.cli.output import write_json
from recollect.shells.cli.serve import limit_arenas
from recollect.shells.cli.shared import SharedOptions, notify, shared_options

if TYPE_CHECKING:
    from recollect.reports import Report

_WAKE_SECONDS = 0.2


@click.command("worker")
@click.option("--once", is_flag=True, help="Stop when the queue is empty.")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="First queue every memory that has a token, for example after changing the model.",
)
@shared_options
def worker_command(options: SharedOptions, *, once: bool, everything: bool) -> None:
    """Embed what was pushed to the memories of a database, until stopped (Ctrl-C).

    Any number of workers share the work of the database that the setting `store` names.
    """
    from recollect.hosting.host import MemoryHost  # noqa: PLC0415 - not needed for --help
    from recollect.hosting.work import QueueWorker  # noqa: PLC0415

    limit_arenas()
    logging.basicConfig(level=logging.WARNING, format="recollect server worker: %(message)s")
    options.require_config_file()

    def print_sync(agent: str, ended: Report | RecollectError) -> None:
        if isinstance(ended, RecollectError):
            notify(f"{agent}: {ended.message}\n  → {ended.action}")
        elif options.as_json:
            write_json({"memory": agent, **json_of(ended)})
        else:
            notify(f"{agent}: {ended.embedded} texts embedded, {ended.pending} left.")

    with MemoryHost.open(config_file=options.config_file) as host:
        worker = QueueWorker(host, on_sync=print_sync)
        if everything:
            with host.queue() as queue:
                queue.add_all()
        if once:
            while worker.work_once():
                pass
            return
        signals: list[int] = []
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, lambda number, _: signals.append(number))
        worker.start()
        notify("Working. Stop with Ctrl-C.")
        while not signals:
            time.sleep(_WAKE_SECONDS)
        worker.stop()
