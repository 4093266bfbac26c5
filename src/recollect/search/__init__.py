"""How does a question become hits? legs, fuse, exact, decay, rerank, mmr, cut: one file a step."""
