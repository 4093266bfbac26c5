"""Maps OpenClaw's settings to ours."""

from recollect.config.openclaw.mapper import Carried, Unsupported
from recollect.config.openclaw.provider import PROVIDER_SETTINGS
from recollect.config.openclaw.read import default_file
from recollect.config.openclaw.translate import Translation, translate

__all__ = [
    "PROVIDER_SETTINGS",
    "Carried",
    "Translation",
    "Unsupported",
    "default_file",
    "translate",
]
