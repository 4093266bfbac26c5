"""Where do chunks, terms and vectors live? Protocols, RAM (defines them), SQLite, PostgreSQL."""
