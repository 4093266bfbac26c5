"""What is imported is declared, what is declared is used, locked by hash, and licensed."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tests.docs.pages import ROOT
from tools.licences import PAGE, rows
from tools.packages import packages, pinned

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MODELS = "recollect-memory-search-models"
"""In this repository and on no registry, so the locks leave it out."""
LOCKS = {name: ROOT / "locks" / f"{name}.txt" for name in ("install", "test")}
FREE = re.compile(
    r"(?:0BSD|Apache-2\.0|BSD-[23]-Clause|CC0-1\.0|MIT|MIT-0|MPL-2\.0|PSF-2\.0|Unlicense|Zlib"
    r"|LicenseRef-any-OSI| |AND|OR|\(|\))+"
)
"""Licences that let Recollect be used and passed on under Apache-2.0."""


def names(lines: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(line).name) for line in lines}


def declared() -> set[str]:
    return names(PYPROJECT["project"]["dependencies"])


def in_extras() -> set[str]:
    extras: dict[str, list[str]] = PYPROJECT["project"]["optional-dependencies"]
    return {name for lines in extras.values() for name in names(lines)}


def imported() -> set[str]:
    """Return the packages that the source imports, by the name they are installed with."""
    modules = set()
    for file in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                modules |= {each.name.partition(".")[0] for each in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                modules.add(node.module.partition(".")[0])
    outside = modules - sys.stdlib_module_names - {"recollect", "_typeshed"}
    known = metadata.packages_distributions()
    return {canonicalize_name(name) for each in outside for name in known.get(each, [each])}


def test_every_import_is_declared_and_every_declaration_is_imported() -> None:
    found = imported()

    assert set() == found - declared() - in_extras()
    assert {MODELS} == declared() - found  # files without code
    assert {"sqlite-vec"} >= in_extras() - found  # an extension of SQLite


def locked_versions(lock: str, line: str) -> list[str]:
    return pinned(LOCKS[lock]).get(canonicalize_name(Requirement(line).name), [])


@pytest.mark.parametrize(
    ("lock", "lines"),
    [
        ("install", PYPROJECT["project"]["dependencies"]),
        ("install", PYPROJECT["dependency-groups"]["build"]),
        ("install", PYPROJECT["build-system"]["requires"]),
        ("test", PYPROJECT["project"]["dependencies"]),
        ("test", PYPROJECT["dependency-groups"]["dev"]),
    ],
)
def test_the_locks_are_as_pyproject_asks(lock: str, lines: list[str]) -> None:
    wrong = [
        line
        for line in lines
        if Requirement(line).name != MODELS
        if not (versions := locked_versions(lock, line))
        or any(version not in Requirement(line).specifier for version in versions)
    ]

    assert [] == wrong, "run `make lock`"


@pytest.mark.parametrize("lock", LOCKS)
def test_every_locked_package_has_hashes_and_no_address(lock: str) -> None:
    text = LOCKS[lock].read_text(encoding="utf-8")
    entries = re.split(r"^(?=[\w.-]+(?:\[[^]]*\])?==)", text, flags=re.MULTILINE)[1:]

    assert len(entries) == sum(map(len, pinned(LOCKS[lock]).values()))
    assert [] == [entry for entry in entries if "--hash=sha256:" not in entry]
    assert "://" not in text


def test_both_locks_have_the_same_versions() -> None:
    install, test = pinned(LOCKS["install"]), pinned(LOCKS["test"])

    both = install.keys() & test.keys()
    assert {name: install[name] for name in both} == {name: test[name] for name in both}


def test_the_list_of_licences_is_complete_and_all_of_them_are_free() -> None:
    listed = PAGE.read_text(encoding="utf-8").splitlines()

    assert [] == [row for row in rows() if row not in listed], "run `make licences`"
    assert [] == [each for each in packages() if not FREE.fullmatch(each.licence or "-")]


@pytest.fixture(scope="module")
def bill() -> str:
    command = [sys.executable, "-m", "tools.sbom"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout


def test_the_bill_of_materials_is_valid_cyclonedx(bill: str) -> None:
    assert None is JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill)


def test_the_bill_of_materials_names_every_package_and_model(bill: str) -> None:
    found: dict[str, Any] = json.loads(bill)
    kinds = {"library": set[str](), "machine-learning-model": set[str]()}
    for each in found["components"]:
        kinds[each["type"]].add(each["name"])

    assert declared() <= kinds["library"]
    assert {each.name for each in packages()} == kinds["library"]
    models = {"recollect-embedder", "recollect-multilingual", "recollect-reader"}
    assert models == kinds["machine-learning-model"]
    assert Path(PAGE).is_file()
