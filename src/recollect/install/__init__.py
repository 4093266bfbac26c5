"""Writes the configuration of agents so that they start Recollect, and removes it again.

Files are edited as text, so everything else in them stays as it was. What was added is recorded in
the home, so that exactly that can be removed.
"""

from recollect.install.agents import AGENTS, InstallScope
from recollect.install.run import Installed, Installer

__all__ = ["AGENTS", "InstallScope", "Installed", "Installer"]
