"""Write THIRD_PARTY.md: the licences of what an installation of Recollect consists of.

usage: python -m tools.licences
"""

from __future__ import annotations

from recollect.providers.models.manifest import MODELS
from tools.packages import ROOT, declared, packages

PAGE = ROOT / "THIRD_PARTY.md"
_HEAD = """# Third-party software

Written by `make licences`. pip installs the packages, with their licence texts; the models are in
`models/` and its package. `make sbom` adds versions and hashes.
"""


def rows() -> list[str]:
    """Return one row per package of this environment."""
    direct = {each.name.lower() for each in declared()}
    return [
        f"| {each.name} | {each.licence} | {'yes' if each.name in direct else ''} |"
        for each in packages()
    ]


def page() -> str:
    """Return the page."""
    return "\n".join(
        [
            _HEAD,
            "| package | licence | used directly |",
            "| --- | --- | --- |",
            *rows(),
            "",
            "| model | licence |",
            "| --- | --- |",
            *(f"| {each.id} | {each.licence} |" for each in MODELS),
            "",
        ]
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
