"""Collects texts with their English translations: `python -m training.parallel OUT MIRRORS`.

MIRRORS has bare clones of the three repositories below, each in a folder of its name. Sections of
FastAPI's documentation carry anchors, lines of tldr pages have an order, Tatoeba's sentences are
numbered: so translations are aligned without guessing. OUT is a gzip file of JSON lines.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    Row = tuple[str, str, str]
    """Language, text, English text."""

FASTAPI, TLDR, LASER = "fastapi", "tldr", "LASER"
"""MIT, CC-BY-4.0, and BSD with sentences under CC-BY-2.0-FR."""
_SECTIONS = re.compile(r"^#+ .*\{ *#([\w-]+) *\}.*$", re.MULTILINE)
_CODE = re.compile(
    r"^```.*?^```$|^/// .*$|^///$|\{\*.*?\*\}|</?[a-z][^>]*>", re.MULTILINE | re.DOTALL
)
_ANCHOR = re.compile(r"\s*\{ *#[\w-]+ *\}")
_LINK = re.compile(r"\]\([^)]*\)(\{[^}]*\})?")
_LEAST, _MOST = 40, 1_200  # letters of a section
_TATOEBA = {
    "zh": "cmn", "ja": "jpn", "ko": "kor", "ru": "rus", "es": "spa", "de": "deu", "fr": "fra",
    "pt": "por", "ar": "ara", "hi": "hin", "it": "ita", "nl": "nld", "tr": "tur", "pl": "pol",
    "uk": "ukr", "vi": "vie", "th": "tha", "he": "heb", "el": "ell", "fa": "pes", "id": "ind",
    "cs": "ces", "sv": "swe", "hu": "hun", "bn": "ben", "ta": "tam",
}  # fmt: skip
_TLDR = {
    "zh": "zh", "ja": "ja", "ko": "ko", "ru": "ru", "es": "es", "de": "de", "fr": "fr",
    "pt": "pt_BR", "ar": "ar", "hi": "hi", "it": "it", "nl": "nl", "tr": "tr", "pl": "pl",
    "uk": "uk", "id": "id", "fa": "fa", "th": "th", "sv": "sv", "ta": "ta", "bn": "bn",
}  # fmt: skip
_FASTAPI = ("zh", "ja", "ko", "ru", "es", "de", "fr", "pt", "hi", "uk", "tr")
_MOST_PAGES = 900
"""Of tldr, in one language: Korean alone has 6,600."""


class _Repository:
    """The files of a bare clone."""

    def __init__(self, folder: Path) -> None:
        self._git = ["git", f"--git-dir={folder}"]
        listed = subprocess.run(  # noqa: S603 - our own arguments
            [*self._git, "ls-tree", "-r", "--name-only", "HEAD"],
            capture_output=True, check=True, text=True,
        )  # fmt: skip
        self.paths = listed.stdout.splitlines()

    def texts(self, paths: list[str]) -> dict[str, str]:
        """Return the contents of files by path."""
        asked = "".join(f"HEAD:{path}\n" for path in paths)
        given = subprocess.run(  # noqa: S603 - our own arguments
            [*self._git, "cat-file", "--batch"],
            input=asked.encode(), capture_output=True, check=True,
        ).stdout  # fmt: skip
        found = {}
        at = 0
        for path in paths:
            end = given.index(b"\n", at)
            size = int(given[at:end].split()[2])
            found[path] = given[end + 1 : end + 1 + size].decode()
            at = end + 2 + size
        return found


def _sections(text: str) -> dict[str, str]:
    """Return the sections of a page by anchor, without code and addresses."""
    starts = list(_SECTIONS.finditer(text))
    ends = [each.start() for each in starts[1:]] + [len(text)]
    found = {}
    for start, end in zip(starts, ends, strict=False):  # a page may have no section
        plain = _ANCHOR.sub("", _CODE.sub("", text[start.start() : end]))
        plain = re.sub(r"\n{2,}", "\n", _LINK.sub("]", plain)).strip()
        if len(plain) >= _LEAST:
            found[start.group(1)] = plain[:_MOST]
    return found


def of_fastapi(repository: _Repository) -> Iterator[Row]:
    """Yield the sections of the documentation that both languages have."""
    pages = [path for path in repository.paths if path.endswith(".md")]
    english = {
        path.removeprefix("docs/en/docs/"): _sections(text)
        for path, text in repository.texts(
            [path for path in pages if path.startswith("docs/en/docs/")]
        ).items()
    }
    for language in _FASTAPI:
        start = f"docs/{language}/docs/"
        own = repository.texts([path for path in pages if path.startswith(start)])
        for path, text in own.items():
            originals = english.get(path.removeprefix(start), {})
            for anchor, section in _sections(text).items():
                if anchor in originals and section != originals[anchor]:
                    yield language, section, originals[anchor]


def _described(page: str) -> list[str]:
    """Return the title, the description and the examples of a tldr page, without commands."""
    lines = [line for line in page.splitlines() if line.startswith(("#", ">", "- "))]
    kept = [line for line in lines if "<http" not in line]
    return [line.lstrip("#>- ").rstrip(":： ") for line in kept]


def of_tldr(repository: _Repository) -> Iterator[Row]:
    """Yield pages that have as many lines as the English one, whole and line by line."""
    for language, folder in _TLDR.items():
        start = f"pages.{folder}/"
        paths = [path for path in repository.paths if path.startswith(start)]
        step = max(1, len(paths) // _MOST_PAGES)
        own = repository.texts(paths[::step])
        there = set(repository.paths)
        originals = {path: path.replace(start, "pages/") for path in own}
        english = repository.texts(sorted({e for e in originals.values() if e in there}))
        for path, text in own.items():
            lines, others = _described(text), _described(english.get(originals[path], ""))
            if len(lines) != len(others) or len(lines) < 3:  # noqa: PLR2004 - title, text, example
                continue
            yield language, "\n".join(lines), "\n".join(others)
            for line, other in zip(lines[1:4], others[1:4], strict=True):
                if line != other:
                    yield language, line, other


def of_tatoeba(repository: _Repository) -> Iterator[Row]:
    """Yield sentences."""
    for language, code in _TATOEBA.items():
        start = f"data/tatoeba/v1/tatoeba.{code}-eng."
        texts = repository.texts([f"{start}{code}", f"{start}eng"])
        own, english = (text.splitlines() for text in texts.values())
        for line, other in zip(own, english, strict=True):
            yield language, line, other


def main() -> None:
    """Write all of them."""
    out, mirrors = Path(sys.argv[1]), Path(sys.argv[2])
    rows: list[Row] = []
    for name, read in ((FASTAPI, of_fastapi), (TLDR, of_tldr), (LASER, of_tatoeba)):
        found = list(read(_Repository(mirrors / name)))
        print(name, len(found), dict(Counter(language for language, *_ in found)))
        rows += found
    with gzip.open(out, "wt", encoding="utf-8") as stream:
        for language, text, english in rows:
            given = {"lang": language, "text": text, "en": english}
            stream.write(json.dumps(given, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
