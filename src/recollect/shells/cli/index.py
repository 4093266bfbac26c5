"""`recollect index`: bring the index into agreement with the files."""

from __future__ import annotations

import click

from recollect.shells.cli.shared import (
    given,
    open_memory,
    print_json,
    print_lines,
    progress_bar,
    say,
    shared_options,
)


@click.command("index")
@click.option("--force", is_flag=True, help="Look at every file again, changed or not.")
@shared_options
@click.pass_context
def command(context: click.Context, /, *, force: bool, **options: object) -> None:
    """Bring the index into agreement with the files."""
    from recollect.shells.render import search as render  # noqa: PLC0415 - not needed for --help

    common = given(context, options)
    with open_memory(common) as memory, progress_bar() as progress:
        report = memory.sync(force=force, progress=progress, on_wait=say)
    print_lines(render.report_remarks(report), to_stderr=True)
    if common["as_json"]:
        print_json(render.report_json(report))
    else:
        print_lines(render.report_text(report))
