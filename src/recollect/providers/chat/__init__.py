"""Asking a language model for a text: one protocol, one file a vendor."""
