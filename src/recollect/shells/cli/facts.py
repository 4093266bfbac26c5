"""Facts: `remember` writes one, `facts` manages them, `ingest` extracts them from files."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from recollect.config.paths import workspace_variable
from recollect.shape import json_of
from recollect.shells.cli.consent import is_to_be_asked
from recollect.shells.cli.output import confirm
from recollect.shells.cli.shared import (
    DAY,
    Group,
    SharedOptions,
    TextCommand,
    print_remarks,
    progress_bar,
    shared_options,
)
from recollect.shells.render import facts as render
from recollect.text.days import end_of, start_of

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

_FACTS_FOLDER = "memory/facts"
_MEMORY_FILES = ("recollect.toml", "MEMORY.md", "memory")


@click.command("remember", cls=TextCommand)
@click.argument("text", nargs=-1, required=True)
@click.option("--category", default="other", help="Kind of fact: preference, decision, …")
@click.option("--entity", default="", help="Who or what it is about.")
@click.option("--key", default="", help="Which property of the entity.")
@click.option("--value", default="", help="The property's value.")
@click.option("--tag", "tags", multiple=True, help="A tag to find it by; may be repeated.")
@click.option("--scope", default="global", help="global, user:NAME, agent:NAME or session:NAME.")
@click.option("--valid-from", type=DAY, metavar="DAY", help="First day on which it is valid.")
@click.option("--expires", type=DAY, metavar="DAY", help="Last day on which it is valid.")
@click.option("--supersedes", multiple=True, metavar="FACT", help="The fact that it replaces.")
@click.option("--force", is_flag=True, help="Save it even if it contains a secret.")
@shared_options
def remember_command(
    options: SharedOptions,
    *,
    text: tuple[str, ...],
    valid_from: date | None,
    expires: date | None,
    supersedes: tuple[str, ...],
    **fields: Any,  # noqa: ANN401 - options that are named like the fields of a fact
) -> None:
    """Save TEXT as a fact, in memory/facts/ of the workspace."""
    with options.open_memory(may_be_empty=True) as memory:
        created = () if memory.paths() else _new_memory_notices(options, memory.workspace)
        remembered = memory.facts.remember(
            " ".join(text),
            valid_from=start_of(valid_from),
            expires=end_of(expires),
            supersedes=tuple(map(memory.facts.find, supersedes)),
            **fields,
        )
    remembered = replace(remembered, notices=(*created, *remembered.notices))
    program = options.program
    options.print(
        render.remembered_fact(remembered, program=program),
        render.remembered_text(remembered, program=program),
    )
    print_remarks((notice, "yellow") for notice in remembered.notices)


def _new_memory_notices(options: SharedOptions, workspace: Path) -> tuple[str, ...]:
    """Return what to say if this fact starts a memory because none was found or named."""
    is_named = options.workspace or workspace_variable(os.environ)
    if is_named or any((workspace / name).exists() for name in _MEMORY_FILES):
        return ()
    above = next((each for each in workspace.parents if (each / _FACTS_FOLDER).is_dir()), None)
    hint = f" {above} has facts too: name it with -w, or give it a MEMORY.md." if above else ""
    why = "neither this folder nor a parent has a MEMORY.md or recollect.toml"
    return (f"Started a memory in {workspace}: {why}.{hint}",)


@click.command("ingest")
@click.option("--dry-run", is_flag=True, help="Send nothing; show what would be sent.")
@click.option(
    "--paths", default="", metavar="GLOBS", help="Comma-separated.  [default: the setting]"
)
@shared_options
def ingest_command(options: SharedOptions, *, dry_run: bool, paths: str) -> int:
    """Let a language model extract facts from files of the workspace."""
    globs = [each.strip() for each in paths.split(",") if each.strip()]
    with options.open_memory(may_be_empty=True) as memory:
        if dry_run:
            plan = memory.extractor.plan(globs)
            options.print({"dryRun": True, **json_of(plan)}, render.plan_text(plan))
            return 0
        if not memory.extractor.has_sent and is_to_be_asked(memory.config, "llm.provider"):
            plan = memory.extractor.plan(globs)
            print_remarks(render.plan_text(plan))
            if not confirm(f"Send them to {memory.config.chat.provider}?"):
                return 0
        with progress_bar() as progress:
            extracted = memory.extractor.run(globs, progress=progress)
    print_remarks(render.extracted_remarks(extracted))
    program = options.program
    options.print(
        render.extracted_json(extracted, program=program),
        render.extracted_text(extracted, program=program),
    )
    has_facts = extracted.stored or extracted.known or extracted.forgotten
    return 1 if extracted.failures and not has_facts else 0


@click.group("facts", cls=Group, invoke_without_command=True)
@shared_options
def facts_command(_options: SharedOptions) -> None:
    """List, show, supersede, forget and export facts. Without a command, list them."""
    context = click.get_current_context()
    if context.invoked_subcommand is None:
        context.invoke(list_facts)


facts_command.add_command(ingest_command)


@facts_command.command("list")
@click.option("--as-of", type=DAY, metavar="DAY", help="Those that were valid on this day.")
@click.option("--include-superseded", is_flag=True, help="Also those that were replaced.")
@click.option("--scope", "scopes", multiple=True, help="Only this scope; may be repeated.")
@click.option("--category", default="", help="Only this category: preference, decision, …")
@click.option("--entity", default="", help="Only those about this person or thing.")
@click.option(
    "--tag", "tags", multiple=True, help="Only those with this tag; repeat for several at once."
)
@click.option("--text", default="", help="Only those that contain these words.")
@shared_options
def list_facts(
    options: SharedOptions,
    *,
    as_of: date | None,
    include_superseded: bool,
    **fields: Any,  # noqa: ANN401 - options that are named like the fields of a filter
) -> None:
    """Show the facts that are valid now, and mark those that contradict each other."""
    from recollect.facts.book import FactFilter  # noqa: PLC0415 - not needed for --help

    wanted = FactFilter(**fields)
    with options.open_memory(may_be_empty=True) as memory:
        listing = memory.facts.listed(
            wanted, as_of=end_of(as_of), include_superseded=include_superseded
        )
        numbers = {fact.id: place for place, fact in enumerate(memory.facts.all(), start=1)}
    is_narrowed, program = wanted != FactFilter(), options.program
    lines = render.listing_text(
        listing, program=program, numbers=numbers, is_narrowed=is_narrowed, as_of=as_of
    )
    options.print(render.listed(listing), lines)
    print_remarks(render.listing_remarks(listing))


@facts_command.command("show")
@click.argument("fact")
@shared_options
def show_fact(options: SharedOptions, *, fact: str) -> None:
    """Show FACT, named by its id, its number or its words, with its history, oldest first."""
    with options.open_memory(may_be_empty=True) as memory:
        history = memory.facts.history(memory.facts.find(fact))
    options.print(render.FactHistory(history), render.facts_text(history))


@facts_command.command("supersede")
@click.argument("old")
@click.argument("new", metavar="[NEW]", required=False)
@click.option("--undo", is_flag=True, help="Make OLD valid again.")
@shared_options
def supersede_fact(options: SharedOptions, *, old: str, new: str | None, undo: bool) -> None:
    """Mark OLD as superseded by NEW, or undo that with --undo OLD: an id, a number or words."""
    if undo == (new is not None):
        raise click.UsageError("Give OLD and NEW, or --undo and OLD.", click.get_current_context())
    program = options.program
    with options.open_memory(may_be_empty=True) as memory:
        old = memory.facts.find(old)
        if new is None:
            restored = memory.facts.restore(old)
            listing = memory.facts.listed()
            shape: object = render.restored_fact(restored, listing)
            lines = render.restored_text(restored, listing, program=program)
        else:
            superseded = memory.facts.supersede(old, by=memory.facts.find(new))
            shape = render.replacing_fact(superseded, program=program)
            lines = render.superseded_text(superseded, program=program)
    options.print(shape, lines)


@facts_command.command("forget")
@click.argument("fact", required=False)
@click.option("--undo", metavar="ENTRY", help="Bring the fact back whose entry forgetting printed.")
@shared_options
def forget_fact(options: SharedOptions, *, fact: str | None, undo: str | None) -> None:
    """Remove FACT, named by its id, its number or its words, and print what undoes that.

    A fact that it had replaced is valid again.
    """
    from recollect.facts.book import fact_in  # noqa: PLC0415 - not needed for --help

    with options.open_memory(may_be_empty=True) as memory:
        if fact is None:
            if undo is None:
                raise click.UsageError("Give FACT, or --undo and ENTRY.")
            back, listing = memory.facts.unforget(fact_in(undo)), memory.facts.listed()
            lines = render.restored_text(back, listing, program=options.program)
            options.print(render.restored_fact(back, listing), lines)
            return
        before = {fact.id for fact in memory.facts.all()}
        forgotten = memory.facts.forget(memory.facts.find(fact))
        restored = [each for each in memory.facts.all() if each.id not in before]
    report = render.forgotten_fact(forgotten, restored, program=options.program)
    options.print(report, render.forgotten_text(report))


@facts_command.command("export")
@shared_options
def export_facts(options: SharedOptions) -> None:
    """Print each fact as a line of JSON; with --json, all of them as one document."""
    with options.open_memory(may_be_empty=True) as memory:
        lines = memory.facts.export()
    options.print(
        {"facts": [json.loads(line) for line in lines]}, "\n".join(lines) if lines else ()
    )
