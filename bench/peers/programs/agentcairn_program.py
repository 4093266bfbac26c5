"""agentcairn, through the functions of its own commands, with vectors from the server."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from bench.peers.programs.base import MODEL, WANTED, Program

if TYPE_CHECKING:
    from bench.speed.meter import Watch


class AgentCairn(Program):
    """The notes as its vault; its reranker is off, because its model comes from a hub."""

    def open(self) -> None:
        """Name the server, and give DuckDB the extension that it would download."""
        os.environ |= {
            "HOME": str(self.place.folder),
            "CAIRN_EMBED_MODEL": MODEL,
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": self.place.url,
        }
        import duckdb  # noqa: PLC0415 - it reads HOME
        from cairn.embed import get_embedder  # noqa: PLC0415 - it reads the variables

        package = Path(str(import_module("duckdb_extension_fts").__file__)).parent
        (extension,) = package.rglob("fts.duckdb_extension")
        duckdb.connect().execute(f"INSTALL '{extension}'")
        self._embedder = get_embedder("openai")
        self._index = str(self.place.folder / "index.duckdb")

    def sync(self) -> None:
        """Index what is new, as `cairn reindex` does."""
        from cairn.index import open_index, reconcile  # noqa: PLC0415 - as above

        model = self._embedder
        database = open_index(self._index, dim=model.dim, model_id=model.model_id)
        reconcile(database, str(self.place.workspace), model)
        database.close()

    def search(self, question: str, watch: Watch) -> list[str]:
        """Search, as `cairn recall --no-rerank` does."""
        del watch
        from cairn.search.engine import open_search, search  # noqa: PLC0415 - as above

        database = open_search(self._index)
        hits = search(database, question, embedder=self._embedder, k=WANTED)
        rows = database.execute("SELECT permalink, path FROM notes").fetchall()
        database.close()
        top = f"{self.place.workspace}/"
        paths = {permalink: path.removeprefix(top) for permalink, path in rows}
        return [paths[hit.permalink] for hit in hits]
