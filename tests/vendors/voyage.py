"""Voyage's format: docs.voyageai.com/reference/embeddings-api; docs.voyageai.com/docs/error-codes.

An error is `{"detail": "…"}`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.vendors.strict import bad_inputs

if TYPE_CHECKING:
    from tests.vendors.server import Request
    from tests.vendors.strict import Refused

MODELS = {
    "voyage-4-large": 120_000,
    "voyage-4": 320_000,
    "voyage-4-lite": 1_000_000,
    "voyage-3-large": 120_000,
    "voyage-3.5": 320_000,
    "voyage-3.5-lite": 1_000_000,
    "voyage-code-3": 120_000,
    "voyage-finance-2": 120_000,
    "voyage-law-2": 120_000,
}
"""Tokens a request."""
CONTEXT_TOKENS = 32_000
CHARS_PER_TOKEN = 4


class VoyageFormat:
    def texts(self, request: Request) -> list[str]:
        given = request.body["input"]
        assert isinstance(given, list)
        return given

    def dimensions(self, request: Request) -> int:
        return int(str(request.body.get("output_dimension") or 1024))

    def answer(self, request: Request, vectors: list[list[float]]) -> object:
        tokens = sum(map(_tokens, self.texts(request)))
        rows = [
            {"object": "embedding", "embedding": vector, "index": index}
            for index, vector in enumerate(vectors)
        ]
        return {
            "object": "list",
            "data": rows[::-1],  # the index says the order; a reader of the list would err
            "model": request.body["model"],
            "usage": {"total_tokens": tokens},
        }

    def error(self, status: int, message: str) -> object:
        del status
        return {"detail": message}

    def is_authorised(self, request: Request, key: str | None) -> bool:
        return key is None or request.headers.get("authorization") == f"Bearer {key}"

    def refusal(self, request: Request) -> Refused | None:
        body = request.body
        if not request.path.endswith("/embeddings"):
            return 404, "Not Found"
        if (model := str(body.get("model"))) not in MODELS:
            return 400, f"Model {model} is not supported. Supported models are {list(MODELS)}."
        if problem := bad_inputs(body.get("input"), most=1000):
            return 400, problem
        problem = _wrong_field(body) or _too_long(self.texts(request), body, MODELS[model])
        return (400, problem) if problem else None

    def spent(self) -> tuple[int, object]:
        return 402, {"detail": "Payment required: the free tokens of this account are used up."}


def _tokens(text: str) -> int:
    return len(text) // CHARS_PER_TOKEN + 1


def _wrong_field(body: dict[str, object]) -> str | None:
    known = {
        "input_type": (None, "query", "document"),
        "truncation": (None, True, False),
        "output_dimension": (None, 256, 512, 1024, 2048),
    }
    for name, values in known.items():
        if body.get(name) not in values:
            return f"Value {body[name]!r} provided for parameter {name} is not supported."
    unknown = body.keys() - known.keys() - {"model", "input", "output_dtype", "encoding_format"}
    return f"Argument {sorted(unknown)} is not supported by the API." if unknown else None


def _too_long(texts: list[str], body: dict[str, object], most: int) -> str | None:
    sizes = [_tokens(text) for text in texts]
    if body.get("truncation") is False and max(sizes) > CONTEXT_TOKENS:
        return f"The example at index 0 has too many tokens: {max(sizes)} > {CONTEXT_TOKENS}."
    if sum(sizes) > most:
        return (
            f"Request to model '{body['model']}' failed. The max allowed tokens per submitted "
            f"batch is {most}. Your batch has {sum(sizes)} tokens after truncation."
        )
    return None
