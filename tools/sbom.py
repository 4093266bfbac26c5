"""Print the software bill of materials of an installation: CycloneDX 1.6, as JSON.

usage: python -m tools.sbom > recollect.cdx.json

It lists the packages that this environment installs for Recollect, and the models that one of them
contains, with their hashes.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from recollect.providers.models.manifest import MODELS
from recollect.version import __version__
from tools.packages import declared, packages

if TYPE_CHECKING:
    from recollect.providers.models.manifest import Manifest
    from tools.packages import Package

_ROOT = "recollect"


def bill() -> dict[str, object]:
    """Return the bill."""
    found = packages()
    direct = sorted(f"pkg:pypi/{each.name.lower()}" for each in declared())
    by_name = {f"pkg:pypi/{each.name}": _ref(each) for each in found}
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": _ROOT,
                "name": _ROOT,
                "version": __version__,
                "licenses": [{"expression": "Apache-2.0"}],
            }
        },
        "components": [
            *map(_package, found),
            *map(_model, MODELS),
        ],
        "dependencies": [
            {"ref": _ROOT, "dependsOn": [by_name[each] for each in direct]},
            *(
                {
                    "ref": _ref(each),
                    "dependsOn": [by_name[f"pkg:pypi/{name}"] for name in each.needs],
                }
                for each in found
            ),
        ],
    }


def _ref(package: Package) -> str:
    return f"pkg:pypi/{package.name}@{package.version}"


def _package(package: Package) -> dict[str, object]:
    licences = [{"expression": package.licence}] if package.licence else []
    return {
        "type": "library",
        "bom-ref": _ref(package),
        "name": package.name,
        "version": package.version,
        "purl": _ref(package),
        "licenses": licences,
    }


def _model(manifest: Manifest) -> dict[str, object]:
    """Return a model with its files."""
    return {
        "type": "machine-learning-model",
        "bom-ref": manifest.id,
        "name": manifest.id,
        "scope": "required",
        "licenses": [{"license": {"name": manifest.licence}}],
        "components": [
            {
                "type": "file",
                "bom-ref": f"{manifest.id}/{file.name}",
                "name": file.name,
                "hashes": [{"alg": "SHA-256", "content": file.sha256}],
            }
            for file in manifest.files
        ],
    }


if __name__ == "__main__":
    json.dump(bill(), sys.stdout, indent=2)
    print()
