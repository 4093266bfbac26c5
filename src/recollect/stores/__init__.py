"""Where do chunks, terms and vectors live? A protocol, a RAM store that defines it, SQLite."""
