"""How does a question become hits? legs, fuse, exact, decay, mmr, cut: one file a step."""
