"""Embeds with a model in a GGUF file, through llama.cpp in the package `xllamacpp`.

That runs a server inside this process, on a loopback port that is protected by a random key. It
gets one slot: several texts in one pass would change each vector slightly.
"""

from __future__ import annotations

import base64
import secrets
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.errors import (
    ModelUnavailableError,
    ProviderSetupError,
    RequestRefusedError,
    VectorsRejectedError,
)
from recollect.providers.base import Limits
from recollect.providers.models.bert import thread_count
from recollect.providers.models.files import sample_digest
from recollect.providers.models.gguf_header import read_header
from recollect.providers.prompts import prompts_of
from recollect.text.scripts import latin_share
from recollect.types import Fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from recollect.providers.models.gguf_header import GgufHeader
    from recollect.providers.prompts import Prompts
    from recollect.types import Role, Vector, Vectors

SUFFIX = ".gguf"
_TEXTS = 32  # the most that is lost if the process is killed
_MOST_CONTEXT_TOKENS = 2048  # memory grows with its square; chunks are far shorter
_USUAL_CONTEXT_TOKENS = 512  # for a model that does not say
_MOST_WINDOWS = 16  # halves may be half empty: at least eight full contexts
_SHORTEST_HALF_CHARS = 16  # no model refuses a text this short for its length
_SILENT = -1  # llama.cpp's verbosity at which not even errors are printed


class GgufProvider:
    """Embeds with a GGUF file; loads it on first use."""

    background = None  # measured with the first vectors

    def __init__(
        self, path: Path, *, header: GgufHeader, fingerprint: Fingerprint, prompts: Prompts
    ) -> None:
        self._path = path
        self._header = header
        self.fingerprint = fingerprint
        # With one slot, parallel requests would only wait.
        self.limits = Limits(texts=_TEXTS)
        self._prompts = prompts
        self._lock = threading.Lock()
        self._server: Any = None

    def reads(self, text: str) -> float:
        return latin_share(text) if self._header.reads_latin_only else 1.0

    def prepare(self) -> None:
        _llama()
        if not self._header.embeds:
            raise ModelUnavailableError(
                f"{self._path} has no embedding model: it does not say how to pool tokens into one "
                "vector.",
                action="Set local.model_path to a GGUF file of an embedding model.",
            )

    def embed(self, texts: Sequence[str], *, role: Role) -> Vectors:
        if not texts:
            return np.zeros((0, self.fingerprint.dimensions or 0), dtype=np.float32)
        server = self._load()
        prefix = self._prompts.apply("", role=role)
        return np.stack([_joined(_parts(server, prefix, text, _MOST_WINDOWS)) for text in texts])

    def close(self) -> None:
        with self._lock:
            self._server = None

    def _load(self) -> Any:  # noqa: ANN401 - xllamacpp has no types
        with self._lock:
            if self._server is None:
                self.prepare()
                self._server = _start(self._path, self._header)
            return self._server


def _llama() -> Any:  # noqa: ANN401 - xllamacpp has no types
    try:
        import xllamacpp  # noqa: PLC0415 - 40 ms and an optional package
    except ImportError as error:
        raise ProviderSetupError(
            "A GGUF model needs the package xllamacpp.",
            action="Install the extra in Recollect's checkout: pip install '.[gguf]'",
        ) from error
    return xllamacpp


def _start(path: Path, header: GgufHeader) -> Any:  # noqa: ANN401
    """Load the model; the file determines the pooling."""
    llama = _llama()
    context = min(header.context_tokens or _USUAL_CONTEXT_TOKENS, _MOST_CONTEXT_TOKENS)
    params = llama.CommonParams()
    params.model.path = str(path)
    params.embedding = True
    params.verbosity = _SILENT
    params.n_parallel = 1
    # A text is pooled from one pass, so a pass must fit the whole context.
    params.n_ctx = params.n_batch = params.n_ubatch = context
    for cpu in (params.cpuparams, params.cpuparams_batch):
        # Half of the cores: llama.cpp's threads spin while they wait for each other. With one
        # thread per core, a busy machine embeds five times slower and answers a question in 150 ms
        # instead of 7.
        cpu.n_threads = max(thread_count() // 2, 1)
        cpu.poll = 0  # waiting for the next text must not use a core
    # Earlier texts must be neither kept in memory nor reused.
    params.cache_ram_mib = 0
    params.cache_prompt = False
    params.warmup = False
    params.fit_params = False
    params.api_keys = [secrets.token_hex(32)]
    params.endpoint_slots = False
    params.ui = False
    params.n_threads_http = 1
    try:
        return llama.Server(params)
    except RuntimeError as error:
        raise ModelUnavailableError(
            f"llama.cpp cannot load {path} (architecture {header.architecture}).",
            action="Download the file again, or upgrade with pip install -U xllamacpp.",
        ) from error


def _parts(
    server: Any,  # noqa: ANN401
    prefix: str,
    text: str,
    most: int,
) -> list[tuple[Vector, int]]:
    """Embed a text whole, or in up to `most` parts, each with its number of tokens.

    Only the model's tokenizer knows how long a text is, and an attempt costs 1 ms.
    """
    # A lone surrogate cannot be sent; it becomes a question mark.
    sendable = (prefix + text).encode("utf-8", "replace").decode("utf-8")
    answer = server.handle_embeddings({"input": sendable, "encoding_format": "base64"})
    if "error" not in answer:
        raw = base64.b64decode(answer["data"][0]["embedding"])
        vector = np.frombuffer(raw, dtype="<f4").astype(np.float32)
        return [(vector, max(int(answer["usage"]["prompt_tokens"]), 1))]
    if len(text) < _SHORTEST_HALF_CHARS:
        raise RequestRefusedError(
            f"llama.cpp refused a text: {answer['error'].get('message')}",
            action="Choose another model in local.model_path.",
        )
    half = len(text) // 2
    middle = text.rfind(" ", half // 2, half) + 1 or half  # between words, if it has any
    found = _parts(server, prefix, text[:middle], most)
    if len(found) < most:
        found += _parts(server, prefix, text[middle:], most - len(found))
    return found


def _joined(parts: Sequence[tuple[Vector, int]]) -> Vector:
    """Return the mean of the parts, weighted by length."""
    vectors, tokens = zip(*parts, strict=True)
    mean = np.average(vectors, axis=0, weights=tokens)
    norm = float(np.linalg.norm(mean))
    if not np.isfinite(norm) or norm == 0.0:
        raise VectorsRejectedError(
            "The GGUF model gave a vector of zeros or of values that are not finite.",
            action="Download the file again, or choose another model in local.model_path.",
        )
    return (mean / norm).astype(np.float32)


def open_gguf(path: Path) -> GgufProvider:
    """Return the provider of a GGUF file; its weights are not loaded yet."""
    header = read_header(path)
    # Either may name the model: names are entered by hand, and files are renamed.
    prompts = prompts_of(f"{header.name or ''} {path.stem}".replace(" ", "-"))
    identity = f"{prompts.identity}-{sample_digest(path)[:12]}"
    fingerprint = Fingerprint("local", path.stem, header.dimensions, identity)
    return GgufProvider(path, header=header, fingerprint=fingerprint, prompts=prompts)
