"""Measures search on your own questions, and finds settings that answer them better."""
