"""`recollect tune`: propose settings that answer one's own questions better."""

from __future__ import annotations

from pathlib import Path

import click

from recollect.shells.cli.shared import (
    bring_up_to_date,
    given,
    open_memory,
    print_json,
    print_lines,
    progress_bar,
    shared_options,
)


@click.command("tune")
@click.argument("file", metavar="CASES", type=click.Path(path_type=Path))
@click.option("--write", is_flag=True, help="Write the proposal into your settings file.")
@shared_options
@click.pass_context
def command(context: click.Context, /, *, file: Path, write: bool, **options: object) -> None:
    """Find the fusion, weights and floor that answer CASES best; propose only a proven gain."""
    from recollect.evaluate.cases import read_cases, unfindable  # noqa: PLC0415 - not for --help
    from recollect.evaluate.tune import tune, write_proposal  # noqa: PLC0415
    from recollect.shells.render import tune as render  # noqa: PLC0415

    common = given(context, options)
    cases = read_cases(file)
    with open_memory(common) as memory:
        bring_up_to_date(memory)
        warnings = unfindable(cases, memory=memory, file=file)
        with progress_bar() as progress:
            tuning = tune(memory, cases, progress=progress)
        diff = write_proposal(tuning) if write and tuning.changes else None
    print_lines(render.tuning_remarks(tuning, warnings=warnings, cases_file=file), to_stderr=True)
    if common["as_json"]:
        print_json(render.tuning_json(tuning, diff=diff, warnings=warnings))
    else:
        print_lines(render.tuning_text(tuning, diff=diff, cases_file=file, write=write))
