"""Measures search on your own questions, and reports what in a memory needs care."""
