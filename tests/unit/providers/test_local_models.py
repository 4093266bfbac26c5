"""Which local model the settings mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from recollect.errors import ModelUnavailableError, ProviderSetupError
from recollect.providers.gguf import GgufProvider
from recollect.providers.local import open_local
from recollect.providers.models.manifest import EMBEDDER, MULTILINGUAL
from recollect.providers.options import ProviderOptions

if TYPE_CHECKING:
    from pathlib import Path

DEFAULT = f"local/recollect-embedder/384/{EMBEDDER.identity}-{MULTILINGUAL.identity}"


def fingerprint(options: ProviderOptions) -> str:
    return str(open_local(options).fingerprint)


def test_without_settings_it_is_the_default_model() -> None:
    assert DEFAULT == fingerprint(ProviderOptions())
    assert DEFAULT == fingerprint(ProviderOptions(model="recollect-embedder"))


def test_the_default_models_own_folder_is_the_same_space(model_folder: Path) -> None:
    provider = open_local(ProviderOptions(model_path=model_folder))
    provider.prepare()

    assert DEFAULT == str(provider.fingerprint)


def test_a_folder_without_a_model_says_what_is_missing(tmp_path: Path) -> None:
    provider = open_local(ProviderOptions(model_path=tmp_path))

    with pytest.raises(ModelUnavailableError, match="it cannot be read"):
        provider.prepare()


def test_a_damaged_default_model_is_refused(tmp_path: Path, model_folder: Path) -> None:
    content = bytearray((model_folder / "model.onnx").read_bytes())
    content[1_000_000] ^= 1
    (tmp_path / "model.onnx").write_bytes(content)
    (tmp_path / "vocab.txt").symlink_to(model_folder / "vocab.txt")
    provider = open_local(ProviderOptions(model_path=tmp_path))

    with pytest.raises(ModelUnavailableError, match="does not match"):
        provider.prepare()


def test_a_gguf_file_goes_through_llama(gguf_file: Path, tmp_path: Path) -> None:
    shouting = tmp_path / "MODEL.GGUF"
    shouting.symlink_to(gguf_file)

    for path in (gguf_file, shouting):
        provider = open_local(ProviderOptions(model_path=path))

        assert isinstance(provider, GgufProvider)


def test_an_unknown_name_is_refused_with_the_way_to_another_model() -> None:
    with pytest.raises(ProviderSetupError, match="There is no local model named no-such") as raised:
        open_local(ProviderOptions(model="no-such"))

    assert "local.model_path takes a GGUF file" in raised.value.action
