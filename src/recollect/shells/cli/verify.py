"""`recollect verify`: prove that the index equals the files."""

from __future__ import annotations

import click

from recollect.shells.cli.shared import (
    given,
    open_memory,
    print_json,
    print_lines,
    progress_bar,
    shared_options,
)


@click.command("verify")
@shared_options
@click.pass_context
def command(context: click.Context, /, **options: object) -> None:
    """Prove that the index equals the files; exit 1 on a difference."""
    from recollect.shells.render import status as render_status  # noqa: PLC0415 - not needed for --help

    common = given(context, options)
    with open_memory(common) as memory, progress_bar() as progress:
        verification = memory.verify(progress=progress)
    if common["as_json"]:
        print_json(render_status.verification_json(verification))
    else:
        print_lines(render_status.verification_text(verification))
    if verification.differences:
        context.exit(1)
