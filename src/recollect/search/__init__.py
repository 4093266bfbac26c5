"""How does a question become hits? `answer` has the stages in their order, one file each."""
