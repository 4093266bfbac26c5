"""Servers: `serve` for HTTP and the web page, `mcp` for agents."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.errors import UsageError
from recollect.shells.cli.output import write_json
from recollect.shells.cli.shared import SharedOptions, notify, shared_options
from recollect.types import GLOBAL

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from recollect.async_memory import AsyncMemory
    from recollect.shells.http.oauth import OAuth
    from recollect.shells.http.server import Ready, ServeOptions

_PORT = 7717
_MAX_PORT = 65_535
_LOOPBACK = "127.0.0.1"
_ADDRESS = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]:|(?P<host>[^:\[\]]*):)?(?P<port>\d{1,5})")
_M_ARENA_MAX, _MOST_ARENAS = -8, 2
_TOKEN_FILE = click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File with the token that requests must send.  [default: $RECOLLECT_TOKEN]",
)
_ALLOW_HOST = click.option(
    "--allow-host",
    "names",
    multiple=True,
    metavar="NAME",
    help="Also accept this Host name, as behind a proxy; may be repeated.",
)
_OAUTH = click.option(
    "--oauth",
    metavar="URL",
    help="Let claude.ai, ChatGPT and others sign in at this public address; the token is the "
    "password.",
)


@click.command("serve")
@click.option("--host", default=_LOOPBACK, show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, _MAX_PORT),
    default=_PORT,
    show_default=True,
    help="Port; 0 picks a free one.",
)
@_TOKEN_FILE
@_ALLOW_HOST
@_OAUTH
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    help="Show only global facts and those of this scope; may be repeated.",
)
@click.option("--read-only", is_flag=True, help="Refuse to add or forget facts.")
@click.option(
    "--memories",
    is_flag=True,
    help="Serve every memory of the database that `store` names, each with its own tokens.",
)
@click.option("--no-worker", is_flag=True, help="With --memories: leave embedding to `worker`.")
@shared_options
def serve_command(
    options: SharedOptions,
    *,
    host: str,
    port: int,
    token_file: Path | None,
    names: tuple[str, ...],
    oauth: str | None,
    scopes: tuple[str, ...],
    read_only: bool,
    memories: bool,
    no_worker: bool,
) -> None:
    """Serve the memory over HTTP, with a web page, until stopped (Ctrl-C)."""
    from recollect.async_memory import open_async  # noqa: PLC0415 - not needed for --help
    from recollect.config.load import wrong_folder  # noqa: PLC0415
    from recollect.facts.scope import parse_scope  # noqa: PLC0415
    from recollect.shells.guard import read_token, require_token  # noqa: PLC0415
    from recollect.shells.http.server import ServeOptions, run_server  # noqa: PLC0415

    if memories and (scopes or options.workspace is not None or options.agent is not None):
        raise click.UsageError("With --memories, tokens name the memory and its scopes.")
    if memories and oauth:
        raise click.UsageError("--oauth is for a server of one memory.")
    limit_arenas()
    options.require_config_file()
    token = read_token(os.environ, file=token_file)
    if not memories:
        require_token(host, token=token)
    visible = frozenset(parse_scope(scope) for scope in scopes) or None
    door = _sign_in(options, oauth, password=token, path="") if oauth else None
    serving = ServeOptions(host, port, names, token, visible, read_only, options.program, door)

    def announce(_server: object, _state: object, address: str) -> None:
        if options.as_json:
            write_json({"address": f"{address}/"})
        else:
            notify(f"Serving on {address}/ (stop with Ctrl-C)")

    if memories:
        _serve_many(options, serving, announce, works=not no_worker)
        return
    trouble = wrong_folder(options.workspace, agent=options.agent)
    if trouble is not None:
        notify(trouble)

    def open_memory() -> Awaitable[AsyncMemory]:
        setup = options.setup(can_ask=False)
        setup.require_layout()
        return open_async(setup.limited_to(visible))

    asyncio.run(run_server(open_memory, options=serving, on_ready=announce))


def _serve_many(
    options: SharedOptions, serving: ServeOptions, announce: Ready, *, works: bool
) -> None:
    """Serve every memory of a database, and embed what is pushed."""
    from recollect.hosting.host import MemoryHost  # noqa: PLC0415 - not needed for --help
    from recollect.hosting.work import QueueWorker  # noqa: PLC0415
    from recollect.shells.http.server import run_many  # noqa: PLC0415

    logging.basicConfig(level=logging.WARNING, format="recollect serve: %(message)s")
    with MemoryHost.open(config_file=options.config_file) as host, ExitStack() as stack:
        if works:
            worker = QueueWorker(host)
            worker.start()
            stack.callback(worker.stop)
        asyncio.run(run_many(host, options=serving, on_ready=announce))


def limit_arenas() -> None:
    """Limit the arenas of Linux's C library, or the memory of a server grows by 8 MB an hour."""
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - only here

        with contextlib.suppress(AttributeError):  # another C library has no such setting
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _MOST_ARENAS)


@click.command("mcp")
@click.option("--http", metavar="HOST:PORT", help="Serve at http://HOST:PORT/mcp, not over stdio.")
@click.option("--scope", "scopes", multiple=True, help="Also show facts of this scope: user:ada.")
@click.option("--read-only", is_flag=True, help="Offer no tools that write.")
@_TOKEN_FILE
@_ALLOW_HOST
@_OAUTH
@shared_options
def mcp_command(
    options: SharedOptions,
    *,
    http: str | None,
    scopes: tuple[str, ...],
    read_only: bool,
    token_file: Path | None,
    names: tuple[str, ...],
    oauth: str | None,
) -> None:
    """Serve the memory to an agent over MCP, until the agent disconnects."""
    from recollect.config.load import wrong_folder  # noqa: PLC0415 - not needed for --help
    from recollect.facts.scope import parse_scope  # noqa: PLC0415
    from recollect.shells.mcp.server import McpOptions  # noqa: PLC0415 - loads the SDK

    limit_arenas()
    logging.basicConfig(level=logging.WARNING, format="recollect mcp: %(message)s")
    options.require_config_file()
    server = McpOptions(
        workspace=options.workspace,
        agent=options.agent,
        config_file=options.config_file,
        scopes=frozenset(parse_scope(scope) for scope in scopes) - {GLOBAL},
        read_only=read_only,
        lists_connector_tools=http is not None,
    )
    trouble = wrong_folder(options.workspace, agent=options.agent)
    if trouble is not None:
        logging.getLogger(__name__).warning(trouble)
    if http is None:
        if token_file is not None or names or oauth:
            raise click.UsageError("--token-file, --allow-host and --oauth need --http.")
        from recollect.shells.mcp.stdio import serve_stdio  # noqa: PLC0415

        serve_stdio(server)
        if options.workspace is not None and not Path(options.workspace).is_dir():
            raise click.exceptions.Exit(1)
    else:
        from recollect.shells.guard import read_token, require_token  # noqa: PLC0415
        from recollect.shells.http.server import ServeOptions, run_mcp  # noqa: PLC0415

        host, port = parse_address(http)
        token = read_token(os.environ, file=token_file)
        require_token(host, token=token)
        door = _sign_in(options, oauth, password=token, path="/mcp") if oauth else None

        def announce(_server: object, _state: object, served_at: str) -> None:
            notify(f"MCP at {served_at}/mcp. Stop with Ctrl-C.")

        serving = ServeOptions(host, port, names, token, oauth=door)
        asyncio.run(run_mcp(server, options=serving, on_ready=announce))


def _sign_in(options: SharedOptions, url: str, *, password: str | None, path: str) -> OAuth:
    from recollect.shells.http.oauth import OAuth  # noqa: PLC0415 - loads the SDK
    from recollect.shells.sign_ins import SignIns  # noqa: PLC0415

    if password is None:
        raise UsageError("--oauth needs a password.", action="Set RECOLLECT_TOKEN or --token-file.")
    return OAuth(url, SignIns.of(options.setup(can_ask=False)), path=path, password=password)


def parse_address(text: str) -> tuple[str, int]:
    """Return the host and port of HOST:PORT; PORT alone means this machine only."""
    parts = _ADDRESS.fullmatch(text.strip())
    if parts is None or int(parts["port"]) > _MAX_PORT:
        raise UsageError(
            f"{text!r} is not an address.", action="Write HOST:PORT, such as 127.0.0.1:8765."
        )
    return parts["six"] or parts["host"] or _LOOPBACK, int(parts["port"])
