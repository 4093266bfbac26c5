"""A call to the system fails: the user is told, and nothing is half done."""

from __future__ import annotations

import errno
import os
import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.support.fault_kinds import KINDS, MEMORY_KINDS, READS, Kind
from tests.support.fault_operations import OPERATIONS, Operation, files_of, ids_of
from tests.support.faults import Fault, Faults, opened
from tests.support.faulty_runs import can_build

from recollect import Memory
from recollect.errors import DiskError, OutOfMemoryError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.faulty_runs import Ended

_BY_NAME = {each.name: each for each in OPERATIONS}
_SAMPLE = 7
"""Faults that are tried here. `make faults` tries all calls."""
_SEED = 14
EIO, ENOSPC, EACCES, DEAD = KINDS[0], KINDS[1], KINDS[3], KINDS[-1]


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faults]:
    if not can_build():
        pytest.skip("needs Linux and a C compiler")
    with opened(tmp_path_factory.mktemp("faults")) as found:
        yield found


def fail(faults: Faults, operation: Operation, *, call: str, path: str, kind: Kind) -> Ended:
    """Run an operation in which the first such call on such a path fails."""
    [fault, *_] = [
        each
        for each in faults.of(operation)
        if each.call == call and path in each.path and each.kind == kind
    ]
    faults.disks.restore(operation.disk)
    return faults.run(faults.disks.arguments(operation), fault=fault)


def files(faults: Faults) -> dict[str, str]:
    disk = faults.disks.disk
    return files_of(disk, known=ids_of(disk))


def test_any_failing_call_is_reported_and_loses_nothing(faults: Faults) -> None:
    chance = random.Random(_SEED)
    names = ("remember", "supersede", "forget", "config set", "install", "search edits", "index")
    tried: list[tuple[Operation, Fault]] = []
    for name in names:
        found = faults.of(_BY_NAME[name])
        tried += [(_BY_NAME[name], each) for each in chance.sample(found, _SAMPLE // len(names))]

    wrong = [
        f"{operation.name}: {fault.title}: {sentence}"
        for operation, fault in tried
        for sentence in faults.attempt(operation, fault)
    ]

    assert [] == wrong
    assert _SAMPLE == len(tried)


def test_a_look_at_a_file_that_fails_ends_a_command_with_a_next_step(faults: Faults) -> None:
    ended = fail(faults, _BY_NAME["verify"], call="opendir", path="/memory/facts", kind=EIO)

    assert 1 == ended.code
    assert "memory/facts cannot be read or written (Input/output error)" in ended.said
    assert "→" in ended.said


def test_an_index_is_not_replaced_over_a_read_that_fails_once(faults: Faults) -> None:
    """To SQLite, a page that the disk does not give is a damaged one."""
    status = _BY_NAME["status"]
    reads = [
        fault
        for fault in faults.of(status)
        if (fault.call, fault.kind) == ("read", EIO) and fault.path.endswith(".sqlite")
    ]
    for fault in reads[:: len(reads) // 6]:
        faults.disks.restore(status.disk)
        ended = faults.run(faults.disks.arguments(status), fault=fault)

        assert 0 == ended.code or "The disk failed on" in ended.said, ended.said
        assert "damaged" not in ended.said
        assert [] == list((faults.disks.disk / "home" / "memory").glob("*damaged*"))


def test_an_index_that_the_disk_cannot_read_is_left_as_it_is_until_a_reset(
    faults: Faults,
) -> None:
    status = _BY_NAME["status"]
    unreadable = Kind("unreadable", errno.EIO, lasts_for=READS, doing=READS)
    reads = [
        replace(fault, kind=unreadable)
        for fault in faults.of(status)
        if (fault.call, fault.kind) == ("read", EIO) and fault.path.endswith(".sqlite")
    ]
    faults.disks.restore(status.disk)
    [index] = (faults.disks.disk / "home" / "memory").glob("*.sqlite")
    for fault in reads[:: len(reads) // 4]:
        before = index.read_bytes()
        ended = faults.run(faults.disks.arguments(status), fault=fault)

        assert 1 == ended.code
        assert "Input/output error" in ended.said or "disk I/O error" in ended.said, ended.said
        assert "→" in ended.said
        assert before == index.read_bytes()
        assert [] == list(index.parent.glob("*damaged*"))

    ended = faults.run(["reset", "--yes"], fault=reads[-1])

    assert 0 == ended.code, ended.said


def test_a_search_answers_from_the_index_if_the_files_cannot_be_looked_at(faults: Faults) -> None:
    ended = fail(faults, _BY_NAME["search"], call="opendir", path="/memory/facts", kind=EIO)

    assert 0 == ended.code, ended.said
    assert "painted white" in ended.said
    assert "The index is not up to date" in ended.said


@pytest.mark.parametrize("call", ["open", "sync", "rename"])
def test_two_files_of_the_ledger_change_together_or_not_at_all(faults: Faults, call: str) -> None:
    """The superseded fact and the one that replaces it are in different files."""
    faults.disks.restore("indexed")
    before = files(faults)
    path = "preference.md" if call == "rename" else ".preference.md."

    ended = fail(faults, _BY_NAME["supersede"], call=call, path=path, kind=ENOSPC)

    assert 1 == ended.code
    assert before == files(faults)


def test_a_fact_is_not_removed_unless_it_is_noted_as_forgotten(faults: Faults) -> None:
    faults.disks.restore("indexed")
    before = files(faults)

    ended = fail(faults, _BY_NAME["forget"], call="open", path=".forgotten.", kind=EACCES)

    assert 1 == ended.code
    assert before == files(faults)


def test_forgetting_on_a_disk_that_dies_halfway_can_be_repeated(faults: Faults) -> None:
    forget = _BY_NAME["forget"]
    [fault, *_] = [
        each
        for each in faults.of(forget)
        if each.call == "sync" and each.path.endswith("memory/facts") and each.kind == DEAD
    ]

    assert [] == list(faults.attempt(forget, fault))


def test_an_index_with_checksums_is_not_written_without_them(faults: Faults) -> None:
    no_memory = Fault(0, "", "", MEMORY_KINDS[0])  # the extension that writes them is not loaded

    assert [] == list(faults.attempt(_BY_NAME["index edits"], no_memory))


def test_an_installation_that_fails_halfway_is_taken_back(faults: Faults) -> None:
    faults.disks.restore("indexed")
    before = files(faults)

    ended = fail(faults, _BY_NAME["install"], call="rename", path="settings.json", kind=EIO)

    assert 2 == ended.code
    assert "settings.json cannot be changed" in ended.said
    assert before == files(faults)


@pytest.mark.parametrize("kind", [MEMORY_KINDS[1], MEMORY_KINDS[5], MEMORY_KINDS[-8]])
def test_with_little_memory_a_command_ends_with_a_next_step(faults: Faults, kind: Kind) -> None:
    wrong = list(faults.attempt(_BY_NAME["index"], Fault(0, "", "", kind)))

    assert [] == wrong


def test_a_command_that_shows_no_report_tells_that_the_index_was_set_aside(faults: Faults) -> None:
    faults.disks.restore("indexed")
    [file] = (faults.disks.disk / "home" / "memory").glob("*.sqlite")
    file.write_bytes(b"This is not an index. " * 1000)

    ended = faults.run(["remember", "Ada sails on Mondays"])

    assert 0 == ended.code
    assert "set aside" in ended.said


@pytest.mark.parametrize(
    ("raised", "reported"),
    [(OSError(errno.EIO, "Input/output error", "x"), DiskError), (MemoryError(), OutOfMemoryError)],
)
def test_the_library_raises_its_own_errors_only(
    workspace: Path,
    environ: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    raised: Exception,
    reported: type[Exception],
) -> None:
    (workspace / "memory" / "facts").mkdir()
    with Memory.open(workspace, environ=environ, settings={"provider": "none"}) as memory:

        def fail(*_: object) -> None:
            raise raised

        monkeypatch.setattr(os, "listdir", fail)
        monkeypatch.setattr(os, "scandir", fail)

        with pytest.raises(reported):
            memory.facts.all()
