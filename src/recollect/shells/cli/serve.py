"""`recollect serve`: the HTTP API and the web page."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from recollect.shells.cli.proposal import program
from recollect.shells.cli.shared import given, named, say, shared_options

_PORT = 7717


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to be bound to.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=_PORT,
    show_default=True,
    help="Port; 0 is any free one.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File with the token that requests have to bring. Default: RECOLLECT_TOKEN.",
)
@click.option(
    "--allow-host",
    "names",
    multiple=True,
    metavar="NAME",
    help="Answer to this name too, as behind a proxy; may be repeated.",
)
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    help="Only global facts and those of this scope; may be repeated.",
)
@click.option("--read-only", is_flag=True, help="Let nobody write or forget facts.")
@shared_options
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    host: str,
    port: int,
    token_file: Path | None,
    names: tuple[str, ...],
    scopes: tuple[str, ...],
    read_only: bool,
    **options: object,
) -> None:
    """Serve the memory over HTTP, with a web page, until stopped (Ctrl-C)."""
    from recollect.async_memory import AsyncMemory  # noqa: PLC0415 - not needed for --help
    from recollect.config.peek import peek  # noqa: PLC0415
    from recollect.facts.scope import FactScope  # noqa: PLC0415
    from recollect.shells.guard import read_token, require_token  # noqa: PLC0415
    from recollect.shells.http.run import ServeOptions, serve  # noqa: PLC0415

    common = given(context, options)
    memory = named(common)
    token = read_token(os.environ, file=token_file)
    require_token(host, token=token)
    seen = frozenset(str(FactScope.parse(scope)) for scope in scopes) or None
    trouble = peek(memory["workspace"], agent=memory["agent"]).trouble
    if trouble is not None:
        say(trouble)
    serve(
        lambda: AsyncMemory.open(**memory, scopes=seen),
        options=ServeOptions(
            host,
            port,
            names,
            token,
            seen,
            is_read_only=read_only,
            program=program(common),
        ),
        told=lambda address: _tell(address, as_json=bool(common["as_json"])),
    )


def _tell(address: str, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"address": address}))
    else:
        say(f"Serving on {address} Stop with Ctrl-C.")
