"""Programs let in with a password, a file each: a command revokes one while a server runs."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING

from recollect.records import dataclass
from recollect.shape import Shape
from recollect.text.files import delete_file, make_private_folder, replace_file

if TYPE_CHECKING:
    from pathlib import Path

    from recollect.config.load import Setup

_ID = re.compile(r"[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class SignIn:
    """A program that may use a memory."""

    shape = Shape(hidden="client_id serial")
    id: str
    client: str
    """The name that the program gave itself."""
    renewed: datetime
    """When it last got tokens."""
    client_id: str
    serial: str
    """The serial of the tokens that work; earlier ones do not."""


@dataclass(frozen=True, slots=True)
class SignIns:
    """The sign-ins to a memory."""

    folder: Path

    @classmethod
    def of(cls, setup: Setup) -> SignIns:
        """Return those to the memory of a workspace."""
        return cls(setup.places.home / "sign-ins" / setup.agent)

    def put(self, sign_in: SignIn) -> None:
        """Store a sign-in in place of an earlier one with its id."""
        make_private_folder(self.folder)
        text = json.dumps(asdict(sign_in), default=datetime.isoformat)
        replace_file(self._file(sign_in.id), text.encode(), private=True)

    def find(self, sign_in_id: str) -> SignIn | None:
        """Return a sign-in; None if it was revoked."""
        try:
            stored = json.loads(self._file(sign_in_id).read_text("utf-8"))
        except FileNotFoundError:
            return None
        return SignIn(**{**stored, "renewed": datetime.fromisoformat(stored["renewed"])})

    def listed(self) -> list[SignIn]:
        """Return all sign-ins, the longest unused first."""
        found = (self.find(file.stem) for file in self.folder.glob("*.json"))
        return sorted(filter(None, found), key=lambda each: each.renewed)

    def revoke(self, sign_in_id: str) -> bool:
        """Remove a sign-in; return whether there was one."""
        if not _ID.fullmatch(sign_in_id) or self.find(sign_in_id) is None:
            return False
        delete_file(self._file(sign_in_id))
        return True

    def _file(self, sign_in_id: str) -> Path:
        return self.folder / f"{sign_in_id}.json"
