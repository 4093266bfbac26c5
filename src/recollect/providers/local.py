"""The default provider: a small embedding model on this machine's CPU, through onnxruntime.

Each text is run alone: the model's int8 activations are scaled per batch, so a text's vector
would otherwise depend on its neighbours. Several texts run side by side in threads instead, which
is also the faster way (docs/decisions/0002).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.providers import onnx
from recollect.providers.manifest import ARCTIC_S, EmbeddingManifest
from recollect.providers.resolve import resolve
from recollect.providers.wordpiece import WordPiece
from recollect.types import Fingerprint, Role, silent

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy.typing as npt

    from recollect.providers.base import ProviderOptions
    from recollect.types import Background, Progress, Vector, Vectors

_MOST_WINDOWS = 8  # a text beyond this many model inputs is cut: 4,000 words of one passage


class LocalProvider:
    """Embeds with the bundled model; loads it on first use."""

    def __init__(
        self, manifest: EmbeddingManifest, *, configured: Path | None, cache: Path, threads: int
    ) -> None:
        self._manifest = manifest
        self._configured = configured
        self._cache = cache
        self._threads = threads
        self._folder: Path | None = None
        self._session: Any = None
        self._words: WordPiece | None = None

    @property
    def fingerprint(self) -> Fingerprint:
        """Return the identity of the space."""
        weights = self._manifest.files[0].sha256[:12]
        return Fingerprint("local", self._manifest.id, self._manifest.dimensions, weights)

    @property
    def background(self) -> Background:
        """Return how cosines of unrelated texts are spread."""
        return self._manifest.background

    def reads(self, text: str) -> float:
        """Return the share of letters in the script the model was trained on."""
        return onnx.latin_share(text)

    def prepare(self, *, progress: Progress, retry: bool) -> None:
        """Find or fetch the model's files."""
        if self._folder is None:
            self._folder = resolve(
                self._manifest,
                configured=self._configured,
                cache=self._cache,
                progress=progress,
                retry=retry,
            )

    def embed(self, texts: Sequence[str], *, role: Role) -> Vectors:
        """Return one unit vector a text; texts longer than the model's input are averaged."""
        self._load()
        prefix = (
            self._manifest.query_prefix if role is Role.QUERY else self._manifest.document_prefix
        )
        vectors = np.zeros((len(texts), self._manifest.dimensions), dtype=np.float32)
        if len(texts) == 1:
            vectors[0] = self._embed_one(prefix, texts[0])
        elif texts:
            with ThreadPoolExecutor(self._threads) as pool:
                vectors[:] = list(pool.map(lambda text: self._embed_one(prefix, text), texts))
        return vectors

    def close(self) -> None:
        """Release the model."""
        self._session = None
        self._words = None

    def _load(self) -> None:
        if self._session is not None:
            return
        self.prepare(progress=silent, retry=False)
        assert self._folder is not None  # noqa: S101 - prepare either sets it or raises
        self._words = WordPiece.from_file(self._folder / "vocab.txt")
        self._session = onnx.open_session(self._folder / "model.onnx")

    def _embed_one(self, prefix: str, text: str) -> Vector:
        assert self._words is not None  # noqa: S101 - _load ran
        lead = self._words.ids(prefix) if prefix else []
        body = self._words.ids(text)
        room = self._manifest.max_tokens - 2 - len(lead)
        windows = [body[at : at + room] for at in range(0, max(len(body), 1), room)]
        vectors = [self._run([*lead, *window]) for window in windows[:_MOST_WINDOWS]]
        # Weighted by length: a tail of three words must not count as much as a full window.
        weights = [max(len(window), 1) for window in windows[:_MOST_WINDOWS]]
        return _unit(np.average(vectors, axis=0, weights=weights))

    def _run(self, ids: list[int]) -> npt.NDArray[np.float32]:
        assert self._words is not None  # noqa: S101 - _load ran
        tokens = [self._words.cls_id, *ids, self._words.sep_id]
        output = self._session.run(["last_hidden_state"], onnx.bert_input(tokens))[0]
        first: npt.NDArray[np.float32] = output[0, 0]  # CLS pooling
        return _unit(first)


def _unit(vector: npt.NDArray[np.floating[Any]]) -> Vector:
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def open_local(options: ProviderOptions, *, cache: Path) -> LocalProvider:
    """Return the default provider; nothing is loaded or fetched yet."""
    return LocalProvider(
        ARCTIC_S,
        configured=options.model_path,
        cache=options.model_cache or cache,
        threads=onnx.threads(),
    )
