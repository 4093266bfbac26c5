"""Recollect and its peers behind the same few methods, one file per program."""
