"""Ollama's format: docs.ollama.com/api/embed, docs.ollama.com/api/errors.

An error is `{"error": "…"}`. The words are those of the server's routes, github.com/ollama/ollama.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.vendors.strict import bad_inputs

if TYPE_CHECKING:
    from tests.vendors.server import Request
    from tests.vendors.strict import Refused

DIMENSIONS = {
    "nomic-embed-text": 768,
    "mxbai-embed-large": 1024,
    "all-minilm": 384,
    "bge-m3": 1024,
    "snowflake-arctic-embed": 1024,
    "embeddinggemma": 768,
}
CONTEXT_CHARS = 8192
TOO_LONG = "the input length exceeds the context length"


class OllamaFormat:
    def texts(self, request: Request) -> list[str]:
        given = request.body["input"]
        assert isinstance(given, list)
        return given

    def dimensions(self, request: Request) -> int:
        native = DIMENSIONS.get(str(request.body["model"]), 8)
        # What is longer than the model's own is not asked for, as the server sees it.
        return min(int(str(request.body.get("dimensions") or native)), native)

    def answer(self, request: Request, vectors: list[list[float]]) -> object:
        return {
            "model": request.body["model"],
            "embeddings": vectors,
            "total_duration": 14143917,
            "load_duration": 1019500,
            "prompt_eval_count": len(self.texts(request)),
        }

    def error(self, status: int, message: str) -> object:
        del status
        return {"error": message}

    def is_authorised(self, request: Request, key: str | None) -> bool:
        return key is None or request.headers.get("authorization") == f"Bearer {key}"

    def refusal(self, request: Request) -> Refused | None:
        body = request.body
        if not request.path.endswith("/api/embed"):
            return 404, "404 page not found"
        if (problem := bad_inputs(body.get("input"), most=10_000)) and "list" in problem:
            return 400, "invalid input type"
        if (model := str(body.get("model"))) not in DIMENSIONS:
            return 404, f"model '{model}' not found"
        longest = max(map(len, self.texts(request)), default=0)
        return (400, TOO_LONG) if not body.get("truncate") and longest > CONTEXT_CHARS else None

    def spent(self) -> tuple[int, object]:
        return 402, {"error": "your account has no usage left"}
