"""Looking at an installation: `status`, `doctor`."""

from __future__ import annotations

import platform
import shlex
from typing import TYPE_CHECKING

import click

from recollect.errors import RecollectError
from recollect.reports import Check
from recollect.shells.cli.shared import SharedOptions, progress_bar, shared_options
from recollect.shells.render import status as render
from recollect.shells.render.shared import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from recollect.memory import Memory
    from recollect.reports import Failure, FoundSecret, Status


@click.command("status")
@click.option("--deep", is_flag=True, help="Also embed one text.")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="List every index of this home and its workspace; exit 1 if one cannot be read.",
)
@shared_options
def status_command(options: SharedOptions, *, deep: bool, everything: bool) -> int:
    """Show what is indexed, which provider embeds it, and what is out of date."""
    if everything:
        from recollect.config.agents import list_agents  # noqa: PLC0415 - loads SQLite

        agents = list_agents()
        options.print({"agents": agents}, render.agents_text(agents))
        return 1 if any(agent.problem for agent in agents) else 0
    with options.open_memory() as memory:
        status = memory.status(deep=deep)
    options.print(status, render.status_text(status))
    return 0


@click.command("doctor")
@click.option("--secrets", is_flag=True, help="Also look for keys and passwords in the notes.")
@click.option("--verify", is_flag=True, help="Compare the index with every file instead.")
@shared_options
def doctor_command(options: SharedOptions, *, secrets: bool, verify: bool) -> int:
    """Check the installation, the index and the model; exit 1 if something is broken.

    With --secrets it also exits 1 if notes or facts contain secrets, whose places and kinds it
    names; with --verify if the index differs from the files.
    """
    if verify:
        return _verify(options)
    checks = examine(options.open_memory)
    found = None
    if secrets and not any(check.name == "memory" for check in checks):
        with options.open_memory() as memory:
            found = memory.find_secrets()
            checks.append(_secrets(found))
    secret = {} if found is None else {"secrets": found}
    report = {**secret, "ok": all(check.works for check in checks), "checks": checks}
    options.print(report, render.checks_text(checks, found or ()))
    return 0 if all(check.works for check in checks) else 1


def _verify(options: SharedOptions) -> int:
    with options.open_memory() as memory, progress_bar() as progress:
        verification = memory.verify(progress=progress)
    options.print(verification, render.verification_text(verification))
    return 1 if verification.differences else 0


def _good(name: str, detail: str) -> Check:
    return Check(name, works=True, detail=detail)


def _bad(name: str, detail: str, action: str) -> Check:
    return Check(name, works=False, detail=detail, action=action)


def _first_of(texts: Sequence[str]) -> str:
    more = len(texts) - 1
    return f"{texts[0]} (and {more} more)" if more else texts[0]


def _secrets(found: Sequence[FoundSecret]) -> Check:
    if not found:
        return _good("secrets", "none in notes and facts")
    files = plural(len({each.path for each in found}), "file")
    action = "Replace each with where it is kept, and rotate those that were shared."
    return _bad("secrets", f"{len(found)} in {files}", action)


def examine(open_memory: Callable[[], AbstractContextManager[Memory]]) -> list[Check]:
    """Check Python, the store, the workspace, the index, the facts, the models and the provider."""
    from recollect.config.agents import check_engine  # noqa: PLC0415 - not needed for --help
    from recollect.facts.book import FactFilter  # noqa: PLC0415
    from recollect.text.files import open_to_others  # noqa: PLC0415

    checks = [_good("python", platform.python_version()), check_engine()]
    try:
        with open_memory() as memory:
            status = memory.status(deep=True)
            problems = memory.parts.verify_store()
            changed = memory.parts.verify_models()
            ledger = memory.facts.listed(FactFilter()).problems
            exposed = open_to_others(memory.parts.setup.places.home)
            leaving = _leaving(memory)
    except RecollectError as error:
        return [*checks, _bad("memory", error.message, error.action)]
    return [
        *checks,
        _workspace(status),
        _index(status, problems),
        _notes(status),
        _facts(ledger),
        _models(changed),
        _provider(status),
        _privacy(exposed, leaving),
        *(Check("note", works=True, detail=each, is_warning=True) for each in status.notices),
    ]


def _workspace(status: Status) -> Check:
    if status.index.documents or status.stale.changed:
        return _good("workspace", status.workspace)
    action = "Use -w to name the folder that contains MEMORY.md or memory/."
    return _bad("workspace", f"no memory files in {status.workspace}", action)


def _index(status: Status, problems: Sequence[str]) -> Check:
    if problems:
        action = "Run `recollect index --force`: it rebuilds the index. Your files are intact."
        return _bad("index", f"{status.index.location}: {'; '.join(problems)}", action)
    held = f"{plural(status.index.chunks, 'chunk')} in {status.index.location}, intact"
    waiting = len(status.stale.changed)
    if not waiting or status.index.documents:
        return _good("index", held)
    return Check(
        "index",
        works=True,
        detail=f"{held}; {plural(waiting, 'file')} not indexed yet",
        action="A search or `recollect index` indexes them.",
        is_warning=True,
    )


def _notes(status: Status) -> Check:
    from recollect.facts.files import FACTS_FOLDER  # noqa: PLC0415 - not needed for --help

    flaws = [
        each
        for each in status.stale.failed
        if each.is_entry and not each.path.startswith(f"{FACTS_FOLDER}/")
    ]
    return _readable("notes", flaws, "no merge conflicts, no unreadable front matter")


def _readable(name: str, flaws: Sequence[Failure], fine: str, *, more: str = "") -> Check:
    if not flaws:
        return _good(name, fine)
    named = _first_of([f"{each.path} {each.reason}" for each in flaws])
    return _bad(name, named, f"{flaws[0].action}{more}")


def _facts(flaws: Sequence[Failure]) -> Check:
    more = " `recollect facts list` lists them all."
    return _readable("facts", flaws, "every line of memory/facts can be read", more=more)


def _models(changed: Sequence[Failure]) -> Check:
    if changed:
        return _bad("models", changed[0].reason, changed[0].action)
    return _good("models", "no model file differs from its published SHA-256")


def _leaving(memory: Memory) -> str:
    """Return which texts the settings let go to which server."""
    options, chat = memory.config.provider, memory.config.chat
    found = []
    for name, address in memory.parts.chain.servers():
        is_fallback = name != options.provider
        when = "if the providers before it fail on a new index, " if is_fallback else ""
        found.append(f"{when}notes and questions go to {name} at {address or 'an unknown address'}")
    if chat.provider is not None:
        address = f" at {chat.base_url}" if chat.base_url else ""
        also = " and questions of searches" if memory.config.wording.wanted else ""
        found.append(f"files that you `ingest`{also} go to {chat.provider}{address}")
    return "; ".join(found) or "no text leaves this machine"


def _privacy(exposed: Sequence[Path], leaving: str) -> Check:
    files = [str(each) for each in exposed if not each.is_dir()]
    if files:
        detail = f"other users can read {_first_of(files)}; {leaving}"
        return _bad("privacy", detail, f"Run `chmod -R go= {shlex.quote(str(exposed[0]))}`.")
    detail = "only you can read the index and related files"
    if exposed:
        detail = f"other users can list {exposed[0]}, but not read what is in it"
    return _good("privacy", f"{detail}; {leaving}")


def _provider(status: Status) -> Check:
    probe, provider = status.probe, status.provider
    if provider.requested == "none":
        return _good("provider", "none: keyword search only, as configured")
    if probe is not None and probe.works:
        return _good("provider", f"{provider.model} embeds ({probe.took_ms:.0f} ms)")
    why = probe.degradation if probe else None
    if why is None:
        return _bad("provider", "no provider is available", "Run `recollect status --deep`.")
    return _bad("provider", why.reason, why.action)
