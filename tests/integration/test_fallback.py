"""The chain of providers: who embeds a new index if the ones before fail, and who keeps it.

The four levels are those of OpenClaw's manual: a local model, OpenAI, Gemini, keywords alone.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from tests.integration.remote import KEY, command, notes_of, write_notes
from tests.vendors.gemini import GeminiFormat
from tests.vendors.openai import OpenAiFormat
from tests.vendors.server import VendorServer, refuse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.vendors.server import Fault, Request

NOTES = 12
ORDER = {"RECOLLECT_PROVIDER": "local", "RECOLLECT_FALLBACK": "openai,gemini"}
AUTO = {"RECOLLECT_PROVIDER": "auto", "RECOLLECT_FALLBACK": "openai,gemini"}
NO_LOCAL_MODEL = {"RECOLLECT_LOCAL_MODEL_PATH": "/nowhere"}


@dataclass(frozen=True)
class Vendors:
    openai: VendorServer
    gemini: VendorServer


@pytest.fixture
def vendors() -> Iterator[Vendors]:
    with ExitStack() as running:
        yield Vendors(
            running.enter_context(VendorServer(OpenAiFormat(), key=KEY)),
            running.enter_context(VendorServer(GeminiFormat(), key=KEY)),
        )


@pytest.fixture
def remote(environ: dict[str, str], vendors: Vendors, workspace: Path) -> dict[str, str]:
    write_notes(workspace, NOTES)
    return {
        **environ,
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": f"{vendors.openai.url}/v1",
        "GEMINI_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": vendors.gemini.url,
    }


def fails(server: VendorServer, status: int) -> None:
    def script(_number: int, _request: Request) -> Fault | None:
        return refuse(status, "no")

    server.script = script


@dataclass(frozen=True)
class Level:
    """What fails, and who answers then."""

    provider: str | None
    settings: dict[str, str]
    openai: int | str = 200
    gemini: int = 200
    reason: str | None = None
    """Why an earlier one was not used, as the user is told."""


LEVELS = {
    "1 local": Level("local", ORDER),
    "2 openai": Level("openai", ORDER | NO_LOCAL_MODEL, reason="nowhere"),
    "3 gemini, as the key is refused": Level("gemini", ORDER | NO_LOCAL_MODEL, openai=401),
    "3 gemini, as openai is down": Level(
        "gemini", ORDER | NO_LOCAL_MODEL, openai=500, reason="openai: openai"
    ),
    "3 gemini, as openai is overloaded": Level("gemini", ORDER | NO_LOCAL_MODEL, openai=503),
    "3 gemini, as openai refuses": Level("gemini", ORDER | NO_LOCAL_MODEL, openai=400),
    "3 gemini, as there is no key": Level("gemini", ORDER | NO_LOCAL_MODEL, openai="no key"),
    "3 gemini, as nothing answers": Level("gemini", ORDER | NO_LOCAL_MODEL, openai="gone"),
    "3 gemini, through auto": Level("gemini", AUTO | NO_LOCAL_MODEL, openai=500),
    "4 keywords": Level(None, ORDER | NO_LOCAL_MODEL, openai=401, gemini=403, reason="nowhere"),
    "4 keywords, and gemini's reason": Level(
        None, ORDER | NO_LOCAL_MODEL, openai=401, gemini=403, reason="gemini: gemini"
    ),
    "other order": Level(
        "gemini", {"RECOLLECT_PROVIDER": "gemini", "RECOLLECT_FALLBACK": "openai,local"}
    ),
    "no order": Level(None, {"RECOLLECT_PROVIDER": "openai"}, openai=401, reason="401"),
}


@pytest.mark.parametrize("level", LEVELS.values(), ids=LEVELS.keys())
def test_the_levels_of_the_fallback_chain(
    workspace: Path, remote: dict[str, str], vendors: Vendors, level: Level
) -> None:
    environ = remote | level.settings
    if isinstance(level.openai, int) and level.openai != 200:
        fails(vendors.openai, level.openai)
    elif level.openai == "no key":
        environ = {name: value for name, value in environ.items() if not name.startswith("OPENAI")}
    elif level.openai == "gone":
        environ |= {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    if level.gemini != 200:
        fails(vendors.gemini, level.gemini)

    indexed = command(workspace, environ, "index", "--json")
    found = command(workspace, environ, "search", "harbour violin", "--json")

    report, answer = json.loads(indexed.stdout), json.loads(found.stdout)
    assert answer["results"], found.stderr
    if level.provider is None:
        assert (1, 0) == (indexed.returncode, report["embedded"])
        assert ("keyword", None) == (answer["mode"], answer["results"][0]["vectorScore"])
        told = json.dumps(report["degraded"])
    else:
        assert (0, NOTES, None) == (indexed.returncode, report["embedded"], report["degraded"])
        assert ("hybrid", level.provider) == (answer["mode"], answer["provider"])
        assert answer["degraded"] is None
        told = " ".join(report["notices"])
        is_first = level.provider == level.settings["RECOLLECT_PROVIDER"]
        assert is_first or told.startswith(f"{level.provider} embeds your texts. ")
    assert level.reason is None or level.reason in told
    by = {"openai": notes_of(vendors.openai), "gemini": notes_of(vendors.gemini)}
    for name, notes in by.items():
        assert (NOTES if level.provider == name else 0) <= len(notes) <= NOTES + 2
        assert level.provider == name or len(notes) <= 1  # a trial at most


def test_an_index_that_has_vectors_keeps_them_and_says_how_to_change(
    workspace: Path, remote: dict[str, str], vendors: Vendors
) -> None:
    environ = remote | {"RECOLLECT_PROVIDER": "openai", "RECOLLECT_FALLBACK": "gemini"}
    assert 0 == command(workspace, environ, "index").returncode
    fails(vendors.openai, 401)
    (workspace / "MEMORY.md").write_text("The submarine cable lands.\n", encoding="utf-8")

    indexed = command(workspace, environ, "index", "--json")
    found = json.loads(command(workspace, environ, "search", "submarine", "--json").stdout)

    why = found["degraded"]["legs"]["vector"]
    assert ("keyword", "MEMORY.md") == (found["mode"], found["results"][0]["path"])
    assert "401" in why["reason"]
    assert "`recollect config set provider gemini` and `recollect index`" in why["action"]
    assert 1 == indexed.returncode
    assert "recollect config set provider gemini" in indexed.stdout
    assert not vendors.gemini.requests  # the words of a question are not sent elsewhere either

    changed = command(workspace, environ | {"RECOLLECT_PROVIDER": "gemini"}, "index", "--json")
    assert (0, NOTES + 1) == (changed.returncode, json.loads(changed.stdout)["embedded"])


def test_an_index_that_is_half_done_keeps_its_provider(
    workspace: Path, remote: dict[str, str], vendors: Vendors
) -> None:
    environ = remote | {"RECOLLECT_PROVIDER": "openai", "RECOLLECT_FALLBACK": "gemini"}
    vendors.openai.script = lambda number, _: refuse(401, "no") if number > 4 else None
    write_notes(workspace, 80, words=500)
    begun = json.loads(command(workspace, environ, "index", "--json").stdout)
    fails(vendors.openai, 401)
    stuck = json.loads(command(workspace, environ, "index", "--json").stdout)
    vendors.openai.script = lambda _number, _: None
    done = json.loads(command(workspace, environ, "index", "--json").stdout)

    assert begun["embedded"] > 0
    assert begun["pending"] == stuck["pending"] > 0
    assert 0 == done["pending"]
    assert not vendors.gemini.requests


def test_a_fallback_that_embedded_the_index_keeps_it_when_the_first_is_back(
    workspace: Path, remote: dict[str, str], vendors: Vendors
) -> None:
    environ = remote | {"RECOLLECT_PROVIDER": "openai", "RECOLLECT_FALLBACK": "gemini"}
    fails(vendors.openai, 500)
    assert 0 == command(workspace, environ, "index").returncode
    vendors.openai.script = lambda _number, _: None
    asked = len(vendors.openai.requests)

    found = json.loads(command(workspace, environ, "search", "harbour", "--json").stdout)
    status = json.loads(command(workspace, environ, "status", "--deep", "--json").stdout)
    fails(vendors.gemini, 403)
    failed = json.loads(command(workspace, environ, "search", "harbour", "--json").stdout)

    assert ("hybrid", "gemini", None) == (found["mode"], found["provider"], found["degraded"])
    assert asked == len(vendors.openai.requests)
    assert "out of `fallback`" in status["provider"]["skipped"]["openai"]["action"]
    why = status["provider"]["skipped"]["openai"]["reason"]
    assert "Not used: the index has vectors of gemini." == why
    assert "take gemini out of `fallback`" in failed["degraded"]["legs"]["vector"]["action"]


def test_a_busy_server_without_a_fallback_is_waited_for(
    workspace: Path, remote: dict[str, str], vendors: Vendors
) -> None:
    environ = remote | AUTO | NO_LOCAL_MODEL
    del environ["GEMINI_API_KEY"], environ["GOOGLE_GEMINI_BASE_URL"]
    vendors.openai.script = lambda number, _: refuse(503, "loading") if number <= 4 else None

    done = command(workspace, environ, "index", "--json")

    assert (0, NOTES) == (done.returncode, json.loads(done.stdout)["embedded"])


def test_a_fallback_has_its_own_model_and_address(
    workspace: Path, remote: dict[str, str], vendors: Vendors
) -> None:
    environ = remote | {
        "RECOLLECT_PROVIDER": "openai",
        "RECOLLECT_FALLBACK": "gemini",
        "RECOLLECT_MODEL": "text-embedding-3-large",
        "RECOLLECT_DIMENSIONS": "256",
        "RECOLLECT_REMOTE_BASE_URL": f"{vendors.openai.url}/v1",
        "RECOLLECT_REMOTE_API_KEY": "env:OPENAI_API_KEY",
    }
    fails(vendors.openai, 500)

    done = command(workspace, environ, "index", "--json")
    found = json.loads(command(workspace, environ, "search", "harbour", "--json").stdout)

    assert (0, NOTES) == (done.returncode, json.loads(done.stdout)["embedded"])
    assert ("gemini", "gemini-embedding-001") == (found["provider"], found["model"])


def test_a_workspace_may_not_choose_a_fallback(workspace: Path, remote: dict[str, str]) -> None:
    (workspace / "recollect.toml").write_text('fallback = ["openai"]\n', encoding="utf-8")

    done = command(workspace, remote, "index")

    assert 2 == done.returncode
    assert "which a workspace's own file may not" in done.stderr
