"""Measures search on your own questions."""
