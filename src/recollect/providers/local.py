"""The default provider: a small model on this machine's CPU, through onnxruntime.

It also runs a user's own ONNX model; `providers/gguf.py` runs a GGUF file. Each text is run alone:
the model's int8 activations are scaled per batch, so a text's vector would otherwise depend on its
neighbours. Several texts run in parallel threads instead, which is also faster
(docs/decisions/vectors.md).
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.errors import ModelUnavailableError, ProviderSetupError
from recollect.providers.base import Limits, QuestionWords
from recollect.providers.gguf import SUFFIX, open_gguf
from recollect.providers.models.bert import (
    WordPiece,
    bert_input,
    open_session,
    thread_count,
    token_output,
)
from recollect.providers.models.files import changed_files, read_model, resolve
from recollect.providers.models.manifest import ARCTIC_S, MODELS, EmbeddingManifest
from recollect.providers.models.onnx_folder import describe, is_own, weights_in
from recollect.records import dataclass
from recollect.text.scripts import latin_share
from recollect.text.terms import query_terms
from recollect.types import Fingerprint, Role, silent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from recollect.providers.base import Provider
    from recollect.providers.options import ProviderOptions
    from recollect.types import Background, Progress, Vector, Vectors

_TEXTS = 32  # the most that is lost if the process is killed
_MOST_WINDOWS = 8  # model inputs per text, about 4,000 words; the rest is cut
_MOST_CODES = 512  # per text: 24 KB


class LocalProvider:
    """Embeds with an ONNX model of the BERT family; loads it on first use."""

    def __init__(
        self,
        manifest: EmbeddingManifest,
        *,
        configured: Path | None,
        cache: Path,
    ) -> None:
        self._manifest = manifest
        self._configured = configured
        self._cache = cache
        self._files: tuple[Path, Mapping[str, bytes]] | None = None
        self._model: _LoadedModel | None = None
        self._loading = threading.RLock()

    @property
    def fingerprint(self) -> Fingerprint:
        known = self._manifest
        return Fingerprint("local", known.id, known.dimensions, known.identity)

    @property
    def background(self) -> Background | None:
        return self._manifest.background

    @property
    def limits(self) -> Limits:
        # The texts of a request already run in parallel.
        return Limits(texts=_TEXTS)

    def reads(self, text: str) -> float:
        return latin_share(text) if self._manifest.reads_latin_only else 1.0

    def prepare(self, *, progress: Progress, retry: bool) -> None:
        with self._loading:  # threads that come at once share one model
            if self._model is None and self._files is None:
                folder = resolve(
                    self._manifest,
                    configured=self._configured,
                    cache=self._cache,
                    progress=progress,
                    retry=retry,
                )
                self._files = folder, read_model(self._manifest, folder)

    @property
    def word_background(self) -> Background | None:
        return self._manifest.word_background

    def embed(self, texts: Sequence[str], *, role: Role) -> Vectors:
        return self._stacked([each.vector for each in self._read_all(texts, role=role)])

    def embed_worded(self, texts: Sequence[str]) -> tuple[Vectors, list[bytes]]:
        read = self._read_all(texts, role=Role.DOCUMENT)
        return self._stacked([each.vector for each in read]), [each.codes() for each in read]

    def embed_question(self, text: str) -> tuple[Vector, QuestionWords]:
        [read] = self._read_all([text], role=Role.QUERY)
        return read.vector, read.question()

    def _stacked(self, vectors: list[Vector]) -> Vectors:
        if not vectors:
            return np.zeros((0, self._manifest.dimensions or 0), dtype=np.float32)
        return np.stack(vectors)

    def close(self) -> None:
        self._model = None

    def _load(self) -> _LoadedModel:
        with self._loading:
            self.prepare(progress=silent, retry=False)
            if self._model is None:
                assert self._files is not None  # noqa: S101 - prepare either sets it or raises
                self._model = _open_model(*self._files, self._manifest)
                self._files = None
            return self._model

    def _read_all(self, texts: Sequence[str], *, role: Role) -> list[_Read]:
        if not texts:
            return []
        model = self._load()
        prefix = (
            self._manifest.query_prefix if role is Role.QUERY else self._manifest.document_prefix
        )
        if len(texts) == 1:
            return [self._read(model, prefix, texts[0])]
        with ThreadPoolExecutor(thread_count()) as pool:
            return list(pool.map(lambda text: self._read(model, prefix, text), texts))

    def _read(self, model: _LoadedModel, prefix: str, text: str) -> _Read:
        # A prefix from a model folder must leave room for the text.
        lead = model.words.ids(prefix)[: self._manifest.max_tokens // 2]
        words = model.words.words(text)
        body = [number for _, ids in words for number in ids]
        room = self._manifest.max_tokens - 2 - len(lead)
        windows = [body[at : at + room] for at in range(0, max(len(body), 1), room)]
        windows = windows[:_MOST_WINDOWS]
        runs = [
            model.run([model.words.cls_id, *lead, *window, model.words.sep_id])
            for window in windows
        ]
        vectors = [self._pooled(tokens) for tokens in runs]
        # Weighted by length: a last window of three words must not count as much as a full one.
        weights = [max(len(window), 1) for window in windows]
        return _Read(
            vector=_unit(np.average(vectors, axis=0, weights=weights)),
            ids=body,
            words=[word for word, ids in words for _ in ids],
            tokens=np.concatenate([tokens[1 + len(lead) : -1] for tokens in runs]),
        )

    def _pooled(self, tokens: npt.NDArray[np.float32]) -> Vector:
        return _unit(tokens[0] if self._manifest.pooling == "cls" else tokens.mean(axis=0))


@dataclass(frozen=True, slots=True)
class _Read:
    """A text as the model has read it."""

    vector: Vector
    ids: list[int]
    words: list[str]
    """The word that each id is a piece of."""
    tokens: npt.NDArray[np.float32]
    """One state per id, of those that fit into the model."""

    def question(self) -> QuestionWords:
        """Return its words with their states."""
        states = self.tokens / np.linalg.norm(self.tokens, axis=1, keepdims=True)
        return QuestionWords(tuple(self.words[: len(states)]), states)

    def codes(self) -> bytes:
        """Return one bit per dimension for each informative piece of a word.

        Equal pieces share one, the signs of the sum of their states.
        """
        words = self.words[: len(self.tokens)]
        telling = [place for place, word in enumerate(words) if _is_telling(word)]
        places = np.array(telling or range(len(words)), dtype=np.intp)
        if not len(places):
            return np.packbits(self.vector > 0).tobytes()
        ids = np.array(self.ids)[places]
        order = np.argsort(ids, kind="stable")
        states = self.tokens[places[order]]
        states = states / np.linalg.norm(states, axis=1, keepdims=True)
        starts = np.flatnonzero(np.diff(ids[order], prepend=-1))
        sums = np.add.reduceat(states, starts, axis=0)[:_MOST_CODES]
        return np.packbits(sums > 0, axis=1).tobytes()


@lru_cache(maxsize=1 << 16)
def _is_telling(word: str) -> bool:
    """Return whether a word is neither a function word nor punctuation."""
    found = query_terms(word)
    return not found.stop.issuperset(found.terms)


@dataclass(frozen=True, slots=True)
class _LoadedModel:
    """A loaded model with its inputs and output."""

    path: Path
    session: Any
    words: WordPiece
    inputs: frozenset[str]
    output: str

    def run(self, ids: list[int]) -> npt.NDArray[np.float32]:
        """Return one vector per token."""
        given = {name: array for name, array in bert_input(ids).items() if name in self.inputs}
        try:
            found: npt.NDArray[np.float32] = self.session.run([self.output], given)[0][0]
        except Exception as error:  # onnxruntime's errors have no common class
            raise _unusable(self.path, f"onnxruntime fails on {len(ids)} tokens") from error
        return found


def _open_model(
    folder: Path, files: Mapping[str, bytes], manifest: EmbeddingManifest
) -> _LoadedModel:
    """Open a model; the files of a user's own, whose weights may be in several, are not given."""
    path, dimensions = weights_in(folder), manifest.dimensions
    try:
        session = open_session(files.get("model.onnx") or path)
    except Exception as error:  # onnxruntime's errors have no common class
        raise _unusable(path, "onnxruntime cannot load it") from error
    inputs = frozenset(each.name for each in session.get_inputs())
    unknown = inputs.difference(bert_input([0]))
    if unknown:
        raise _unusable(path, f"it needs the unknown input {', '.join(sorted(unknown))}")
    shapes = {each.name: each.shape for each in session.get_outputs()}
    output = token_output(session)
    if output is None:
        raise _unusable(path, "none of its outputs has one vector per token")
    found = shapes[output][-1]
    if isinstance(found, int) and dimensions not in (None, found):
        raise _unusable(path, f"it gives {found} dimensions, not {dimensions}")
    words = WordPiece.from_bytes(files.get("vocab.txt") or (folder / "vocab.txt").read_bytes())
    return _LoadedModel(path, session, words, inputs, output)


def _unusable(path: Path, reason: str) -> ModelUnavailableError:
    return ModelUnavailableError(
        f"The model {path} cannot be used: {reason}.",
        action="Set local.model_path to an ONNX export of a BERT embedding model for the task "
        "feature-extraction, or remove the setting.",
    )


def _unit(vector: npt.NDArray[np.floating[Any]]) -> Vector:
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def open_local(options: ProviderOptions, *, cache: Path) -> Provider:
    """Return the provider of the default model or the user's own; nothing is downloaded yet.

    Raises:
        ModelUnavailableError: the user's own model cannot be used.
        ProviderSetupError: no local model has that name.

    """
    path = options.model_path.expanduser() if options.model_path else None
    if path is not None and path.suffix.lower() == SUFFIX:
        return open_gguf(path)
    cache = options.model_cache or cache
    if path is not None and is_own(path):
        return LocalProvider(describe(path), configured=path, cache=cache)
    if options.model not in (None, ARCTIC_S.id):
        raise ProviderSetupError(
            f"There is no local model named {options.model}.",
            action="Leave `model` unset; local.model_path takes a GGUF file or an ONNX folder.",
        )
    return LocalProvider(ARCTIC_S, configured=path, cache=cache)


def changed_models(options: ProviderOptions, *, cache: Path) -> Iterator[ModelUnavailableError]:
    """Hash every model file that is there, whoever uses it; yield which were changed."""
    for manifest in MODELS:
        yield from changed_files(manifest, (options.model_cache or cache) / manifest.folder)
    path = options.model_path.expanduser() if options.model_path else None
    if path is not None and path.suffix.lower() != SUFFIX and not is_own(path):
        yield from changed_files(ARCTIC_S, path)
