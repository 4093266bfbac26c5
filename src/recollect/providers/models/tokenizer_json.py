"""Divides texts as a model's `tokenizer.json` says, with the package `tokenizers`.

Control tokens in a text are plain text, as in `bert.py`.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from recollect.errors import ModelUnavailableError, ProviderSetupError

if TYPE_CHECKING:
    from pathlib import Path

_PACKAGE = "tokenizers"


class JsonTokenizer:
    """Turns a text into the ids of a model's own tokenizer."""

    def __init__(self, path: Path) -> None:
        """Read the file.

        Raises:
            ModelUnavailableError: it cannot be used.
            ProviderSetupError: the package is not installed.

        """
        require_tokenizers()
        from tokenizers import Tokenizer  # noqa: PLC0415 - an optional package

        try:
            self._tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # its errors have no common class
            raise _unusable(path, f"tokenizers cannot read it: {error}") from error
        # The file may cut and pad texts; whoever uses the ids decides that here.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True
        frame = self._tokenizer.encode("").ids
        if len(frame) != 2:  # noqa: PLR2004 - a start and an end
            raise _unusable(path, "it does not enclose a text in two control tokens")
        self.cls_id, self.sep_id = frame

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text, without control tokens and of any length."""
        # A lone surrogate is refused; it becomes a question mark.
        safe = text.encode("utf-8", "replace").decode("utf-8")
        found: list[int] = self._tokenizer.encode(safe, add_special_tokens=False).ids
        return found

    def words(self, text: str) -> list[tuple[str, tuple[int, ...]]]:
        """Return the text as one word: its pieces are not compared with other texts."""
        return [(text, tuple(self.ids(text)))]


def require_tokenizers() -> None:
    """Check that the package is installed.

    Raises:
        ProviderSetupError: it is not.

    """
    if find_spec(_PACKAGE) is None:
        raise ProviderSetupError(
            f"This model needs the package {_PACKAGE}.",
            action="Install the extra in Recollect's checkout: pip install '.[hub]'",
        )


def _unusable(path: Path, reason: str) -> ModelUnavailableError:
    return ModelUnavailableError(
        f"{path} cannot be used: {reason}.", action="Choose another model by `model`."
    )
