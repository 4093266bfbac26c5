"""What most tests need: a workspace, a private environment, the real models."""

from __future__ import annotations

import functools
import os
import shutil
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from tests.support.gguf import downloaded_gguf
from tests.support.sample import SAMPLE, embed_sample

from recollect.providers import cross_encoder, local
from recollect.providers.models import bert
from recollect.providers.models.files import models_folder, read_model
from recollect.providers.models.manifest import EMBEDDER, READER
from recollect.stores.sqlite import pages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from recollect.providers.models.manifest import Manifest

settings.register_profile(
    "default", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=20
)
settings.load_profile("default")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # So it is in the background of a shell, and commands that are to be interrupted inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
pages.are_available()  # tests that edit an index by hand write its checksums too


@pytest.fixture(scope="session", autouse=True)
def loaded_models() -> Iterator[None]:
    """Load each model once per process, which takes longer than most tests."""
    load = functools.lru_cache(maxsize=3)(bert.open_session)

    def load_once(model: Path | bytes) -> object:
        return load(model) if isinstance(model, bytes) else bert.open_session(model)

    contents: dict[object, Mapping[str, bytes]] = {}

    def read_once(manifest: Manifest, folder: Path | None) -> Mapping[str, bytes]:
        root = models_folder() if folder is None else folder
        names = [file.packaged if folder is None else file.name for file in manifest.files]
        stats = [(root / name).stat() for name in names if (root / name).exists()]
        seen = (root, *names, *((each.st_ctime_ns, each.st_ino) for each in stats))
        if seen not in contents:
            contents[seen] = read_model(manifest, folder)
        return contents[seen]

    with pytest.MonkeyPatch.context() as patch:
        for module in (local, cross_encoder):
            patch.setattr(module, "open_session", load_once)
            patch.setattr(module, "read_model", read_once)
        yield


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the real embedding model in one folder, as `local.model_path` names it."""
    return _linked(EMBEDDER, tmp_path_factory.mktemp("embedder"))


@pytest.fixture(scope="session")
def reranker_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the real rerank model in one folder."""
    return _linked(READER, tmp_path_factory.mktemp("reader"))


def _linked(manifest: Manifest, folder: Path) -> Path:
    for file in manifest.files:
        (folder / file.name).symlink_to(models_folder() / file.packaged)
    return folder


@pytest.fixture(scope="session")
def gguf_file() -> Path:
    """A real GGUF embedding model, downloaded once into the user's cache."""
    return downloaded_gguf()


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """An environment that shares nothing with the user's."""
    return {
        "HOME": str(tmp_path / "user"),
        "PATH": os.environ["PATH"],
        "RECOLLECT_HOME": str(tmp_path / "home"),
    }


@pytest.fixture(params=["file:", "ram:"])
def each_store(request: pytest.FixtureRequest) -> str:
    """The setting `store`: the test runs once for every kind."""
    return str(request.param)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """An empty workspace folder."""
    folder = tmp_path / "workspace"
    (folder / "memory").mkdir(parents=True)
    return folder


@pytest.fixture
def write(workspace: Path) -> Callable[[str, str], Path]:
    """Write a file of the workspace."""

    def write_file(path: str, text: str) -> Path:
        file = workspace / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    return write_file


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """A private copy of the sample workspace."""
    return Path(shutil.copytree(SAMPLE, tmp_path / "sample"))


@pytest.fixture(scope="session")
def fill_home(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], None]:
    """Put the vectors of the sample workspace into a home's cache."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    return embed_sample(shared)


@pytest.fixture
def embedded_sample(
    sample: Path, environ: dict[str, str], fill_home: Callable[[Path], None]
) -> Path:
    """A private copy of the sample workspace. Indexing it in `environ` runs no model."""
    fill_home(Path(environ["RECOLLECT_HOME"]))
    return sample
