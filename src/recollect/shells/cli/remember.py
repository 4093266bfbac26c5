"""`recollect remember`: write a fact down."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import click

from recollect.shells.cli.dashes import TextCommand
from recollect.shells.cli.proposal import program
from recollect.shells.cli.shared import (
    given,
    open_memory,
    print_json,
    print_lines,
    shared_options,
)
from recollect.shells.dates import DAY, end_of, start_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date
    from pathlib import Path


_NEVER: Literal["never"] = "never"
_FACTS = "memory/facts"
_OF_A_MEMORY = ("recollect.toml", "MEMORY.md", "memory")


class _DayOrNever(click.ParamType["date | str"]):
    """A day, or the word never."""

    name = "day|never"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> date | str:
        """Return the day, or `never`."""
        is_never = str(value).strip().lower() == _NEVER
        return _NEVER if is_never else DAY.convert(value, param, ctx)


@click.command("remember", cls=TextCommand)
@click.argument("text", nargs=-1, required=True)
@click.option("--category", default="other", help="What kind of fact: preference, decision, …")
@click.option("--entity", default="", help="Whom or what it is about.")
@click.option("--key", default="", help="Which property of the entity.")
@click.option("--value", default="", help="The property's value.")
@click.option("--tag", "tags", multiple=True, help="A word to find it by; may be repeated.")
@click.option("--scope", default="global", help="global, user:NAME, agent:NAME or session:NAME.")
@click.option("--valid-from", type=DAY, metavar="DAY", help="Since when it holds.")
@click.option(
    "--expires",
    type=_DayOrNever(),
    metavar="DAY|never",
    help="Last day on which it holds, or never.  [default: by its words]",
)
@click.option("--supersedes", multiple=True, metavar="ID", help="The fact that it replaces.")
@shared_options
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    text: tuple[str, ...],
    category: str,
    entity: str,
    key: str,
    value: str,
    tags: tuple[str, ...],
    scope: str,
    valid_from: date | None,
    expires: date | str | None,
    supersedes: tuple[str, ...],
    **options: object,
) -> None:
    """Write TEXT down as a fact, in memory/facts/ of the workspace."""
    from recollect.shells.render import facts as render_facts  # noqa: PLC0415 - not needed for --help

    common = given(context, options)
    with open_memory(common) as memory:
        started = _started(memory.workspace, common)
        remembered = memory.facts.remember(
            " ".join(text),
            category=category,
            entity=entity,
            key=key,
            value=value,
            tags=tags,
            scope=scope,
            valid_from=start_of(valid_from),
            expires=_NEVER if isinstance(expires, str) else end_of(expires),
            supersedes=supersedes,
        )
    remembered = replace(remembered, notices=(*started, *remembered.notices))
    if common["as_json"]:
        print_json(render_facts.remembered_json(remembered, program=program(common)))
    else:
        print_lines(render_facts.remembered_text(remembered, program=program(common)))
    print_lines(((notice, "yellow") for notice in remembered.notices), to_stderr=True)


def _started(workspace: Path, common: Mapping[str, object]) -> tuple[str, ...]:
    """Return what to say of a memory that begins here because none was found or named."""
    is_named = common["workspace"] or os.environ.get("RECOLLECT_WORKSPACE")
    if is_named or any((workspace / name).exists() for name in _OF_A_MEMORY):
        return ()
    above = next((each for each in workspace.parents if (each / _FACTS).is_dir()), None)
    hint = f" {above} has facts too: name it with -w, or give it a MEMORY.md." if above else ""
    why = "no folder from here up has a MEMORY.md or recollect.toml"
    return (f"Started a memory in {workspace}: {why}.{hint}",)
