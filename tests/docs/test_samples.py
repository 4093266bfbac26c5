"""Every sample of the documentation runs as written, in the order of its page."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.docs.pages import ROOT, blocks, name_of, pages
from tests.docs.samples import matches, run_console
from tests.docs.terminal import Terminal
from tests.support.commands import bin_folder

from recollect.config.schema import read_setting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RUN = {"bash", "python", "console"}
NOT_CODE = {"text", "toml", "json", "yaml", "markdown"}
NOT_RUN = {
    "README.md": 2,
    "docs/how-to/back-up.md": 1,
    "docs/how-to/fresh.md": 1,
    "docs/how-to/postgres.md": 1,
    "docs/how-to/serve-memories.md": 3,
    "docs/http.md": 5,
    "docs/hooks.md": 2,
    "docs/how-to/team-server.md": 1,
    "docs/integrations.md": 5,
    "docs/mcp.md": 4,
    "docs/openclaw.md": 4,
    "docs/providers.md": 1,
    "docs/sessions.md": 2,
    "docs/start.md": 3,
    "docs/web.md": 1,
}
"""How many blocks of each page cannot be run here; each says why above it."""
NO_TRANSCRIPTS = "docs/sessions.md"
"""Asks for conversations, of which the sample workspace has none."""
NO_MATCHES = "No matches."
WITH_SAMPLES = [page for page in pages() if any(block.language in RUN for block in blocks(page))]


@pytest.fixture
def terminal(tmp_path: Path, fill_home: Callable[[Path], None]) -> Iterator[Terminal]:
    """The terminal of a reader who has just installed, in a copy of the checkout."""
    (tmp_path / "user").mkdir()
    fill_home(tmp_path / "home")
    checkout = tmp_path / "checkout"
    for named in (Path("examples"), Path("tests", "golden", "cases")):
        shutil.copytree(ROOT / named, checkout / named)
    cases = checkout / "tests" / "golden" / "cases" / "phrasings.jsonl"
    lines = cases.read_bytes().splitlines(keepends=True)
    cases.write_bytes(b"".join(lines[::2]))  # half of them are enough to show, and quicker
    environ = {
        "HOME": str(tmp_path / "user"),
        "PATH": f"{bin_folder()}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "RECOLLECT_HOME": str(tmp_path / "home"),
    }
    with Terminal(checkout, environ=environ, trouble=tmp_path / "trouble") as opened:
        yield opened


@pytest.mark.parametrize("page", WITH_SAMPLES, ids=name_of)
def test_the_samples_of_a_page_run_and_print_what_it_says(page: Path, terminal: Terminal) -> None:
    printed, told = "", ""
    ids: dict[str, str] = {}
    for block in blocks(page):
        if block.is_output:
            told = block.text
            assert matches(told, printed=printed), f"line {block.line} of {page}: {printed}"
        if block.language not in RUN or block.excuse is not None:
            continue
        assert_is_told(printed, told=told, page=page)
        told = ""
        if block.language == "console":
            run_console(block, terminal=terminal, ids=ids)
        elif block.language == "python":
            sample = f"python - <<'END_OF_SAMPLE'\n{block.text}END_OF_SAMPLE"
            printed = terminal.run(sample)
        else:
            printed = terminal.run(block.text)
    assert_is_told(printed, told=told, page=page)


def test_every_command_of_a_table_prints_what_stands_beside_it(terminal: Terminal) -> None:
    page = ROOT / "docs" / "described.md"
    rows = re.findall(r"^\|[^|]+\| `(.+)` \| `(.+)` \|$", page.read_text("utf-8"), re.MULTILINE)
    [start] = [block.text for block in blocks(page) if block.language == "bash"]
    terminal.run(start)

    missing = [command for command, told in rows if told not in terminal.run(command)]

    assert len(rows) > 30
    assert [] == missing


def assert_is_told(printed: str, *, told: str, page: Path) -> None:
    """A sample that finds nothing is a poor one, unless the page says that it finds nothing."""
    if name_of(page) != NO_TRANSCRIPTS:
        assert NO_MATCHES not in printed or NO_MATCHES in told


def test_a_block_that_is_not_run_says_why_and_is_counted() -> None:
    excused = [
        (name_of(page), block.excuse)
        for page in pages()
        for block in blocks(page)
        if block.excuse is not None
    ]

    assert dict(Counter(name for name, _ in excused)) == NOT_RUN
    assert all(excuse for _, excuse in excused)


def test_no_sample_escapes_by_another_name_of_its_language() -> None:
    strange = [
        (name_of(page), block.line, block.language)
        for page in pages()
        for block in blocks(page)
        if block.language not in RUN | NOT_CODE
    ]

    assert [] == strange


def test_every_fence_is_understood() -> None:
    for page in pages():
        fences = re.findall(r"^```", page.read_text(encoding="utf-8"), flags=re.MULTILINE)

        assert len(fences) == 2 * len(blocks(page)), page


def test_samples_of_settings_are_valid() -> None:
    for page in pages():
        for block in blocks(page):
            if block.language != "toml" or block.mark.startswith("not settings: "):
                continue
            for key, value in tomllib.loads(block.text).items():
                inside = value.items() if isinstance(value, dict) else [(None, value)]
                for inner, setting in inside:
                    origin = f"line {block.line} of {page}"
                    read_setting(f"{key}.{inner}" if inner else key, setting, origin=origin)
