"""Where do chunks, terms and vectors live? Protocols, a RAM store that defines them, SQLite."""
