"""Nothing that exists is missing from the documentation, which is as the code is."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import click
import pytest
from tests.docs.pages import ROOT, anchors, blocks, links, name_of, pages

import recollect
import recollect.errors
from recollect.config.schema import SETTINGS
from recollect.errors import RecollectError
from recollect.shells.cli import cli

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

README = (ROOT / "README.md").read_text(encoding="utf-8")
CLI = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
API = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
MAN = ROOT / "man" / "recollect.1"
SOURCE = "\n".join(
    file.read_text(encoding="utf-8") for file in sorted((ROOT / "src").rglob("*.py"))
)

LISTED = cli.list_commands(click.Context(cli))


def every_command() -> Iterator[tuple[str, click.Command]]:
    def below(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
        yield name, command
        if isinstance(command, click.Group):
            context = click.Context(command)
            for each in command.list_commands(context):
                inner = command.get_command(context, each)
                assert inner is not None
                yield from below(f"{name} {each}", inner)

    return below("recollect", cli)


def every_error() -> Iterator[type[RecollectError]]:
    """Yield what a caller of the library may catch; shells have some that never leave them."""
    for found in vars(recollect.errors).values():
        if isinstance(found, type) and issubclass(found, RecollectError):
            yield found


def test_generated_pages_are_as_the_code_has_them() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (0, "") == (done.returncode, done.stdout)


def test_every_command_has_its_section_and_every_option_its_line() -> None:
    head, *sections = re.split(r"^#+ `(recollect .+)`$", CLI, flags=re.MULTILINE)
    told = {"recollect": head, **dict(zip(sections[::2], sections[1::2], strict=True))}
    shared = {option.name for option in cli.params}

    found = dict(every_command())

    assert len(LISTED) < len(found)
    assert found.keys() == told.keys()
    for name, command in found.items():
        assert command.help, name
        for option in command.params:
            if not isinstance(option, click.Option) or option.name in {"help", "version"}:
                continue
            assert option.help, f"{name} {option.name} says nothing"
            section = told["recollect" if option.name in shared else name]
            assert re.search(rf"^- `.*{option.opts[-1]}\b.*`: .", section, flags=re.MULTILINE)


def test_every_command_is_in_the_readme() -> None:
    assert [] == [name for name in LISTED if f"`recollect {name}" not in README]


def test_every_public_name_is_in_the_reference() -> None:
    names = set(recollect.__all__) - {"__version__"}
    records = {name for name in names if not name.endswith("Error")}

    assert set() == {name for name in records if f"### `recollect.{name}`\n" not in API}


def test_no_private_name_is_in_the_reference() -> None:
    assert [] == re.findall(r"^(?:- `|#+ `(?:\w+\.)*)_\w+", API, flags=re.MULTILINE)


def test_every_public_method_is_in_the_reference() -> None:
    for kind in (recollect.Memory, recollect.AsyncMemory):
        methods = {name for name in vars(kind) if not name.startswith("_")}

        assert {"open", "search"} <= methods
        assert set() == {
            name
            for name in methods
            if f"`{kind.__name__}.{name}`" not in API
            and f"- `{name}: " not in API
            and f"- `await {name}(" not in API
        }


def test_every_error_is_in_the_tree_of_errors() -> None:
    assert set() == {
        error.__name__ for error in every_error() if not re.search(rf"\b{error.__name__}\b", API)
    }


def test_every_setting_is_documented() -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")

    assert [] == [key for key in SETTINGS if f"`{key}`" not in page]


def test_every_message_that_is_explained_is_one_that_is_said() -> None:
    page = (ROOT / "docs" / "how-to" / "troubleshoot.md").read_text(encoding="utf-8")
    told = [
        phrase
        for row in re.findall(r"^\| (`.+?) \| ", page, flags=re.MULTILINE)
        for phrase in re.findall(r"`([^`]+)`", row)
    ]

    assert len(told) >= 5
    # What stands between the placeholders of a message is in the source.
    assert [] == [
        part for phrase in told for part in phrase.split("…") if part.strip() not in SOURCE
    ]


def test_make_targets_that_are_named_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = {
        target
        for page in pages()
        for target in re.findall(
            r"(?:^|`)make ([a-z-]+)", page.read_text(encoding="utf-8"), re.MULTILINE
        )
    }

    assert {"demo", "test", "install"} <= named
    assert all(re.search(rf"^{name}:", makefile, flags=re.MULTILINE) for name in named)


def test_examples_that_are_named_exist() -> None:
    named = {
        (name_of(page), file)
        for page in pages()
        for file in re.findall(r"`(examples/\w+\.py)`", page.read_text(encoding="utf-8"))
    }

    assert len(named) >= 4
    assert set() == {(page, file) for page, file in named if not (ROOT / file).is_file()}


def test_links_lead_somewhere() -> None:
    broken = [
        (name_of(page), f"{path}#{anchor}")
        for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
        for path, anchor in links(page)
        if not (target := (page.parent / path).resolve() if path else page).exists()
        or (anchor and anchor not in anchors(target))
    ]

    assert [] == broken


def test_every_page_can_be_reached_from_the_map() -> None:
    reached: set[Path] = set()
    waiting = [ROOT / "docs" / "index.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached and page.suffix == ".md":
            reached.add(page)
            waiting += [(page.parent / path).resolve() for path, _ in links(page) if path]

    assert set() == set((ROOT / "docs").rglob("*.md")) - reached


def test_the_manual_page_renders_without_a_warning() -> None:
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("groff is not installed")

    done = subprocess.run(
        [groff, "-man", "-Tutf8", "-ww", "-k", MAN], capture_output=True, text=True, check=False
    )

    assert (0, "") == (done.returncode, done.stderr)
    shown = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout)
    words = " ".join(shown.split())
    assert all(f"recollect {name}" in words for name in LISTED)
    assert "EXIT STATUS" in shown


def test_shell_completion_knows_the_commands() -> None:
    done = subprocess.run(
        ["recollect"],
        env={
            "PATH": f"{sys.prefix}/bin",
            "_RECOLLECT_COMPLETE": "bash_complete",
            "COMP_WORDS": "recollect sea",
            "COMP_CWORD": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )

    assert "plain,search" == done.stdout.strip()


def test_a_page_has_one_title_and_it_comes_first() -> None:
    for page in pages():
        text = page.read_text(encoding="utf-8")
        outside = text
        for block in blocks(page):
            outside = outside.replace(block.text, "")

        assert text.startswith("# "), page
        assert 1 == len(re.findall(r"^# ", outside, flags=re.MULTILINE)), page
