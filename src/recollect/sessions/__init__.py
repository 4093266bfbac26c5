"""How conversations become documents: find transcripts, read, clean, redact, project, pack."""
