"""Starts the server: a bundle has to name a file."""

from recollect.__main__ import start

start()
