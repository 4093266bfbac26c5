"""Turns files, environment and arguments into one frozen Config."""
