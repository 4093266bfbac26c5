"""Ollama: embeddings and chat with models on your own machine, through its native API.

docs.ollama.com/api/embed, …/api/chat, …/api/errors. Ollama silently cuts the start of a prompt
longer than the context (docs.ollama.com/context-length), so each request names the context it
needs. Models that can think do so by default: docs.ollama.com/capabilities/thinking.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import urlsplit

from recollect.providers.base import Completion
from recollect.providers.remote.chat import ChatApi, count_in
from recollect.providers.remote.provider import EmbeddingService, open_listed
from recollect.providers.remote.server import ApiCall, Vendor

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from recollect.providers.options import ProviderOptions
    from recollect.providers.remote.chat import Prompt
    from recollect.providers.remote.provider import RemoteProvider

_HERE = "127.0.0.1"  # not `localhost`: Windows tries IPv6 first, and waits
_PORT = 11434
_LATEST = ":latest"


def url_of_host(value: str) -> str:
    """Return the URL that OLLAMA_HOST names; as an address of a server, 0.0.0.0 is this machine."""
    given = value.strip().strip("\"'")
    try:
        url = urlsplit(given if "://" in given else f"http://{given}")
        host, port = url.hostname or _HERE, url.port
    except ValueError:
        return given  # the first request says that it is not an address
    host = _HERE if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host  # noqa: S104
    standard = {"http": 80, "https": 443}.get(url.scheme, _PORT) if "://" in given else _PORT
    return f"{url.scheme}://{host}:{port or standard}{url.path.rstrip('/')}"


OLLAMA = Vendor(
    name="ollama",
    base_url=f"http://{_HERE}:{_PORT}",
    key_variable="OLLAMA_API_KEY",
    needs_key=False,
    url_variable="OLLAMA_HOST",
    url_of=url_of_host,
    start_action="Start it with `ollama serve`, or set {setting} to its address.",
    model_action="Run `ollama pull {model}`, or set `{setting}` to a model from `ollama list`.",
)


EMBEDDINGS = EmbeddingService(
    OLLAMA,
    default_model="nomic-embed-text",
    models={
        "nomic-embed-text": 768,
        "mxbai-embed-large": 1024,
        "all-minilm": 384,
        "bge-m3": 1024,
        "snowflake-arctic-embed": 1024,
        "embeddinggemma": 768,
    },
    most_texts=16,  # on a CPU a longer list would take longer than the time-out
    in_flight=1,
    path="api/embed",
    dimensions_field="dimensions",
    constants={"truncate": False},  # refuse texts that are too long instead of cutting them
    vectors_of=lambda response: list(response["embeddings"]),  # type: ignore[index]  # or raises
)


def open_ollama(options: ProviderOptions) -> RemoteProvider:
    """Return the provider; nothing is sent yet."""
    # A name without a tag means `latest`: both are the same space.
    model = options.model.removesuffix(_LATEST) if options.model else None
    return open_listed(EMBEDDINGS, replace(options, model=model))


_LEAST_CONTEXT = 4096
_MARGIN = 1.3  # our token count is an estimate, and the model's template adds some


class OllamaChatApi(ChatApi):
    """`POST /api/chat`."""

    vendor = OLLAMA
    default_model = "gemma3:4b"
    optional: ClassVar = {"think": r"think"}

    def request(self, prompt: Prompt, *, without: AbstractSet[str]) -> ApiCall:
        system = [{"role": "system", "content": prompt.system}] if prompt.system else []
        body: dict[str, object] = {
            "model": self.model,
            "messages": [*system, {"role": "user", "content": prompt.text}],
            "stream": False,
            "options": {
                "temperature": prompt.temperature,
                "num_predict": prompt.max_tokens,
                "num_ctx": _context_for(prompt),
            },
        }
        if "think" not in without:
            body["think"] = False
        return ApiCall("api/chat", body)

    def read(self, response: object) -> Completion:
        content = response["message"]["content"]  # type: ignore[index]  # another format raises
        if not isinstance(content, str) or not isinstance(response, dict):
            raise TypeError("the content is not text")
        return Completion(
            content,
            count_in(response, "prompt_eval_count"),
            count_in(response, "eval_count"),
            is_cut=response.get("done_reason") == "length",
        )


def _context_for(prompt: Prompt) -> int:
    """Return a context that fits everything, as a power of two: each new size reloads the model."""
    needed = int(prompt.tokens * _MARGIN) + prompt.max_tokens
    return max(_LEAST_CONTEXT, 1 << (needed - 1).bit_length())
