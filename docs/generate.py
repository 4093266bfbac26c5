"""Write the parts of the documentation that come from the code.

usage: python docs/generate.py          write them
       python docs/generate.py --check  name those that are out of date, and exit 1 if there are any
"""

from __future__ import annotations

import sys
from pathlib import Path

from generators.api_page import api_page
from generators.cli_page import cli_page
from generators.man_page import man_page
from generators.settings_page import settings_page

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SETTINGS = DOCS / "settings.md"


def pages() -> dict[Path, str]:
    """Return what each generated file should hold."""
    return {
        SETTINGS: settings_page(SETTINGS.read_text(encoding="utf-8")),
        DOCS / "reference" / "cli.md": cli_page(),
        DOCS / "reference" / "api.md": api_page(ROOT / "src" / "recollect"),
        ROOT / "man" / "recollect.1": man_page(),
    }


def main() -> int:
    """Write or check."""
    stale = [
        (file, text)
        for file, text in pages().items()
        if not file.is_file() or file.read_text(encoding="utf-8") != text
    ]
    if "--check" in sys.argv:
        for file, _ in stale:
            print(f"{file.relative_to(ROOT)} is out of date: run python docs/generate.py")
        return int(bool(stale))
    for file, text in stale:
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
