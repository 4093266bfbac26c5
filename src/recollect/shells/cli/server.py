"""Many memories in one PostgreSQL database: the group `server`."""

from __future__ import annotations

import click

from recollect.shells.cli.push import push_command
from recollect.shells.cli.shared import Group, SharedOptions, shared_options
from recollect.shells.cli.store import STORE_COMMANDS
from recollect.shells.cli.tokens import tokens_command
from recollect.shells.cli.worker import worker_command


@click.group("server", cls=Group)
@shared_options
def server_command(_options: SharedOptions) -> None:
    """Set up and run a PostgreSQL database of many memories, and push notes to one of them."""


for _command in (*STORE_COMMANDS, push_command, tokens_command, worker_command):
    server_command.add_command(_command)
