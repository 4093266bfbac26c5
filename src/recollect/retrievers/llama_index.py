"""A LlamaIndex retriever that returns a Memory's hits as nodes with scores.

from recollect.retrievers.llama_index import RecollectRetriever

with RecollectRetriever.open("path/to/workspace", max_results=4) as retriever:
    nodes = retriever.retrieve("what did we decide about backups?")
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

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

from recollect.retrievers.retrieve import OwnsMemory, retrieve
from recollect.types import SearchRequest

if TYPE_CHECKING:
    from llama_index.core.schema import QueryBundle

    from recollect.memory import Memory
    from recollect.retrievers.retrieve import Metadata
    from recollect.types import Hit

_SHOWN_TO_MODELS = ("citation", "heading", "date", "speaker", "time", "superseded_by", "also_in")
"""Metadata that helps a language model answer; the rest is for programs."""


class RecollectRetriever(OwnsMemory, BaseRetriever):
    """Searches a Memory, from any thread; `aretrieve` never blocks the event loop.

    A node's text is the whole chunk. Its metadata has path, start_line, end_line, citation, score,
    source, heading, date and id; `confident`, false for a weak match; and
    `degraded`, a sentence if part of the search did not run, which is also logged.
    """

    def __init__(
        self,
        memory: Memory,
        **arguments: Any,  # noqa: ANN401 - the fields of a SearchRequest
    ) -> None:
        """Store the memory, and fields of `SearchRequest` that apply to every query."""
        super().__init__()
        self.memory = memory
        self._request = SearchRequest("", **arguments)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = retrieve(self.memory, replace(self._request, query=query_bundle.query_str))
        return [_node(hit, metadata) for hit, metadata in hits]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def _node(hit: Hit, metadata: dict[str, Metadata]) -> NodeWithScore:
    shown = {key for key in _SHOWN_TO_MODELS if metadata.get(key)}
    node = TextNode(
        id_=str(metadata["id"]),
        text=hit.text,
        metadata=metadata,
        excluded_llm_metadata_keys=sorted(metadata.keys() - shown),
        excluded_embed_metadata_keys=sorted(metadata),
    )
    return NodeWithScore(node=node, score=hit.score)
