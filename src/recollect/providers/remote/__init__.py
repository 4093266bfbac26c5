"""Talks to servers over HTTP, for any vendor."""
