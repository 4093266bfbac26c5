"""How do conversations become documents? find, tail, read a format, clean, redact, project, pack."""
