"""Which models read texts? Providers embed, a reranker judges; and the chain that chooses."""
