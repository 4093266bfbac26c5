"""What a JSON schema cannot say of arguments, for the tool that makes requests of the schema."""

from __future__ import annotations

from typing import Any

import schemathesis

from recollect.errors import UsageError
from recollect.facts.record import CATEGORIES
from recollect.facts.scope import parse_scope
from recollect.text.days import parse_day

_DAYS = ("since", "before", "asOf", "validFrom")


@schemathesis.hook
def before_call(
    context: schemathesis.HookContext, case: schemathesis.Case[Any], kwargs: dict[str, Any]
) -> None:
    """Leave out what is not a day, a category or a scope, and days in the wrong order."""
    del context, kwargs
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    query = case.query or {}
    for given in (query, case.body):
        if isinstance(given, dict):
            for name in [each for each in _DAYS if each in given and not _is_day(given[each])]:
                del given[name]
            if not _are_filters(given.get("filters")):
                del given["filters"]
    days = [parse_day(query[name]) for name in _DAYS[:2] if query.get(name) is not None]
    if days != sorted(set(days)):
        del query["before"]
    if query.get("category", CATEGORIES[0]) not in CATEGORIES:
        del query["category"]
    for given in (query, case.body):
        if isinstance(given, dict) and "scope" in given and not _are_scopes(given["scope"]):
            del given["scope"]


def _is_day(text: object) -> bool:
    try:
        parse_day(str(text))
    except ValueError:
        return text is None
    return True


def _are_filters(given: object) -> bool:
    if not isinstance(given, dict):
        return True
    inner = given.get("filters")
    if isinstance(inner, list):
        return all(map(_are_filters, inner))
    return given.get("key") != "date" or _is_day(given.get("value"))


def _are_scopes(given: object) -> bool:
    several = given if isinstance(given, list) else [given]
    return all(map(_is_scope, several))


def _is_scope(text: object) -> bool:
    try:
        parse_scope(str(text))
    except UsageError:
        return text is None
    return True
