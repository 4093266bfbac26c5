"""How do programs reach a memory over HTTP? A table of operations: read, described, served."""
