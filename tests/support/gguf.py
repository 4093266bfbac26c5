"""A small GGUF model that a package contains, for tests of llama.cpp."""

from __future__ import annotations

from recollect.providers.models.manifest import Manifest, ModelFile, Wheel

_FILE = "all-MiniLM-L6-v2-Q8_0.gguf"

MINILM = Manifest(
    id="all-minilm-l6-v2",
    licence="Apache-2.0",
    about="GGUF embedding model",
    if_offline="Connect once.",
    files=(
        ModelFile(
            name=_FILE,
            sha256="263215c3cadd6e16740741a7624ab4cbb6c8e777688bd5331ecfbf5681c2f8ed",
            size_bytes=25_008_064,
            in_wheel=f"litemem/models/{_FILE}",
        ),
    ),
    wheel=Wheel(
        requirement="litemem==0.1.3",
        sha256="6ecd2fa7bf9118febe62ec7d33f6bca30fcaa6c88906b073b08702ca15127f40",
        size_bytes=23_526_178,
    ),
    hub="",
)
