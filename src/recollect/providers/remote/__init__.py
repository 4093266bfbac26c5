"""Embedding by servers: one way to send, retry, pace and check, whatever the vendor's format."""
