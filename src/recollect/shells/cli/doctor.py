"""`recollect doctor`: check the installation and say what to fix."""

from __future__ import annotations

import click

from recollect.shells.cli.shared import (
    given,
    open_memory,
    print_json,
    print_lines,
    shared_options,
)


@click.command("doctor")
@shared_options
@click.pass_context
def command(context: click.Context, /, **options: object) -> int:
    """Check the installation, the index and the model; exit 1 if something is broken."""
    from recollect.doctor import examine  # noqa: PLC0415 - not needed for --help
    from recollect.shells import render_status  # noqa: PLC0415

    common = given(context, options)
    checks = examine(lambda: open_memory(common))
    if common["as_json"]:
        print_json(render_status.checks_json(checks))
    else:
        print_lines(render_status.checks_text(checks))
    return 0 if all(check.works for check in checks) else 1
