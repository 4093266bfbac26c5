"""Reading a model's files: the installed ones, those in a named folder, and every failure."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from recollect.errors import ModelUnavailableError
from recollect.providers.models import files
from recollect.providers.models.files import changed_files, models_folder, read_model
from recollect.providers.models.manifest import MODELS, Manifest, ModelFile

if TYPE_CHECKING:
    from pathlib import Path

FILES = {"model.onnx": b"weights" * 1000, "vocab.txt": b"[CLS]\n[SEP]\n"}
MANIFEST = Manifest(
    id="tiny",
    licence=None,
    files=tuple(
        ModelFile(
            name=name,
            sha256=hashlib.sha256(content).hexdigest(),
            size_bytes=len(content),
            packaged=f"tiny/{name}",
        )
        for name, content in FILES.items()
    ),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.mark.parametrize("manifest", MODELS, ids=lambda each: each.id)
def test_the_installed_models_are_the_pinned_ones(manifest: Manifest) -> None:
    assert [] == list(changed_files(manifest, None))
    assert [file.size_bytes for file in manifest.files] == [
        (models_folder() / file.packaged).stat().st_size for file in manifest.files
    ]


def test_a_named_folder_has_the_files_by_name(folder: Path) -> None:
    assert FILES == read_model(MANIFEST, folder)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, r"vocab\.txt of the model tiny cannot be used: it cannot be read"),
        (b"[CLS]\n[SEP]!", r"vocab\.txt of the model tiny cannot be used: it does not match"),
    ],
)
def test_a_file_that_is_missing_or_changed_is_refused(
    folder: Path, content: bytes | None, reason: str
) -> None:
    (folder / "vocab.txt").unlink()
    if content is not None:
        (folder / "vocab.txt").write_bytes(content)

    with pytest.raises(ModelUnavailableError, match=reason) as raised:
        read_model(MANIFEST, folder)

    assert "local.model_path" in raised.value.action
    assert [raised.value.message] == [each.message for each in changed_files(MANIFEST, folder)]


def test_a_damaged_installation_is_to_be_installed_again() -> None:
    with pytest.raises(ModelUnavailableError, match="cannot be read") as raised:
        read_model(MANIFEST, None)

    assert "pip install --force-reinstall" in raised.value.action


def test_a_missing_package_is_to_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "find_spec", lambda _: None)

    with pytest.raises(ModelUnavailableError, match="is not installed") as raised:
        read_model(MANIFEST, None)

    assert raised.value.action == "pip install recollect-memory-search-models"
