"""`recollect ingest`: facts out of files, with a language model."""

from __future__ import annotations

import click

from recollect.shells.cli.proposal import program
from recollect.shells.cli.shared import (
    given,
    open_memory,
    print_json,
    print_lines,
    progress_bar,
    shared_options,
)


@click.command("ingest")
@click.option("--dry-run", is_flag=True, help="Ask nothing: show what would be sent, at what cost.")
@click.option("--paths", default="", metavar="GLOBS", help="Comma-separated; default: the setting.")
@shared_options
@click.pass_context
def command(context: click.Context, /, *, dry_run: bool, paths: str, **options: object) -> None:
    """Have a language model extract facts from files of the workspace."""
    from recollect.shells.render import ingest as render_ingest  # noqa: PLC0415 - not needed for --help

    common = given(context, options)
    globs = [each.strip() for each in paths.split(",") if each.strip()]
    with open_memory(common) as memory:
        if dry_run:
            plan = memory.extractor.plan(globs)
            shape, lines = render_ingest.plan_json(plan), render_ingest.plan_text(plan)
        else:
            with progress_bar() as progress:
                done = memory.extractor.run(globs, progress=progress)
            print_lines(render_ingest.remarks(done), to_stderr=True)
            begin = program(common)
            shape = render_ingest.extracted_json(done, program=begin)
            lines = render_ingest.extracted_text(done, program=begin)
    if common["as_json"]:
        print_json(shape)
    else:
        print_lines(lines)
    if not dry_run and done.failures and not (done.stored or done.known or done.forgotten):
        context.exit(1)
