"""A model file that someone changed is refused by every command that uses or checks it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from recollect import Memory
from recollect.errors import ModelUnavailableError
from recollect.providers.local import open_local
from recollect.providers.models import files
from recollect.providers.models.files import models_folder
from recollect.providers.models.manifest import EMBEDDER, READER
from recollect.providers.options import ProviderOptions
from recollect.types import Role


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """A private copy of the installed models, which comes first on the path."""
    return Path(shutil.copytree(models_folder(), tmp_path / "path" / "recollect_models"))


@pytest.fixture
def own(environ: dict[str, str], models: Path) -> dict[str, str]:
    return {**environ, "PYTHONPATH": str(models.parent)}


def run(workspace: Path, environ: dict[str, str], *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "recollect", "-w", str(workspace), *arguments],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def change(file: Path) -> None:
    """Change one byte in the middle, and keep size and time of modification."""
    seen = file.stat()
    with file.open("r+b") as stream:
        stream.seek(seen.st_size // 2)
        [byte] = stream.read(1)
        stream.seek(seen.st_size // 2)
        stream.write(bytes([byte ^ 1]))
    os.utime(file, ns=(seen.st_atime_ns, seen.st_mtime_ns))


def test_every_command_refuses_a_changed_model(
    embedded_sample: Path, own: dict[str, str], models: Path
) -> None:
    assert 0 == run(embedded_sample, own, "index")[0]
    change(models / "embedder" / "model.onnx")

    status, probe = run(embedded_sample, own, "status", "--deep", "--json")
    ways = (("doctor",), ("doctor", "--verify"))
    found = {each: run(embedded_sample, own, *each) for each in ways}
    searched = run(embedded_sample, own, "search", "which port does the database use")

    refused = "cannot be used: it does not match its published SHA-256"
    assert (0, False) == (status, json.loads(probe)["probe"]["works"])
    assert refused in probe
    for code, text in found.values():
        assert 1 == code
        assert refused in text
        assert "pip install --force-reinstall --no-deps recollect-memory-search-models" in text
    assert refused in searched[1]
    assert "PORT" in searched[1].upper()  # keywords still answer


def test_doctor_checks_every_model_that_is_there_and_says_where_texts_go(
    embedded_sample: Path, own: dict[str, str], models: Path
) -> None:
    change(models / "vocab.txt")

    remote = {"RECOLLECT_PROVIDER": "openai", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    chain = {"RECOLLECT_FALLBACK": "gemini", "RECOLLECT_LLM_PROVIDER": "anthropic"}
    code, text = run(embedded_sample, own | remote | chain, "doctor")
    _, alone = run(embedded_sample, own | {"OPENAI_API_KEY": "k" * 20}, "doctor")

    assert 1 == code
    assert f"of the model {EMBEDDER.id} cannot be used" in text
    assert "notes and questions go to openai at http://127.0.0.1:9/v1" in text
    assert "if the providers before it fail on a new index" in text
    assert "gemini at https://generativelanguage.googleapis.com" in text
    assert "files that you `ingest` go to anthropic" in text
    assert "no text leaves this machine" in alone


def test_what_is_loaded_is_what_was_hashed(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(models.parent)
    provider = open_local(ProviderOptions(provider="local"))
    provider.prepare()
    file = models / "embedder" / "model.onnx"
    change(file)

    assert (1, 384) == provider.embed(["a text"], role=Role.QUERY).shape
    provider.close()
    with pytest.raises(ModelUnavailableError, match="does not match its published SHA-256"):
        provider.embed(["a text"], role=Role.QUERY)


def test_a_changed_rerank_model_is_refused_and_the_order_stands(
    embedded_sample: Path, own: dict[str, str], models: Path
) -> None:
    run(embedded_sample, own, "index")
    change(models / "reader" / "model.onnx")

    searched = run(embedded_sample, own, "search", "--rerank", "which port does the database use")
    code, text = run(embedded_sample, own, "doctor")

    assert "cannot be used: it does not match its published SHA-256" in searched[1]
    assert 1 == code
    assert f"of the model {READER.id} cannot be used" in text


def test_without_the_package_keywords_answer_and_the_next_step_is_said(
    embedded_sample: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "find_spec", lambda _: None)
    with Memory.open(embedded_sample, environ=environ) as memory:
        report = memory.sync()
        found = memory.search("which port does the database use")
        [first, *_] = memory.parts.verify_models()

    assert found.hits
    assert report.degraded
    [why] = report.degraded.values()
    assert "recollect-memory-search-models, which has the models, is not installed" in why.reason
    assert why.action == first.action == "pip install recollect-memory-search-models"
