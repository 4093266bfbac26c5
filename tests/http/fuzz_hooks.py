"""What a JSON schema cannot say of arguments, for the tool that makes requests of the schema."""

from __future__ import annotations

import re
from typing import Any

import schemathesis

from recollect.errors import UsageError
from recollect.facts.record import CATEGORIES
from recollect.facts.scope import FactScope

_DAY = re.compile(r"\d{4}-\d\d-\d\d")


@schemathesis.hook
def before_call(
    context: schemathesis.HookContext, case: schemathesis.Case[Any], kwargs: dict[str, Any]
) -> None:
    """Leave out days in the wrong order, categories that no fact has, scopes that do not print."""
    del context, kwargs
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    query = case.query or {}
    days = [query.get("since"), query.get("before")]
    are_days = all(isinstance(each, str) and _DAY.fullmatch(each) for each in days)
    if are_days and str(days[0]) >= str(days[1]):
        del query["before"]
    if query.get("category", CATEGORIES[0]) not in CATEGORIES:
        del query["category"]
    for given in (query, case.body):
        if isinstance(given, dict) and "scope" in given and not _are_scopes(given["scope"]):
            del given["scope"]


def _are_scopes(given: object) -> bool:
    several = given if isinstance(given, list) else [given]
    return all(map(_is_scope, several))


def _is_scope(text: object) -> bool:
    try:
        FactScope.parse(str(text))
    except UsageError:
        return text is None
    return True
