"""Maps OpenClaw's settings to ours."""

from recollect.config.openclaw.read import default_file
from recollect.config.openclaw.translate import (
    PROVIDER_SETTINGS,
    Carried,
    Translation,
    Unsupported,
    translate,
)

__all__ = [
    "PROVIDER_SETTINGS",
    "Carried",
    "Translation",
    "Unsupported",
    "default_file",
    "translate",
]
