"""Keeps a store fresh while others search it: the watcher and the worker."""
