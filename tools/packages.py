"""Which packages a plain installation of Recollect consists of, and under which licences."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "locks" / "install.txt"
_PINNED = re.compile(r"^([\w.-]+)(?:\[[^]]*\])?==(\S+)", re.MULTILINE)
_SPDX = {
    "3-Clause BSD License": "BSD-3-Clause",
    "any-OSI": "LicenseRef-any-OSI",
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD 3-Clause License": "BSD-3-Clause",
    "MIT License": "MIT",
    "MIT, BSD": "BSD-3-Clause AND MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
"""Names that packages use in place of an SPDX identifier."""


@dataclass(frozen=True, slots=True)
class Package:
    """An installed package."""

    name: str
    version: str
    licence: str | None
    """An SPDX expression; None if its metadata does not say."""
    needs: tuple[str, ...]
    """Names of the packages it needs here."""


def pinned(lock: Path) -> dict[str, list[str]]:
    """Return the versions of each package in a lock file: several if they depend on the Python."""
    found: dict[str, list[str]] = {}
    for name, version in _PINNED.findall(lock.read_text(encoding="utf-8")):
        found.setdefault(canonicalize_name(name), []).append(version)
    return found


def declared() -> list[Requirement]:
    """Return what pyproject.toml asks for, without extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [Requirement(line) for line in project["dependencies"]]


def packages() -> list[Package]:
    """Return what this environment installs for Recollect, by name.

    Raises:
        PackageNotFoundError: the environment lacks one; run `make install`.

    """
    found: dict[str, Package] = {}
    waiting = declared()
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if (name, frozenset(wanted.extras)) in seen:
            continue
        seen.add((name, frozenset(wanted.extras)))
        there = metadata.distribution(name)
        needed = [
            each
            for each in map(Requirement, there.requires or ())
            if each.marker is None
            or any(each.marker.evaluate({"extra": extra}) for extra in ("", *wanted.extras))
        ]
        waiting += needed
        before = found[name].needs if name in found else ()
        needs = sorted({*before, *(canonicalize_name(each.name) for each in needed)})
        found[name] = Package(name, there.version, licence_of(there), tuple(needs))
    return [found[name] for name in sorted(found)]


def licence_of(distribution: metadata.Distribution) -> str | None:
    """Return a package's licence as an SPDX expression; None if its metadata does not say."""
    fields = distribution.metadata
    for expression in fields.get_all("License-Expression") or ():
        return str(expression)
    stated = [*(fields.get_all("License") or ()), *_classifiers(fields.get_all("Classifier") or ())]
    short = [text for text in stated if text and "\n" not in text]
    return _SPDX.get(short[0], short[0]) if short else None


def _classifiers(lines: Iterable[str]) -> Iterator[str]:
    return (line.rpartition(" :: ")[2] for line in lines if line.startswith("License"))
