"""`resident`: the process that a search leaves behind to answer the next ones."""

from __future__ import annotations

import click


@click.command("resident", hidden=True)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0.1, max=86_400),
    required=True,
    help="How long to wait for a command.",
)
def resident_command(*, seconds: float) -> None:
    """Keep the model loaded and answer searches of this home until idle."""
    from recollect.shells.resident.server import serve  # noqa: PLC0415 - loads everything

    serve(idle_seconds=seconds)
