"""A retriever for LlamaIndex: a Memory's hits as nodes with scores.

from recollect.retrievers.llama_index import RecollectRetriever

with RecollectRetriever.open("path/to/workspace", max_results=4) as retriever:
    nodes = retriever.retrieve("what did we decide about backups?")
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self, Unpack

try:
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, TextNode
except ModuleNotFoundError as error:
    if error.name not in {"llama_index", "llama_index.core"}:
        raise
    raise ImportError(
        "The LlamaIndex retriever needs llama-index-core. "
        "Install the extra in Recollect's checkout: pip install '.[llama-index]'",
        name=error.name,
    ) from error

from recollect.memory import Memory
from recollect.retrievers.asking import Narrowed, ask

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import TracebackType

    from llama_index.core.schema import QueryBundle

    from recollect.retrievers.asking import Passage

_TOLD_TO_MODELS = ("citation", "heading", "date", "speaker", "time", "superseded_by")
"""Metadata that helps a language model to answer; the rest is for programs."""


class RecollectRetriever(BaseRetriever):
    """Finds nodes in a Memory, from any thread; `aretrieve` never blocks the event loop.

    A node's text is the whole chunk. Its metadata has path, start_line, end_line, citation, score,
    source, heading, date and id; `confident`, false when nothing found stands out from noise; and
    `degraded`, a sentence when part of the search did not run, which is also logged.
    """

    def __init__(self, memory: Memory, **narrowed: Unpack[Narrowed]) -> None:
        """Store the parts.

        Args:
            memory: stays open until its owner closes it.
            narrowed: narrow every question, as in `Memory.search`.

        """
        super().__init__()
        self.memory = memory
        self.narrowed = narrowed

    @classmethod
    def open(
        cls,
        workspace: Path | str | None = None,
        *,
        settings: Mapping[str, object] | None = None,
        environ: Mapping[str, str] | None = None,
        **narrowed: Unpack[Narrowed],
    ) -> Self:
        """Open the memory of a workspace for a retriever that is closed with it.

        Args:
            workspace: as in `Memory.open`, like the next two.
            settings: win over every file and variable.
            environ: read instead of the process' environment.
            narrowed: narrow every question, as in `Memory.search`.

        Raises:
            WorkspaceError: there is no such folder.
            ConfigError: a setting is wrong.
            StoreError: the index cannot be used.

        """
        memory = Memory.open(workspace, settings=settings, environ=environ)
        return cls(memory, **narrowed)

    def close(self) -> None:
        """Close the memory."""
        self.memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = ask(self.memory, query_bundle.query_str, narrowed=self.narrowed)
        return [_node(passage) for passage in found]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def _node(passage: Passage) -> NodeWithScore:
    metadata = dict(passage.metadata)
    told = {key for key in _TOLD_TO_MODELS if metadata.get(key)}
    node = TextNode(
        id_=passage.id,
        text=passage.text,
        metadata=metadata,
        excluded_llm_metadata_keys=sorted(metadata.keys() - told),
        excluded_embed_metadata_keys=sorted(metadata),
    )
    return NodeWithScore(node=node, score=passage.score)
