"""Turns files into stored chunks and vectors; `sync` is the orchestrator."""
