"""Maps OpenClaw's settings to ours."""

from recollect.config.openclaw.read import default_file
from recollect.config.openclaw.translate import (
    PROVIDER_SETTINGS,
    CarriedKey,
    Translation,
    translate,
)

__all__ = ["PROVIDER_SETTINGS", "CarriedKey", "Translation", "default_file", "translate"]
