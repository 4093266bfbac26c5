"""docs/http.md: what it shows runs, and nothing that exists is missing from it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support.routes import ROUTES

from recollect.shells.http.operations import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.http.servers import Command, Serving

PAGE = (Path(__file__).parent.parent.parent / "docs" / "http.md").read_text(encoding="utf-8")
ADDRESS = "http://127.0.0.1:7717"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)


def curls() -> list[str]:
    lines = "\n".join(blocks("bash")).splitlines()
    return [line for line in lines if line.startswith("curl ")]


def run(command: list[str], **options: object) -> str:
    done = subprocess.run(  # type: ignore[call-overload]
        command, capture_output=True, text=True, check=False, timeout=120, **options
    )
    assert 0 == done.returncode, done.stderr
    return str(done.stdout)


@pytest.mark.parametrize("line", [line for line in curls() if "Bearer" not in line])
def test_every_request_of_the_page_is_answered(line: str, server: Command) -> None:
    command = line.replace(ADDRESS, server.url).replace("curl ", "curl -sS --fail-with-body ", 1)

    printed = run(["sh", "-c", command])

    assert printed.startswith("{")
    assert '"results":[]' not in printed


def test_the_token_sample_runs(
    workspace: Path, environ: Mapping[str, str], serving: Serving, tmp_path: Path
) -> None:
    [sample] = [block for block in blocks("bash") if "openssl" in block]
    make, start, ask = sample.splitlines()
    run(["sh", "-c", make], cwd=tmp_path)
    options = start.partition(" serve ")[2].replace(
        "token-file token", f"token-file={tmp_path}/token"
    )
    command = serving(workspace, environ, *options.split(), "--port", "0")
    url = command.url.replace("0.0.0.0", "127.0.0.1")  # noqa: S104 - how it is reached

    printed = run(["sh", "-c", ask.replace(ADDRESS, url).replace("curl", "curl -sS")], cwd=tmp_path)

    assert '"query":"backups"' in printed


def test_every_operation_parameter_and_status_is_on_the_page() -> None:
    missing = [
        f"{each.method} {each.path}"
        for each in OPERATIONS
        if f"`{each.method} {each.path}`" not in PAGE
    ]
    drawn = {"/api/documents", "/api/timeline", "/api/map"}
    params = {
        name
        for each in ROUTES
        if each.path.startswith("/api/") and each.path not in drawn
        for name in (*each.names, *(field.alias for field in each.dependant.path_params))
    }

    assert [] == missing
    assert [] == sorted(name for name in params if not re.search(rf"[`\"{{]{name}[`\"}}]", PAGE))


def test_every_metric_is_on_the_page(server: Command) -> None:
    named = re.findall(r"^# TYPE (\S+)", server.get("/metrics").text, flags=re.MULTILINE)

    assert len(named) > 10
    assert [] == [name for name in named if f"`{name}`" not in PAGE]
