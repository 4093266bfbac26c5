"""Answer from memory with LlamaIndex: a query engine over a memory.

usage: pip install ./models '.[llama-index]'
       python examples/llama_index_rag.py "how do we keep backups safe?"
"""

from __future__ import annotations

import sys
from pathlib import Path

from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine

from recollect.retrievers.llama_index import RecollectRetriever

WORKSPACE = Path(__file__).parent / "workspace"


def main(question: str) -> None:
    """Show the answer and its sources."""
    with RecollectRetriever.open(WORKSPACE, max_results=3) as retriever:
        # MockLLM answers with its prompt: replace it with your model.
        engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())
        response = engine.query(question)
    print(response)
    for found in response.source_nodes:
        print(f"{found.score:.2f}", found.node.metadata["citation"])


if __name__ == "__main__":
    if not sys.argv[1:]:
        print('usage: python examples/llama_index_rag.py "QUESTION"', file=sys.stderr)
        raise SystemExit(2)
    main(" ".join(sys.argv[1:]))
