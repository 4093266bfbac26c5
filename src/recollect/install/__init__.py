"""Writes the configuration of agents so that they start Recollect, and removes it again.

Everything else in the files stays. `undo` recognises the entries by what they start.
"""

from recollect.install.agents import AGENTS, PROJECT, InstallScope
from recollect.install.run import Installed, Installer

__all__ = ["AGENTS", "PROJECT", "InstallScope", "Installed", "Installer"]
