"""Write THIRD_PARTY.md: the licences of what an installation of Recollect consists of.

usage: python -m tools.licences
"""

from __future__ import annotations

from recollect.providers.models.manifest import MODELS
from tools.packages import ROOT, declared, packages

PAGE = ROOT / "THIRD_PARTY.md"
_HEAD = """# Third-party software

Written by `make licences`. Recollect contains none of this: pip installs the packages, with their
licence texts, and the models are downloaded on first use. `make sbom` adds versions and hashes.
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
