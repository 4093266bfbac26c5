"""Mistral's format: docs.mistral.ai/api/endpoint/embeddings.

An error is `{"object": "error", "message", "type", "param", "code"}`; a body that is not as
described is answered 422 with `{"detail": [{"loc", "msg", "type"}]}`, as its OpenAPI file says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.vendors.strict import bad_inputs

if TYPE_CHECKING:
    from tests.vendors.server import Request
    from tests.vendors.strict import Refused

DIMENSIONS = {"mistral-embed": 1024, "codestral-embed": 1536}
MOST_DIMENSIONS = {"codestral-embed": 3072}
MOST_TOKENS = 16_384
CHARS_PER_TOKEN = 4
KINDS = {
    401: ("invalid_api_key", "1000"),
    404: ("no_route", None),
    413: ("invalid_request_prompt", "3210"),
    429: ("rate_limited", "1300"),
    500: ("internal_server_error", "1000"),
}


class MistralFormat:
    def texts(self, request: Request) -> list[str]:
        given = request.body["input"]
        assert isinstance(given, list)
        return given

    def dimensions(self, request: Request) -> int:
        body = request.body
        return int(str(body.get("output_dimension") or DIMENSIONS.get(str(body["model"]), 8)))

    def answer(self, request: Request, vectors: list[list[float]]) -> object:
        tokens = _tokens(self.texts(request))
        return {
            "id": "0",
            "object": "list",
            "data": [
                {"object": "embedding", "embedding": vector, "index": index}
                for index, vector in enumerate(vectors)
            ],
            "model": request.body["model"],
            "usage": {"prompt_tokens": tokens, "completion_tokens": 0, "total_tokens": tokens},
        }

    def error(self, status: int, message: str) -> object:
        if status == 422:
            return {"detail": [{"loc": ["body", "input"], "msg": message, "type": "value_error"}]}
        kind, code = KINDS.get(status, ("invalid_request_error", None))
        return {"object": "error", "message": message, "type": kind, "param": None, "code": code}

    def is_authorised(self, request: Request, key: str | None) -> bool:
        return key is None or request.headers.get("authorization") == f"Bearer {key}"

    def refusal(self, request: Request) -> Refused | None:
        body = request.body
        if not request.path.endswith("/embeddings"):
            return 404, "no Route matched with those values"
        if (model := str(body.get("model"))) not in DIMENSIONS:
            return 400, f"Invalid model: {model}"
        if problem := bad_inputs(body.get("input"), most=512):
            return 422 if "list" in problem else 400, problem
        if unknown := body.keys() - {"model", "input", "output_dimension"}:
            return 422, f"Extra inputs are not permitted: {sorted(unknown)}"
        problem = _too_much(self.texts(request), body.get("output_dimension"), model)
        return (400, problem) if problem else None

    def spent(self) -> tuple[int, object]:
        return 402, {
            "object": "error",
            "message": "Your account has no active subscription.",
            "type": "payment_required",
            "param": None,
            "code": None,
        }


def _too_much(texts: list[str], dimensions: object, model: str) -> str | None:
    if _tokens(texts) > MOST_TOKENS:
        return "Too many tokens overall, split into more batches."
    if isinstance(dimensions, int) and dimensions > MOST_DIMENSIONS.get(model, 0):
        return f"This model does not support output_dimension {dimensions}"
    return None


def _tokens(texts: list[str]) -> int:
    return sum(len(text) // CHARS_PER_TOKEN + 1 for text in texts)
