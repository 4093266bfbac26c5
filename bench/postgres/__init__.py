"""How the store in PostgreSQL behaves with many memories and with large ones."""
