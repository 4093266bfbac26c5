"""The measurement of other programs itself: what they are given, and how their hits are counted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).parents[2]


def run(script: str) -> object:
    done = subprocess.run(
        [sys.executable, "-c", dedent(script)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert 0 == done.returncode, done.stderr
    return json.loads(done.stdout)


def test_programs_get_vectors_over_http_and_questions_with_the_prefix_of_the_model() -> None:
    given = run(
        """
        import base64, json, urllib.request
        import numpy as np
        from bench.peers.vectors import Vectors
        from bench.speed.embedding_server import serve

        class Provider:
            def embed(self, texts, *, role):
                return np.array([[len(text), role == "query"] for text in texts], np.float32)

        def post(**asked):
            url = f"http://127.0.0.1:{server.server_port}/v1/embeddings"
            request = urllib.request.Request(url, json.dumps({"model": "m", **asked}).encode())
            with urllib.request.urlopen(request) as answer:
                return [row["embedding"] for row in json.load(answer)["data"]]

        vectors = Vectors(Provider(), ["who is on\\ncall?"])
        server = serve(vectors.of)
        asked = post(input=["a note", "who is on call?"])
        (packed,) = post(input="a note", encoding_format="base64")
        vectors.with_prefix = False
        plain = post(input=["who is on call?"])
        unpacked = np.frombuffer(base64.b64decode(packed), "<f4").tolist()
        print(json.dumps([asked, unpacked, plain, sorted(vectors.recognised)]))
        """
    )

    assert [[[6, 0], [15, 1]], [6, 0], [[15, 0]], ["who is on call?"]] == given


def test_a_document_counts_once_at_the_rank_of_its_best_hit() -> None:
    found = run(
        """
        import json
        from pathlib import Path
        from bench.peers.__main__ import documents_of
        from sets import Scoped

        scoped = Scoped("set", Path(), {"a.md": "A", "b.md": "B"}, [])
        print(json.dumps(documents_of(["b.md", "index.md", "a.md", "b.md"], scoped)))
        """
    )

    assert ["B", "A"] == found
