"""A server on loopback that speaks OpenAI's embeddings API, for programs that embed over HTTP."""

from __future__ import annotations

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import numpy.typing as npt


def serve(
    vectors_of: Callable[[list[str]], npt.NDArray[np.float32]], port: int = 0
) -> ThreadingHTTPServer:
    """Start a server that answers with the vectors of a function; port 0 takes a free one."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps(_answer(asked, vectors_of)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def _answer(
    asked: dict[str, object], vectors_of: Callable[[list[str]], npt.NDArray[np.float32]]
) -> dict[str, object]:
    given = asked["input"]
    texts = [str(text) for text in given] if isinstance(given, list) else [str(given)]
    # OpenAI's own clients ask for base64 unless they are told otherwise.
    is_packed = asked.get("encoding_format") == "base64"
    rows = [
        {
            "object": "embedding",
            "index": index,
            "embedding": base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii")
            if is_packed
            else vector.tolist(),
        }
        for index, vector in enumerate(vectors_of(texts))
    ]
    return {
        "object": "list",
        "data": rows,
        "model": asked.get("model", "given"),
        "usage": {"prompt_tokens": 0, "total_tokens": 0},
    }
