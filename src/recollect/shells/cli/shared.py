"""What all commands share: the common options, opening the memory, printing, progress."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import TypeVar

    from recollect.memory import Memory
    from recollect.types import Progress, Step

    Command = TypeVar("Command", bound=Callable[..., object])

_MEGA = 1_000_000
_MANY = 64  # texts that take long enough to be announced
_STAGES = {
    "fetch": "Fetching a model, MB",
    "read": "Reading files",
    "embed": "Embedding",
    "ask": "Asking the cases",
}


def shared_options(command: Command) -> Command:
    """Add the options that stand before or after any command."""
    for option in reversed(
        (
            click.option(
                "-w",
                "--workspace",
                type=click.Path(path_type=Path),
                help="Folder with MEMORY.md and memory/. Default: the nearest one from here up.",
            ),
            click.option(
                "--agent", metavar="ID", help="Id of the index. Default: the workspace's."
            ),
            click.option(
                "--config",
                "config_file",
                type=click.Path(path_type=Path, dir_okay=False),
                help="Settings file to use instead of your own.",
            ),
            click.option("--json", "as_json", is_flag=True, help="Print one JSON document."),
        )
    ):
        command = option(command)
    return command


def given(context: click.Context, options: Mapping[str, object]) -> dict[str, object]:
    """Return the common options, those after the command winning over those before it."""
    before = context.obj or {}
    return {
        name: options.get(name) or before.get(name)
        for name in ("workspace", "agent", "config_file", "as_json")
    }


class Named(TypedDict):
    """Which memory the common options name, as arguments of `Memory.open`."""

    workspace: Path | None
    agent: str | None
    config_file: Path | None


def named(common: Mapping[str, object]) -> Named:
    """Return which memory the common options name."""
    workspace, agent, config_file = (
        common["workspace"],
        common["agent"],
        common["config_file"],
    )
    if config_file is not None and not Path(str(config_file)).is_file():
        raise click.BadParameter(f"there is no file {config_file}", param_hint="--config")
    return {
        "workspace": Path(str(workspace)) if workspace is not None else None,
        "agent": str(agent) if agent is not None else None,
        "config_file": Path(str(config_file)) if config_file is not None else None,
    }


def open_memory(common: Mapping[str, object], **settings: object) -> Memory:
    """Open the memory that the common options name."""
    from recollect.memory import Memory  # noqa: PLC0415 - pulls in numpy and SQLite

    return Memory.open(
        **named(common),
        settings={key: value for key, value in settings.items() if value is not None},
    )


def bring_up_to_date(memory: Memory) -> None:
    """Sync everything that changed before cases are asked, unless the index cannot be written."""
    from recollect.shells.render import search as render  # noqa: PLC0415 - not needed for --help

    if not memory.is_writable:
        return
    with progress_bar() as progress:
        report = memory.sync(retry=False, progress=progress, on_wait=say)
    print_lines(render.report_remarks(report), to_stderr=True)


def say(sentence: str) -> None:
    """Tell the user something while a command goes on."""
    click.echo(sentence, err=True)


def print_json(shape: Mapping[str, object]) -> None:
    """Print one JSON document to standard output."""
    click.echo(json.dumps(shape, ensure_ascii=False, indent=2))


def print_lines(lines: Iterable[tuple[str, str]], *, to_stderr: bool = False) -> None:
    """Print lines, in colour on a terminal only."""
    stream = sys.stderr if to_stderr else sys.stdout
    if not stream.isatty():
        for text, _ in lines:
            click.echo(text, err=to_stderr)
        return
    from rich.console import Console  # noqa: PLC0415 - 50 ms that only a terminal needs
    from rich.text import Text  # noqa: PLC0415

    console = Console(file=stream, highlight=False, soft_wrap=True)
    for text, style in lines:
        console.print(Text(text, style=style))


@contextlib.contextmanager
def progress_bar() -> Iterator[Progress]:
    """Show progress on a terminal; elsewhere say once what takes long."""
    if not sys.stderr.isatty():
        announced: set[str] = set()

        def announce(step: Step) -> None:
            if step.stage == "fetch" and step.stage not in announced:
                announced.add(step.stage)
                size = step.total // _MEGA
                click.echo(f"Fetching a model ({size} MB) …", err=True)
            if step.stage == "embed" and step.stage not in announced and step.total > _MANY:
                announced.add(step.stage)
                click.echo(f"Embedding {step.total} texts …", err=True)

        yield announce
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn  # noqa: PLC0415

    with Progress(
        "{task.description}",
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bars:
        tasks = {}

        def show(step: Step) -> None:
            if not step.total:
                return
            shrink = _MEGA if step.stage == "fetch" else 1
            if step.stage not in tasks:
                tasks[step.stage] = bars.add_task(_STAGES[step.stage])
            bars.update(
                tasks[step.stage],
                completed=step.done // shrink,
                total=step.total // shrink,
                description=_STAGES[step.stage] + _expense(step),
            )

        yield show


def _expense(step: Step) -> str:
    """Return what embedding has cost so far, where it costs anything."""
    if step.cost is None:
        return ""
    from recollect.shells.render.search import price_text  # noqa: PLC0415 - not needed for --help

    return f" ({step.tokens} tokens, {price_text(step.cost)})"
