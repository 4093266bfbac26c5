"""One terminal of one reader: what is typed into it later sees what was done before."""

from __future__ import annotations

import subprocess
from threading import Timer
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import TracebackType

_DONE = "@@@ done"
_PATIENCE_SECONDS = 300  # a sample that hangs is ended, and fails


class SampleError(Exception):
    """A sample ended with another code than 0, or not at all."""


class Terminal:
    """A shell that runs one sample after the other, and ends at the first that fails."""

    def __init__(self, folder: Path, *, environ: Mapping[str, str], trouble: Path) -> None:
        self._trouble = trouble
        with trouble.open("w", encoding="utf-8") as stderr:
            self._shell = subprocess.Popen(
                ["bash", "-euo", "pipefail"],
                cwd=folder,
                env=environ,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                encoding="utf-8",
            )
        self._watch = Timer(_PATIENCE_SECONDS, self._shell.kill)
        self._watch.start()

    def run(self, text: str, *, with_messages: bool = False) -> str:
        """Return what a sample prints on standard output, and its messages if wanted.

        Raises:
            SampleError: with the messages.

        """
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        self._trouble.write_text("", encoding="utf-8")
        messages = " 2>&1" if with_messages else ""
        # In braces, so that the sample cannot read what is typed after it.
        self._shell.stdin.write(f"{{\n{text}\n}} </dev/null{messages}\necho; echo '{_DONE}'\n")
        self._shell.stdin.flush()
        lines: list[str] = []
        for line in self._shell.stdout:
            if line == f"{_DONE}\n":
                return "".join(lines).removesuffix("\n")
            lines.append(line)
        raise SampleError("".join(lines) + self._trouble.read_text(encoding="utf-8"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._watch.cancel()
        self._shell.communicate()
