"""Collects what becomes of each key of OpenClaw's file: a setting of ours, or a reason.

No value that may be a secret gets into a record, and a value that is copied has passed our
validation.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from recollect.config.edit import writable
from recollect.config.schema import SETTINGS, canonical, read_setting
from recollect.errors import ConfigError
from recollect.records import dataclass
from recollect.shape import Shape

if TYPE_CHECKING:
    from recollect.config.edit import Value
    from recollect.config.openclaw.read import OpenClawKey


@dataclass(frozen=True, slots=True)
class Carried:
    """A key that is copied or converted."""

    shape = Shape(optional="how")
    key: str
    setting: str | None
    """None if nothing has to be set for the same effect."""
    value: Value | None
    how: str | None
    """What is different here; None if the key is copied as it is."""


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A key that has no equivalent here."""

    key: str
    reason: str
    """Why, or what to do instead."""


class KeyMapper:
    """Takes the keys one by one; each ends in exactly one of two lists."""

    def __init__(self) -> None:
        self.carried: list[Carried] = []
        self.unsupported_keys: list[Unsupported] = []

    def map_to(
        self,
        key: OpenClawKey,
        setting: str,
        value: object,
        *,
        how: str | None = None,
        joins: bool = False,
    ) -> bool:
        """Set one of our settings; False if the value is not valid there.

        Args:
            key: the key that says so.
            setting: our setting; this version may not have it.
            value: in our form.
            how: what is different here; None if at most the name is.
            joins: other keys may add to the same list.

        """
        if setting not in SETTINGS:
            return self.unsupported(key, f"This version of Recollect has no `{setting}`.")
        earlier = [each.key for each in self.carried if each.setting == setting]
        if earlier and not joins:
            return self.unsupported(key, f"`{setting}` is already set by {earlier[0]}.")
        if re.search(r"\$\{[A-Z_][A-Z0-9_]*\}", str(value)):
            return self.unsupported(key, f"It names a variable: set `{setting}` to its value.")
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # JSON has no whole numbers
        try:
            _, checked = read_setting(setting, value, origin=key.path)
        except ConfigError as error:
            # Without the message, which shows the value.
            return self.unsupported(key, f"Not a value for `{setting}`. {error.action}")
        if how is None and not f".{canonical(key.name)}".endswith(f".{setting}"):
            how = f"it is called `{setting}` here"
        self.carried.append(Carried(key.path, setting, writable(checked, given=value), how))
        return True

    def not_needed(self, key: OpenClawKey, how: str) -> None:
        """Note that nothing has to be set for the effect of a key."""
        self.carried.append(Carried(key.path, None, None, how))

    def unsupported(self, key: OpenClawKey, reason: str) -> bool:
        """Note that a key has no equivalent; return False."""
        self.unsupported_keys.append(Unsupported(key.path, reason))
        return False
