"""Who may use which memory of a server: `tokens create`, `list`, `revoke`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from recollect.shape import json_of
from recollect.shells.cli.shared import COMING_DAY, SharedOptions, shared_options
from recollect.shells.render import tokens as render
from recollect.text.days import end_of

if TYPE_CHECKING:
    from datetime import date

    from recollect.hosting.host import MemoryHost


@click.group("tokens")
@shared_options
def tokens_command(_options: SharedOptions) -> None:
    """Create and revoke tokens for the memories that `recollect serve --memories` serves.

    They are stored in the database that the setting `store` names, as digests.
    """


@tokens_command.command("create")
@click.argument("memory")
@click.option("--read-only", is_flag=True, help="Allow reading only.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    help="Show only global facts and those of this scope; may be repeated.",
)
@click.option(
    "--expires",
    type=COMING_DAY,
    help="The last day on which it works: 2027-02-01, or 90d from now.  [default: never]",
)
@click.option("--label", default="", help="What it is for.")
@shared_options
def create(
    options: SharedOptions,
    *,
    memory: str,
    read_only: bool,
    scopes: tuple[str, ...],
    expires: date | None,
    label: str,
) -> None:
    """Create a token for a memory, and show it once.

    MEMORY is the id of an agent; a new memory is created with its first document.
    """
    from recollect.hosting.tokens import create_token  # noqa: PLC0415 - not needed for --help

    with _host(options) as host, host.tokens() as tokens:
        token, text = create_token(
            tokens,
            memory,
            now=datetime.now(tz=UTC),
            label=label,
            scopes=scopes or None,
            is_read_only=read_only,
            expires=end_of(expires),
        )
    options.print({**json_of(token), "token": text}, render.created_text(token, text=text))


@tokens_command.command("list")
@click.argument("memory", required=False)
@shared_options
def list_tokens(options: SharedOptions, *, memory: str | None) -> None:
    """List the tokens of a memory, or of all, without their secret part."""
    with _host(options) as host, host.tokens() as tokens:
        found = tokens.listed(memory)
    options.print({"tokens": found}, render.tokens_text(found))


@tokens_command.command("revoke")
@click.argument("token_id", metavar="ID")
@shared_options
def revoke(options: SharedOptions, *, token_id: str) -> None:
    """Revoke a token at once, given by its id."""
    from recollect.hosting.tokens import revoke_token  # noqa: PLC0415 - not needed for --help

    with _host(options) as host, host.tokens() as tokens:
        revoke_token(tokens, token_id)
    options.print({"revoked": token_id}, f"Revoked {token_id}.")


def _host(options: SharedOptions) -> MemoryHost:
    from recollect.hosting.host import MemoryHost  # noqa: PLC0415 - heavy

    options.require_config_file()
    return MemoryHost.open(config_file=options.config_file)
