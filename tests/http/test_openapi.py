"""The description: it is whole, and the running server does what it says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from tests.http.servers import SAMPLE
from tests.support.routes import APP
from tests.support.waiting import wait_until

from recollect.shells.http.operations import OPERATIONS

if TYPE_CHECKING:
    from tests.http.servers import Command, Serving

EXAMPLES = os.environ.get("RECOLLECT_TEST_EXAMPLES", "2")
"""How many requests a phase makes of each operation; a deep run sets more."""
PHASES = os.environ.get("RECOLLECT_TEST_PHASES", "coverage,fuzzing")
HOOKS = Path(__file__).parent
PROMISED = {
    ("GET", "/health"),
    ("GET", "/metrics"),
    ("GET", "/openapi.json"),
    ("GET", "/"),
    ("GET", "/static/{name}"),
    ("GET", "/api/search"),
    ("GET", "/api/file"),
    ("GET", "/api/status"),
    ("POST", "/api/sync"),
    ("GET", "/api/recall"),
    ("GET", "/api/facts"),
    ("GET", "/api/facts/{id}"),
    ("POST", "/api/facts"),
    ("POST", "/api/facts/{id}/supersede"),
    ("POST", "/api/facts/{id}/restore"),
    ("DELETE", "/api/facts/{id}"),
    ("GET", "/api/related"),
    ("GET", "/api/picture"),
    ("GET", "/api/documents"),
    ("GET", "/api/timeline"),
    ("GET", "/api/map"),
}


def test_all_that_was_promised_is_in_the_table() -> None:
    assert set() == PROMISED - {(each.method, each.path) for each in OPERATIONS}


def test_every_operation_has_a_name_of_its_own_and_a_sentence() -> None:
    names = Counter(each.run.__name__ for each in OPERATIONS)

    assert [] == [name for name, count in names.items() if count > 1]
    assert [] == [each.path for each in OPERATIONS if not each.summary.endswith(".")]
    described = APP.openapi()
    parameters = [
        parameter
        for path in described["paths"].values()
        for operation in path.values()
        for parameter in operation.get("parameters", ())
    ]
    bodies = {
        name: each
        for name, each in described["components"]["schemas"].items()
        if name.endswith("Parameters")
    }
    members = {
        f"{name}.{member}": schema
        for name, each in bodies.items()
        for member, schema in each["properties"].items()
    }
    assert {
        "FeedbackParameters", "RememberParameters", "RestoreParameters", "SupersedeParameters",
    } == set(bodies)  # fmt: skip
    assert [] == [
        each["name"] for each in parameters if not each.get("description", "").endswith(".")
    ]
    assert [] == [
        name for name, each in members.items() if not each.get("description", "").endswith(".")
    ]


def test_the_server_describes_the_very_table(server: Command) -> None:
    described = server.get("/openapi.json").json()

    assert APP.openapi() == described
    assert {each.path for each in OPERATIONS} == set(described["paths"])


def test_the_server_keeps_to_its_description(
    server: Command, serving: Serving, tmp_path: Path
) -> None:
    # Its own, since it will be written to; the same home, so that vectors are at hand.
    copy = Path(shutil.copytree(SAMPLE, tmp_path / "workspace"))
    asked = serving(copy, server.environ, "--port", "0")
    wait_until(lambda: asked.get("/health").json()["status"] == "ok")

    done = subprocess.run(
        [
            Path(sys.executable).parent / "schemathesis",
            f"--config-file={HOOKS / 'schemathesis.toml'}",
            "run",
            f"{asked.url}/openapi.json",
            "--checks=all",
            f"--phases={PHASES}",
            f"--max-examples={EXAMPLES}",
            "--continue-on-failure",
            "--request-timeout=60",
            "--generation-deterministic",
            "--suppress-health-check=all",
            "--no-color",
        ],
        cwd=tmp_path,
        env={
            **os.environ,
            "SCHEMATHESIS_HOOKS": "tests.http.fuzz_hooks",
            "PYTHONPATH": str(HOOKS.parent.parent),
        },
        capture_output=True,
        text=True,
        check=False,
    )

    assert 0 == done.returncode, done.stdout[-6000:] + done.stderr[-2000:]
    assert "Traceback" not in asked.output
