"""docs/settings.md: the table of all settings, inside a page written by hand."""

from __future__ import annotations

from generators.marks import filled
from recollect.config.schema import SETTINGS


def settings_page(page: str) -> str:
    """Return the page with its table as the code has it."""
    return filled(page, "settings", with_text=_table())


def _table() -> str:
    rows = ["| setting | default | meaning | in `recollect.toml` |", "| --- | --- | --- | --- |"]
    for setting in SETTINGS.values():
        default = "unset" if setting.default is None else _shown(setting.default)
        allowed = "no" if setting.user_only else "yes"
        rows.append(f"| `{setting.key}` | {default} | {setting.about} | {allowed} |")
    return "\n".join(rows)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return str(value)
