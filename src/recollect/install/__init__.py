"""Makes agents start Recollect; `undo` recognises the entries by what they start."""

from recollect.install.agents import AGENTS, PROJECT, InstallScope
from recollect.install.run import Installed, Installer

__all__ = ["AGENTS", "PROJECT", "InstallScope", "Installed", "Installer"]
