"""What retrievers must not do: reach out, leave files behind, or fail without naming the extra."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

# Sees every connection, address lookup and file opened for writing from the first import on.
AUDITED = """
import json, os, sys
seen = []
def hook(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "urllib.Request"):
        seen.append(f"{event} {args[1:] if event == 'socket.connect' else args}")
    elif event == "open" and isinstance(args[0], str) and isinstance(args[2], int):
        if args[2] & (os.O_WRONLY | os.O_RDWR) and not args[0].endswith(("null", ".pyc")):
            seen.append(f"write {args[0]}")
sys.addaudithook(hook)
"""
LANGCHAIN = """
from recollect.retrievers.langchain import RecollectRetriever
with RecollectRetriever.open(sys.argv[1], max_results=1) as retriever:
    found = [document.metadata["path"] for document in retriever.invoke("what fears storms?")]
"""
LLAMA_INDEX = """
from recollect.retrievers.llama_index import RecollectRetriever
with RecollectRetriever.open(sys.argv[1], max_results=1) as retriever:
    found = [each.node.metadata["path"] for each in retriever.retrieve("what fears storms?")]
"""
TOLD = "print(json.dumps([found, seen]))"

# What an import meets where a package was never installed.
UNINSTALLED = """
import sys
class Without:
    def find_spec(self, name, path=None, target=None):
        if name == {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Without())
"""


@pytest.mark.parametrize("framework", [LANGCHAIN, LLAMA_INDEX], ids=["langchain", "llama_index"])
def test_nothing_is_fetched_and_nothing_written_outside_the_home(
    framework: str, notes: Path, environ: dict[str, str]
) -> None:
    Path(environ["HOME"]).mkdir()

    done = subprocess.run(
        [sys.executable, "-W", "error", "-B", "-c", AUDITED + framework + TOLD, notes],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )

    assert 0 == done.returncode, done.stderr
    found, seen = json.loads(done.stdout)
    outside = [each for each in seen if environ["RECOLLECT_HOME"] not in each]
    written = [each for each in Path(environ["HOME"]).rglob("*") if each.is_file()]
    assert ["memory/pets.md"] == found
    assert [] == outside
    assert [] == written


@pytest.mark.parametrize(
    ("module", "missing", "extra"),
    [
        ("langchain", "langchain_core", "'.[langchain]'"),
        ("llama_index", "llama_index.core", "'.[llama-index]'"),
        ("llama_index", "llama_index", "'.[llama-index]'"),
    ],
)
def test_without_the_package_the_import_names_the_extra(
    module: str, missing: str, extra: str
) -> None:
    code = UNINSTALLED.format(missing=missing) + f"import recollect.retrievers.{module}"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    last = done.stderr.splitlines()[-1]
    assert 1 == done.returncode
    assert last.startswith("ImportError: ")
    assert last.endswith(f"pip install {extra}")


@pytest.mark.parametrize("framework", ["langchain_core", "llama_index"])
def test_the_package_itself_needs_no_framework(framework: str) -> None:
    code = UNINSTALLED.format(missing=framework) + "import recollect.memory"

    assert 0 == subprocess.run([sys.executable, "-c", code], check=False).returncode
