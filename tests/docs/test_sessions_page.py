"""docs/sessions.md, followed by somebody who has a conversation in the sample workspace."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from tests.docs.pages import ROOT, blocks
from tests.support.claude_mem import make_database
from tests.support.commands import bin_folder

if TYPE_CHECKING:
    from collections.abc import Callable

WORKSPACE = "examples/workspace"


def test_every_command_finds_the_conversation_until_it_is_forgotten(
    tmp_path: Path, environ: dict[str, str], fill_home: Callable[[Path], None]
) -> None:
    fill_home(Path(environ["RECOLLECT_HOME"]))
    workspace = Path(shutil.copytree(ROOT / WORKSPACE, tmp_path / WORKSPACE))
    name = re.sub("[^A-Za-z0-9]", "-", str(workspace))
    folder = tmp_path / "user" / ".claude" / "projects" / name
    folder.mkdir(parents=True)
    said = {
        "type": "user",
        "message": {"role": "user", "content": "The spare key hangs behind the blue barrel."},
        "uuid": "1",
        "timestamp": "2026-02-01T09:00:00Z",
        "sessionId": "5f0c",
        "cwd": str(workspace),
    }
    (folder / "5f0c.jsonl").write_text(json.dumps(said) + "\n", encoding="utf-8")

    export = ROOT / "tests" / "fixtures" / "exports" / "chatgpt"
    shutil.make_archive(str(tmp_path / "user" / "Downloads" / "chatgpt-export"), "zip", export)
    make_database(tmp_path / "user" / ".claude-mem")

    def run(command: str) -> str:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=tmp_path,
            env={**environ, "PATH": f"{bin_folder()}:{os.environ['PATH']}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert 0 == done.returncode, f"{command}: {done.stdout}"
        return done.stdout

    page = blocks(ROOT / "docs" / "sessions.md")
    commands = "".join(block.text for block in page if block.language == "bash").splitlines()
    printed = {command: run(command) for command in commands}
    searches = [command for command in commands if "spare key" in command]
    run(f"recollect -w {WORKSPACE} sessions forget 5f0c")
    after = run(searches[1])
    run(f"recollect -w {WORKSPACE} sessions forget --undo 5f0c")
    again = run(searches[1])

    assert 2 == len(searches)
    assert [True, True] == ["blue barrel" in printed[each] for each in searches]
    [listed] = [printed[each] for each in commands if "sessions list" in each]
    assert re.search(r"5f0c\.jsonl  [0-9]{4}-[0-9]{2}-[0-9]{2}, 1 kB, indexed", listed)
    imported = [printed[each].split("\n")[0] for each in commands if "import" in each]
    assert ["1 imported", "2 imported", "1 imported"] == imported
    assert (False, True) == ("blue barrel" in after, "blue barrel" in again)
