"""Retrievers for other frameworks: one file per framework, imported only by its users."""
