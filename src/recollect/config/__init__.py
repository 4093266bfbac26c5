"""What is set, and where was it set? Files and environment become one frozen Config."""

from recollect.config.load import Config, load_config
from recollect.config.paths import Places, agent_of, find_workspace
from recollect.config.setup import Setup

__all__ = ["Config", "Places", "Setup", "agent_of", "find_workspace", "load_config"]
