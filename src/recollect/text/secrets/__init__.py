"""Finds secrets in a text: which characters, and of what kind."""

from recollect.text.secrets.find import find_secrets
from recollect.text.secrets.span import Secret

__all__ = ["Secret", "find_secrets"]
