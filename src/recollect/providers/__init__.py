"""Models: providers embed texts, a reranker judges pairs, a chat writes; and the choice of one."""
