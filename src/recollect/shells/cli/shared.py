"""What all commands share: their options, opening the memory, printing, progress."""

from __future__ import annotations

import contextlib
import functools
import shlex
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from recollect.config.paths import find_workspace
from recollect.records import dataclass
from recollect.shells.cli.output import styled_console, write_json, write_lines, write_text
from recollect.text.days import COMING_EXAMPLES, DAY_EXAMPLES, parse_coming_day, parse_day

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import date

    from rich.progress import Progress as Bars

    from recollect.config.load import Setup
    from recollect.memory import Memory
    from recollect.shells.render.shared import MarkedLine
    from recollect.shells.running_server import Reply
    from recollect.types import Progress, Sending, Step

ExitCode = TypeVar("ExitCode", int, None)

_MAX_SUMMARY_CHARS = 300
_TELL_SECONDS = 5.0
_WHOLE = (
    "There is no MEMORY.md or memory/, so every Markdown file below {folder} is indexed. "
    "To choose folders: `recollect config set extra_paths FOLDER,FOLDER`."
)
_ABOVE = "Using the memory of {folder}, which this folder is in. For its own: `-w .`."
_LEFT_OUT = (
    "Only memory/ of {folder} is indexed, not the notes beside it such as {named}. "
    "To index every Markdown file: `recollect config set extra_paths .`."
)
_STAGES = {"read": "Reading files", "embed": "Embedding", "ask": "Asking the cases"}


@dataclass(frozen=True, slots=True)
class SharedOptions:
    """The options that every command takes: which memory to use, and how to print."""

    workspace: Path | None = None
    agent: str | None = None
    config_file: Path | None = None
    as_json: bool = False

    @property
    def program(self) -> str:
        """The start of a suggested command: the workspace leads to all the rest."""
        where = () if self.workspace is None else ("-w", str(self.workspace))
        return shlex.join(("recollect", *where))

    @property
    def folder(self) -> Path:
        """The workspace, which may not exist."""
        return find_workspace(self.workspace, must_exist=False).folder

    def require_config_file(self) -> None:
        """Refuse a settings file that does not exist; only `config` may create one."""
        if self.config_file is not None and not self.config_file.is_file():
            raise click.BadParameter(f"there is no file {self.config_file}", param_hint="--config")

    @contextlib.contextmanager
    def open_memory(
        self, *, may_be_empty: bool = False, can_ask: bool = True, setup: Setup | None = None
    ) -> Iterator[Memory]:
        """Open the memory that the options name; print notices that no report contained.

        Commands that write to the memory make an index even where there is nothing to index.
        Only a memory that is used by the thread that reads the terminal can ask.
        `setup` is the result of `announced`, if that was called before.
        """
        from recollect.memory import open_memory  # noqa: PLC0415 - loads numpy and SQLite

        with open_memory(
            setup or self.announced(may_be_empty=may_be_empty, can_ask=can_ask)
        ) as memory:
            try:
                yield memory
            finally:
                for notice in memory.parts.take_notices():
                    notify(notice)

    def announced(self, *, may_be_empty: bool = False, can_ask: bool = True) -> Setup:
        """Read the settings of the memory, and say which memory it is where that may surprise."""
        self.require_config_file()
        setup = self.setup(can_ask=can_ask)
        if setup.is_above:
            notify(_ABOVE.format(folder=setup.workspace))
        if not may_be_empty:
            setup.require_notes()
            if setup.is_new and setup.layout.is_whole():
                notify(_WHOLE.format(folder=setup.workspace))
            elif left_out := setup.layout.left_out():
                notify(_LEFT_OUT.format(folder=setup.workspace, named=left_out[0]))
        return setup

    def setup(self, *, can_ask: bool) -> Setup:
        """Read the settings of the memory; `can_ask` as in `open_memory`."""
        from recollect.config.load import Setup  # noqa: PLC0415 - loads every stage's options

        setup = Setup.of(
            self.workspace,
            agent=self.agent,
            config_file=self.config_file,
            settings=None,
            environ=None,
        )
        question = without_bar if can_ask else None

        def may_send(sending: Sending) -> bool:
            from recollect.shells.cli import consent  # noqa: PLC0415 - for servers only

            return consent.may_send(sending, setup.config, question=question)

        return replace(setup, may_send=may_send)

    def print(self, report: object, text: str | Iterable[MarkedLine]) -> None:
        """Print a report as JSON, or as plain text or styled lines, whichever was asked for."""
        if self.as_json:
            write_json(report, indent=2)
        elif isinstance(text, str):
            write_text(text)
        else:
            write_lines(text)

    def print_reply(self, reply: Reply) -> None:
        """Print what a running server answered."""
        print_remarks(reply.remarks)
        if reply.text:
            write_text(reply.text)
        else:
            write_lines(reply.lines)


_OPTIONS = {
    "workspace": click.option(
        "-w",
        "--workspace",
        type=click.Path(path_type=Path),
        help="Folder with your notes. Default: the nearest folder from here upwards that has a "
        "MEMORY.md or recollect.toml or is already indexed, else the current one.",
    ),
    "agent": click.option(
        "--agent", metavar="ID", help="Id of the index. Default: derived from the workspace."
    ),
    "config_file": click.option(
        "--config",
        "config_file",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Settings file to use instead of your own.",
    ),
    "as_json": click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text."),
}


def shared_options(
    function: Callable[..., ExitCode], *, without: str = ""
) -> Callable[..., ExitCode]:
    """Add the shared options to a command, as its first argument; they may precede its name.

    The later one wins. A command defines the option `without` itself.
    """
    names = [name for name in _OPTIONS if name != without]

    @click.pass_context
    @functools.wraps(function)
    def command(context: click.Context, /, **given: object) -> ExitCode:
        before = context.obj or SharedOptions()
        after: dict[str, Any] = {name: given.pop(name) or getattr(before, name) for name in names}
        context.obj = replace(before, **after)
        return function(context.obj, **given)

    for name in reversed(names):
        command = _OPTIONS[name](command)
    return command


def _day_by(parse: Callable[[str], date], wanted: str) -> Callable[[str], date]:
    """Return the type of an option: a day, absolute or counted from today."""

    def day(value: str) -> date:
        try:
            return parse(value)
        except ValueError:
            raise click.BadParameter(f"{value!r} is not {wanted}") from None

    return day


DAY = _day_by(parse_day, f"a day such as {DAY_EXAMPLES}")
COMING_DAY = _day_by(parse_coming_day, f"a coming day such as {COMING_EXAMPLES}")


class Group(click.Group):
    """A group of commands whose help shows their summaries whole."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the names and summaries, wrapped; click would cut them."""
        named = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [
            (name, command.get_short_help_str(limit=_MAX_SUMMARY_CHARS))
            for name, command in named
            if command is not None and not command.hidden
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class TextCommand(click.Command):
    """A command whose arguments are words of a text, which may start with a dash."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; if a word looks like an option, explain `--`."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            names = (name for each in self.params for name in each.opts)
            begun = [name for name in names if name.startswith(error.option_name)]
            if error.possibilities and not begun:
                raise
            reason = error.message.rstrip(".")
            hint = "Write `--` before a text that starts with a dash."
            hint = f"Did you mean {begun[0]!r}?" if begun else hint
            raise click.UsageError(f"{reason}. {hint}", error.ctx) from error


def terminal_width() -> int:
    """Return how many cells a line may take: those of the terminal, within limits."""
    return min(max(shutil.get_terminal_size().columns, 40), 100)


def notify(sentence: str) -> None:
    """Print a sentence to stderr while a command runs."""
    write_text(sentence, to_stderr=True)


def print_remarks(lines: Iterable[tuple[str, str]]) -> None:
    """Print styled lines to stderr, where they do not mix with the output."""
    write_lines(lines, to_stderr=True)


_BARS: list[Bars] = []


@contextlib.contextmanager
def without_bar() -> Iterator[None]:
    """Take the progress bars from the terminal while a question is on it."""
    for bars in _BARS:
        bars.stop()
    yield
    for bars in _BARS:
        bars.start()


@contextlib.contextmanager
def progress_bar() -> Iterator[Progress]:
    """Show progress bars on a terminal; elsewhere, print a line every few seconds."""
    if not sys.stderr.isatty():
        yield progress_lines(notify)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn  # noqa: PLC0415

    with Progress(
        "{task.description}",
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=styled_console(sys.stderr),
        transient=True,
        redirect_stdout=False,  # rich would obey escape sequences in what others print meanwhile
        redirect_stderr=False,
    ) as bars:
        tasks = {}

        def show(step: Step) -> None:
            if not step.total:
                return
            if step.stage not in tasks:
                tasks[step.stage] = bars.add_task(_STAGES[step.stage])
            bars.update(tasks[step.stage], completed=step.done, total=step.total)

        _BARS.append(bars)
        try:
            yield show
        finally:
            _BARS.remove(bars)


def progress_lines(
    tell: Callable[[str], None], clock: Callable[[], float] = time.monotonic
) -> Progress:
    """Return a function that tells every few seconds how far a stage is."""
    told_at = clock()

    def show(step: Step) -> None:
        nonlocal told_at
        if clock() - told_at < _TELL_SECONDS or step.done >= step.total:
            return
        told_at = clock()
        tell(f"{_STAGES[step.stage]}: {step.done} of {step.total}")

    return show
