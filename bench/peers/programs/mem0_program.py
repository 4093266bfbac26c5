"""mem0 without a language model: every file is stored as one memory, as it is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bench.peers.programs.base import DIMENSIONS, MODEL, WANTED, Program, UnsupportedError

if TYPE_CHECKING:
    from bench.speed.meter import Watch

_USER = {"user_id": "bench"}


class Mem0(Program):
    """Its own class, with Qdrant in a folder."""

    def open(self) -> None:
        """Open the database; the language model that it wants to know is never asked."""
        os.environ |= {"MEM0_DIR": str(self.place.folder), "MEM0_TELEMETRY": "False"}
        from mem0 import Memory  # noqa: PLC0415 - it reads the variables when it is imported

        server = {"api_key": "none", "openai_base_url": self.place.url}
        stored = {"path": str(self.place.folder / "qdrant"), "on_disk": True}
        self.memory = Memory.from_config(
            {
                "llm": {"provider": "openai", "config": dict(server)},
                "embedder": {
                    "provider": "openai",
                    "config": {**server, "model": MODEL, "embedding_dims": DIMENSIONS},
                },
                "vector_store": {
                    "provider": "qdrant",
                    "config": {**stored, "embedding_model_dims": DIMENSIONS},
                },
                "history_db_path": str(self.place.folder / "history.db"),
            }
        )

    def build(self) -> None:
        """Add every file, with its path as metadata."""
        for file in sorted(self.place.workspace.rglob("*.md")):
            path = str(file.relative_to(self.place.workspace))
            text = file.read_text(encoding="utf-8")
            self.memory.add(text, **_USER, metadata={"path": path}, infer=False)

    def sync(self) -> None:
        """Refuse."""
        raise UnsupportedError("keeps no files")

    def search(self, question: str, watch: Watch) -> list[str]:
        """Search without a minimum score."""
        del watch
        found = self.memory.search(question, top_k=WANTED, filters=dict(_USER), threshold=0.0)
        return [row["metadata"]["path"] for row in found["results"]]

    def close(self) -> None:
        """Close the database."""
        self.memory.vector_store.client.close()
