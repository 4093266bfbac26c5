"""How do agents get to know Recollect? Their configuration files, changed and changed back.

A file that someone keeps is edited as text: what was there stays as it was, comments included. What
was added is noted in the home, so that it can be taken out again exactly.
"""

from recollect.install.agents import AGENTS, InstallScope
from recollect.install.run import Installed, Installer

__all__ = ["AGENTS", "InstallScope", "Installed", "Installer"]
