"""Write the parts of the documentation that come from the code.

usage: python docs/generate.py          write them
       python docs/generate.py --check  exit 1 if they are out of date
"""

from __future__ import annotations

import sys
from pathlib import Path

from recollect.config.schema import SETTINGS

SETTINGS_PAGE = Path(__file__).parent / "settings.md"
BEGIN = "<!-- generated: settings -->"
END = "<!-- end -->"


def settings_table() -> str:
    """Return the table of all settings."""
    rows = ["| setting | default | meaning | in `recollect.toml` |", "| --- | --- | --- | --- |"]
    for setting in SETTINGS.values():
        default = "unset" if setting.default is None else _shown(setting.default)
        allowed = "yes" if setting.is_project else "no"
        rows.append(f"| `{setting.key}` | {default} | {setting.about} | {allowed} |")
    return "\n".join(rows)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return str(value)


def rendered() -> str:
    """Return the settings page with its table as the code has it."""
    page = SETTINGS_PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{settings_table()}\n\n{END}{after}"


def main() -> int:
    """Write or check."""
    if "--check" in sys.argv:
        return int(rendered() != SETTINGS_PAGE.read_text(encoding="utf-8"))
    SETTINGS_PAGE.write_text(rendered(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
