"""`recollect doctor`: check the installation and say what to fix."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

import click

from recollect.errors import RecollectError
from recollect.reports import Check
from recollect.shells.cli.shared import (
    given,
    open_memory,
    print_json,
    print_lines,
    shared_options,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from recollect.memory import Memory
    from recollect.reports import Failure, Status


@click.command("doctor")
@shared_options
@click.pass_context
def command(context: click.Context, /, **options: object) -> int:
    """Check the installation, the index and the model; exit 1 if something is broken."""
    from recollect.shells.render import status as render_status  # noqa: PLC0415 - not needed for --help

    common = given(context, options)
    checks = examine(lambda: open_memory(common))
    if common["as_json"]:
        print_json(render_status.checks_json(checks))
    else:
        print_lines(render_status.checks_text(checks))
    return 0 if all(check.works for check in checks) else 1


def examine(open_memory: Callable[[], Memory]) -> list[Check]:
    """Check Python, the store's engine, the workspace, the index and the provider."""
    from recollect.facts.listing import Wanted  # noqa: PLC0415 - not needed for --help

    checks = [_python(), _engine()]
    try:
        with open_memory() as memory:
            status = memory.status(deep=True)
            problems = memory.verify_store()
            ledger = memory.facts.listed(Wanted()).problems
    except RecollectError as error:
        return [*checks, Check("memory", works=False, detail=error.message, action=error.action)]
    return [
        *checks,
        _workspace(status),
        _index(status, problems),
        _facts(ledger),
        _provider(status),
    ]


def _python() -> Check:
    return Check("python", works=True, detail=platform.python_version())


def _engine() -> Check:
    from recollect.config.agents import check_store_engine  # noqa: PLC0415 - not needed for --help

    engine = check_store_engine()
    return Check(engine.name, works=engine.works, detail=engine.detail, action=engine.action)


def _workspace(status: Status) -> Check:
    found = status.store.documents + len(status.staleness.changed)
    if not found:
        return Check(
            "workspace",
            works=False,
            detail=f"no memory files in {status.workspace}",
            action="Name the folder that holds MEMORY.md or memory/ with -w.",
        )
    return Check("workspace", works=True, detail=status.workspace)


def _index(status: Status, problems: Sequence[str]) -> Check:
    if problems:
        return Check(
            "index",
            works=False,
            detail=f"{status.store.location}: {'; '.join(problems)}",
            action="Run `recollect reset --yes` and `recollect index`: the files are intact.",
        )
    return Check(
        "index",
        works=True,
        detail=f"{status.store.chunks} chunks in {status.store.location}, sound",
    )


def _facts(problems: Sequence[Failure]) -> Check:
    if problems:
        first = problems[0]
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        return Check(
            "facts",
            works=False,
            detail=f"{first.path} {first.reason}{more}",
            action=f"{first.action} `recollect facts list` names them all.",
        )
    return Check("facts", works=True, detail="every line of memory/facts can be read")


def _provider(status: Status) -> Check:
    probe = status.probe
    if status.requested_provider == "none":
        return Check("provider", works=True, detail="none: keyword search only, as set")
    if probe is not None and probe.works:
        return Check(
            "provider", works=True, detail=f"{status.model} embeds ({probe.took_ms:.0f} ms)"
        )
    why = probe.degradation if probe else None
    return Check(
        "provider",
        works=False,
        detail=why.reason if why else "no provider could be taken",
        action=why.action if why else "Run `recollect status --deep`.",
    )
