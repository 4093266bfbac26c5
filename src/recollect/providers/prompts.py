"""The prefixes that known models expect before a query and before a document.

A model that was trained with prefixes finds half as much without them, and servers do not add them.
"""

from __future__ import annotations

import re

from recollect.records import dataclass
from recollect.types import Role, digest_of


@dataclass(frozen=True, slots=True)
class Prompts:
    """Prefixes of texts, by role."""

    query: str = ""
    document: str = ""

    def apply(self, text: str, *, role: Role) -> str:
        """Return the text with its prefix."""
        return (self.query if role is Role.QUERY else self.document) + text

    @property
    def identity(self) -> str:
        """Return the part of a fingerprint that changes with the prompts."""
        if self == Prompts():
            return "plain"
        return digest_of(f"{self.query}\x1f{self.document}".encode())[:8]


_KNOWN: tuple[tuple[str, Prompts], ...] = (
    (r"nomic-embed-text", Prompts("search_query: ", "search_document: ")),
    (r"embeddinggemma", Prompts("task: search result | query: ", "title: none | text: ")),
    (
        r"arctic-embed|mxbai-embed",
        Prompts("Represent this sentence for searching relevant passages: "),
    ),
    (r"bge-.*-en", Prompts("Represent this sentence for searching relevant passages: ")),
    (r"(multilingual-)?e5-", Prompts("query: ", "passage: ")),
    (
        r"qwen3-embedding",
        Prompts(
            "Instruct: Given a web search query, retrieve relevant passages that answer the "
            "query\nQuery:"
        ),
    ),
)


def prompts_of(model: str) -> Prompts:
    """Return the prompts of a model, by its name."""
    return next((own for name, own in _KNOWN if re.search(name, model.lower())), Prompts())
