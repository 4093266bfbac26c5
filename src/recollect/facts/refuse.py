"""Refuses facts that contain a secret: the ledger is plain text, searched, shared and versioned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.errors import SecretError
from recollect.text.secrets import find_secrets

if TYPE_CHECKING:
    from recollect.facts.record import Fact

SAVE_PLACE = "Save where the secret is kept instead."


def secrets_of(fact: Fact) -> tuple[str, ...]:
    """Return the kinds of secrets that a fact contains, never the secrets."""
    value = f'{fact.key}="{fact.value}"' if fact.key else fact.value
    texts = (fact.text, fact.entity, value, *fact.tags)
    return tuple(dict.fromkeys(each.kind for text in texts for each in find_secrets(text)))


def refuse_secrets(fact: Fact) -> None:
    """Raise if a fact contains a secret.

    Raises:
        SecretError: it does.

    """
    if kinds := secrets_of(fact):
        raise SecretError(
            f"This contains a secret ({', '.join(kinds)}) and was not saved: facts are stored"
            " as plain text and can be searched.",
            action=f"{SAVE_PLACE} To save it anyway, use `--force` (in Python `force=True`).",
        )


def stored_notice(fact: Fact) -> tuple[str, ...]:
    """Return a notice about a stored fact that contains a secret; nothing if it does not."""
    kinds = secrets_of(fact)
    if not kinds:
        return ()
    found = f"{fact.id} contains a secret ({', '.join(kinds)}), which can now be searched."
    return (f"{found} `recollect facts forget {fact.id}` removes it.",)
