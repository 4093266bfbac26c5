"""`recollect eval`: measure search on one's own questions, and collect them."""

from __future__ import annotations

from pathlib import Path

import click

from recollect.shells.cli.evaluate_add import add
from recollect.shells.cli.shared import (
    bring_up_to_date,
    given,
    open_memory,
    print_json,
    print_lines,
    progress_bar,
    shared_options,
)

_RUN = "run"


class _RunByDefault(click.Group):
    """A group in which whatever is not the name of a command is an argument of `run`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `run` in front where no command is named."""
        if args and args[0] not in {*self.commands, *ctx.help_option_names}:
            args = [_RUN, *args]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Also list the options of `run`, which are given without its name."""
        super().format_options(ctx, formatter)
        records = [option.get_help_record(ctx) for option in self.commands[_RUN].params]
        with formatter.section("Options of `eval CASES`"):
            formatter.write_dl([record for record in records if record])


@click.group("eval", cls=_RunByDefault, subcommand_metavar="CASES | add QUERY")
def command() -> None:
    """Measure search on your own questions: `eval CASES`.

    CASES is a file with one question a line and the places that answer it; `eval add` writes
    one. `eval CASES` is short for `eval run CASES`; its options are below.
    """


@command.command(_RUN)
@click.argument("file", metavar="CASES", type=click.Path(path_type=Path))
@click.option("--compare", is_flag=True, help="Also ask the other fusions, and each leg alone.")
@click.option(
    "-k",
    "-n",
    "--max-results",
    "k",
    type=click.IntRange(1, 1000),
    help="How many hits count for hit, recall and all.  [default: as search shows]",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.svg",
    help="Draw the comparison; implies --compare.",
)
@shared_options
@click.pass_context
def run(
    context: click.Context,
    /,
    *,
    file: Path,
    compare: bool,
    k: int | None,
    plot: Path | None,
    **options: object,
) -> None:
    """Ask every question of CASES and tell how well it was answered."""
    from recollect.evaluate.cases import read_cases  # noqa: PLC0415 - not needed for --help
    from recollect.evaluate.plot import check_plot, write_plot  # noqa: PLC0415
    from recollect.evaluate.run import evaluate  # noqa: PLC0415
    from recollect.shells.render import evaluate as render  # noqa: PLC0415

    common = given(context, options)
    cases = read_cases(file)
    if plot is not None:
        check_plot(plot)  # before the work, not after it
    with open_memory(common) as memory:
        bring_up_to_date(memory)
        with progress_bar() as progress:
            evaluation = evaluate(
                memory,
                cases,
                file=file,
                compare=compare or plot is not None,
                k=k,
                progress=progress,
            )
    print_lines(render.evaluation_remarks(evaluation), to_stderr=True)
    if common["as_json"]:
        print_json(render.evaluation_json(evaluation))
    else:
        print_lines(render.evaluation_text(evaluation))
    if plot is not None:
        write_plot(evaluation.outcomes, file=plot)
        click.echo(f"Drawn in {plot}.", err=True)


command.add_command(add)
