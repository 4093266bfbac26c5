"""How do conversations become documents? find, tail, read, clean, redact, project, pack."""
