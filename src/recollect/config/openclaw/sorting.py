"""Sorting OpenClaw's keys into what is taken, what is mapped and what is not supported.

No value that may be a secret gets into a record: what is not supported is named by its key and a
reason, and what is carried over has passed the schema.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.config.edit import writable
from recollect.config.schema import SETTINGS, canonical, read_setting
from recollect.errors import ConfigError

if TYPE_CHECKING:
    from recollect.config.edit import Value

_VARIABLE = re.compile(r"\$\{[A-Z_][A-Z0-9_]*\}")


@dataclass(frozen=True, slots=True)
class Found:
    """A key of OpenClaw's file with its value."""

    key: str
    """In full, as it stands in the file: `memory.search.query.maxResults`."""
    name: str
    """Without the table of memory search: `query.maxResults`."""
    value: object


@dataclass(frozen=True, slots=True)
class Carried:
    """A key that is taken as it is, or mapped."""

    key: str
    setting: str | None
    """None where nothing has to be set for the same effect."""
    value: Value | None
    how: str | None
    """What is different here; None when the key is taken as it is."""


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A key that is not carried over."""

    key: str
    reason: str
    """Why, or what does the same."""


class Sorting:
    """Takes the keys one by one; each ends in exactly one of the lists."""

    def __init__(self) -> None:
        self.carried: list[Carried] = []
        self.unsupported: list[Unsupported] = []

    def carry(
        self,
        found: Found,
        setting: str,
        value: object,
        *,
        how: str | None = None,
        joins: bool = False,
    ) -> bool:
        """Set one of our settings by a key; False where our schema does not allow it.

        Args:
            found: the key.
            setting: ours; it may be one that this version does not have.
            value: in our form.
            how: what is different here; None where at most the name is.
            joins: several keys give to one list.

        """
        if setting not in SETTINGS:
            return self.refuse(found, f"This version of Recollect has no `{setting}`.")
        earlier = [each.key for each in self.carried if each.setting == setting]
        if earlier and not joins:
            return self.refuse(found, f"`{setting}` is given by {earlier[0]} already.")
        if _VARIABLE.search(str(value)):
            return self.refuse(found, f"It names a variable: set `{setting}` to what that holds.")
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # JSON knows no whole numbers
        try:
            _, checked = read_setting(setting, value, origin=found.key)
        except ConfigError as error:
            # Not the message: it shows the value.
            return self.refuse(found, f"`{setting}` cannot be that. {error.action}")
        if how is None and not f".{canonical(found.name)}".endswith(f".{setting}"):
            how = f"it is called `{setting}` here"
        self.carried.append(Carried(found.key, setting, writable(checked, given=value), how))
        return True

    def settle(self, found: Found, how: str) -> None:
        """Note that nothing has to be set for a key's effect."""
        self.carried.append(Carried(found.key, None, None, how))

    def refuse(self, found: Found, reason: str) -> bool:
        """Note that a key is not carried over; return False."""
        self.unsupported.append(Unsupported(found.key, reason))
        return False
