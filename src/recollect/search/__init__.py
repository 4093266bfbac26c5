"""How does a question become hits? `answer` is the whole answer, `pipeline` one search."""
