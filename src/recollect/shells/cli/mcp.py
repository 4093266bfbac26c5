"""`recollect mcp`: the memory as an MCP server, over stdio or HTTP."""

from __future__ import annotations

import logging
from pathlib import Path

import click

from recollect.shells.cli.shared import given, shared_options


@click.command("mcp")
@click.option("--http", metavar="HOST:PORT", help="Serve at http://HOST:PORT/mcp, not over stdio.")
@click.option(
    "--scope", "scopes", multiple=True, help="Global facts and those of this scope: user:ada."
)
@click.option("--read-only", is_flag=True, help="Offer no tools that write.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    help="Token that HTTP requests must bring.  [default: $RECOLLECT_TOKEN]",
)
@click.option(
    "--allow-host", "names", multiple=True, metavar="NAME", help="Also answer to this Host."
)
@shared_options
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    http: str | None,
    scopes: tuple[str, ...],
    read_only: bool,
    token_file: Path | None,
    names: tuple[str, ...],
    **options: object,
) -> None:
    """Serve the memory to an agent by MCP, until the agent closes it."""
    from recollect.shells.mcp.offer import make_offer  # noqa: PLC0415 - not needed for --help

    logging.basicConfig(level=logging.WARNING, format="recollect mcp: %(message)s")
    common = given(context, options)
    config_file = _path(common["config_file"])
    if config_file is not None and not config_file.is_file():
        raise click.BadParameter(f"there is no file {config_file}", param_hint="--config")
    offer = make_offer(
        workspace=_path(common["workspace"]),
        agent=str(common["agent"]) if common["agent"] is not None else None,
        config_file=config_file,
        scopes=scopes,
        read_only=read_only,
    )
    if offer.trouble is not None:
        logging.getLogger(__name__).warning(offer.trouble)
    if http is None:
        if token_file is not None or names:
            raise click.UsageError("--token-file and --allow-host are for --http.")
        from recollect.shells.mcp.stdio import serve_stdio  # noqa: PLC0415

        serve_stdio(offer)
    else:
        from recollect.shells.mcp.http import serve_http  # noqa: PLC0415 - loads the SDK

        serve_http(offer, address=http, token_file=token_file, names=names)


def _path(given_path: object) -> Path | None:
    return None if given_path is None else Path(str(given_path))
