"""The only way to standard output and standard error; a test lists every place that writes.

What anything else prints (an option parser, a log, a traceback) passes `guard_streams`.
"""

from __future__ import annotations

import codecs
import io
import json
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, TextIO, cast

import click

from recollect.shape import as_json
from recollect.text.terminal import terminal_json, terminal_line, terminal_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from recollect.shells.render.shared import MarkedLine


class GuardedStream(io.TextIOWrapper):
    """A stream that shows control characters instead of obeying them."""

    def write(self, text: str, /) -> int:
        """Write the text, made safe to show."""
        super().write(terminal_text(text))
        return len(text)

    def write_styled(self, text: str) -> int:
        """Write the text as it is: colours around texts that are already safe."""
        return super().write(text)


def guard_streams() -> None:
    """Replace the standard streams of this process by guarded ones."""
    sys.stdout = _guarded(sys.stdout)
    sys.stderr = _guarded(sys.stderr)


def _guarded(stream: TextIO) -> TextIO:
    if isinstance(stream, GuardedStream) or not isinstance(stream, io.TextIOWrapper):
        return stream  # closed by whoever started the process, or not a file
    is_ascii = codecs.lookup(stream.encoding).name == "ascii"  # click would go around it
    return GuardedStream(
        stream.buffer,
        encoding="utf-8" if is_ascii else stream.encoding,
        errors="backslashreplace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def write_text(text: str, *, to_stderr: bool = False) -> None:
    """Print a text of one or more lines."""
    click.echo(terminal_text(text), err=to_stderr)


def write_json(value: object, *, indent: int | None = None) -> None:
    """Print a record, or a value made of records, as JSON."""
    click.echo(terminal_json(json.dumps(as_json(value), ensure_ascii=False, indent=indent)))


def write_lines(lines: Iterable[MarkedLine], *, to_stderr: bool = False) -> None:
    """Print styled lines; a line break in one shows. Colours show on a terminal only."""
    stream = sys.stderr if to_stderr else sys.stdout
    if not stream.isatty():
        for text, _ in lines:
            whole = text if isinstance(text, str) else "".join(part for part, _ in text)
            click.echo(terminal_line(whole), err=to_stderr)
        return
    from rich.text import Text  # noqa: PLC0415 - 50 ms that only a terminal needs

    styled = styled_console(stream)
    for text, style in lines:
        parts = [(text, "")] if isinstance(text, str) else text
        shown = ((terminal_line(part), own) for part, own in parts)
        styled.print(Text.assemble(*shown, style=style))


def styled_console(stream: TextIO) -> Console:
    """Return a console for colours: print `rich.text.Text` of safe texts with it, nothing else."""
    from rich.console import Console  # noqa: PLC0415

    if isinstance(stream, GuardedStream):
        file = SimpleNamespace(
            write=stream.write_styled,
            flush=stream.flush,
            isatty=stream.isatty,
            fileno=stream.fileno,
            encoding=stream.encoding,
        )
        stream = cast("TextIO", file)
    return Console(file=stream, highlight=False, soft_wrap=True)


def confirm(question: str) -> bool:
    """Ask a question on standard error; only `y` or `yes` means yes."""
    return click.confirm(terminal_line(question), err=True)
