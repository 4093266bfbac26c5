"""The version, in one place."""

from os.path import dirname

__version__ = "0.1.0.dev0"
SHOWN = f"recollect, version {__version__}, from {dirname(__file__)}"  # noqa: PTH120 - pathlib is slow to load
"""A checkout and a wheel replace each other in one environment: the folder says which runs."""
