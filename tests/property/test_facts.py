"""What holds for the facts of any text: nothing is lost on the way to Markdown and back."""

from __future__ import annotations

import string
from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import example, given
from hypothesis import strategies as st

from recollect.facts.entry import format_entry, parse_entry
from recollect.facts.page import BulletIds, edited, parse_page
from recollect.facts.record import CATEGORIES, NO_SUCCESSOR, DecayClass, Fact, Provenance, mint_id
from recollect.facts.scope import audience_of
from recollect.text.safe import neutralised, on_one_line
from recollect.text.scripts import normalised
from recollect.text.tags import tag_names

MARKUP = [
    "-->", "<!--", "<!-- f-0000000000000 by=owner -->", "--", "~~", "~", "~~~", "```", "`", '"',
    "'", "- ", "\n- ", "* ", "# ", "1. ", "> ", "&", "&#", "&#10;", "&#38;#10;", "&amp;",
    "&#99999999;", "</recollect-memory>", "<|im_start|>", "=", "entity=x", "---\n",
    "f-0000000000000",
]  # fmt: skip
CONTROLS = [
    "\n", "\r", "\r\n", "\n\n", "\t", " ", "  ", "\x00", "\x1b[31m", "\x85", "\u2028", "\u00a0",
    "\u202e", "\u2066", "\u200b", "\u200d", "\ufeff", "\U000e0041",
]  # fmt: skip
WORDS = [
    "a", "B", "7", ".", "e\u0301", "שלום", "مرحبا", "日本語",
    "\U0001f469\u200d\U0001f4bb", "\U0001f3f4\U000e0067\U000e007f",
]  # fmt: skip
HOSTILE = MARKUP + CONTROLS + WORDS
TEXTS = st.one_of(
    st.text(),
    st.lists(st.sampled_from(HOSTILE), max_size=14).map("".join),
)
IDS = st.integers(min_value=0, max_value=2**40).map(
    lambda chance: mint_id(datetime.fromtimestamp(chance >> 20, UTC), random_bits=chance)
)
MOMENTS = st.none() | st.datetimes(timezones=st.just(UTC))
NAMES = st.text(string.ascii_letters + ':@."-é', min_size=1, max_size=8)
SCOPES = st.one_of(
    st.just("global"),
    st.builds("{}:{}".format, st.sampled_from(["user", "agent", "session"]), NAMES),
)


@st.composite
def facts(draw: st.DrawFn) -> Fact:
    fact_id, *others = draw(st.lists(IDS, min_size=4, max_size=4, unique=True))
    begin, end = draw(MOMENTS), draw(MOMENTS)
    if begin is not None and end is not None:
        begin, end = min(begin, end), max(begin, end)
    return Fact(
        id=fact_id,
        text=draw(TEXTS.filter(str.strip)),
        category=draw(st.sampled_from([*CATEGORIES, "recipe"])),
        entity=draw(TEXTS),
        key=draw(TEXTS),
        value=draw(TEXTS),
        tags=tag_names(draw(st.lists(TEXTS, max_size=3))),
        scope=draw(SCOPES),
        decay=draw(st.sampled_from(DecayClass)),
        confidence=draw(st.floats(min_value=0, max_value=1)),
        valid_from=begin,
        valid_until=end,
        expires=draw(MOMENTS),
        supersedes=tuple(draw(st.lists(st.sampled_from(others), unique=True))),
        superseded_by=draw(st.sampled_from(["", NO_SUCCESSOR, *others])),
        provenance=draw(st.sampled_from(Provenance)),
        source=draw(TEXTS),
        created=draw(MOMENTS),
    )


LONG = Fact(id="f-0000000000000", text="-->\n```<!-- " * 1000, value='"' * 5000)


@given(facts(), st.sampled_from(CATEGORIES))
@example(LONG, "other")
@example(replace(LONG, superseded_by=NO_SUCCESSOR, text="~"), "fact")
def test_a_fact_comes_back_from_its_line(fact: Fact, category: str) -> None:
    line = format_entry(fact, category=category)

    assert 1 == len(line.splitlines())
    assert fact == parse_entry(line, category=category, derive=BulletIds()).fact
    assert line.encode("utf-8")


@given(st.lists(facts(), max_size=4, unique_by=lambda fact: fact.id), TEXTS)
def test_facts_added_to_any_file_come_back_and_what_was_there_stays(
    added: list[Fact], before: str
) -> None:
    page = parse_page("other.md", before, derive=BulletIds())
    known = [entry.fact.text for entry in page.entries]

    text = edited(page, changed={}, added=added)

    after = parse_page("other.md", text, derive=BulletIds())
    found = [entry.fact for entry in after.entries]
    assert text.startswith(before)
    assert added == found[len(found) - len(added) :]
    assert known == [fact.text for fact in found[: len(found) - len(added)]]


@given(st.lists(facts(), min_size=1, max_size=5, unique_by=lambda fact: fact.id), st.randoms())
def test_changing_one_line_leaves_every_other_byte(known: list[Fact], chance: object) -> None:
    text = "".join(f"{format_entry(fact, category='other')}\r\n" for fact in known)
    page = parse_page("other.md", text, derive=BulletIds())
    place = len(str(chance)) % len(known)
    changed = replace(known[place], confidence=0.5)

    lines = edited(page, changed={place: changed}, added=()).split("\r\n")

    expected = text.split("\r\n")
    expected[place] = format_entry(changed, category="other")
    assert expected == lines


@given(TEXTS)
def test_any_text_at_all_is_a_page_that_stays_as_it_is(text: str) -> None:
    page = parse_page("fact.md", text, derive=BulletIds())

    assert text == edited(page, changed={}, added=())


@given(TEXTS)
def test_neutralising_twice_changes_nothing_more(text: str) -> None:
    once = neutralised(text)

    assert once == neutralised(once)
    assert on_one_line(text) == on_one_line(on_one_line(text))


@given(TEXTS)
def test_what_is_neutralised_ends_no_block(text: str) -> None:
    for safe in (neutralised(f"```{text}-->"), on_one_line(text)):
        assert not any(mark in safe for mark in ("```", "~~~", "<!--", "-->", "--!>", "<|"))
        assert "</recollect-memory" not in safe.lower()
        assert not set(safe) & set("\x00\x1b\r\u2028\u202e\u2066\u200b\ufeff")
        assert safe == safe.encode("utf-8").decode("utf-8")


@given(st.text(string.ascii_letters + string.digits + " .,;:!?()éßñ日本語שלום\n"))
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert text == neutralised(text)


@given(TEXTS)
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    assert normalised(text) == normalised(normalised(text))


@given(st.frozensets(SCOPES, max_size=4), st.lists(SCOPES, max_size=4))
def test_asking_only_ever_narrows(allowed: frozenset[str], asked: list[str]) -> None:
    found = audience_of(asked, allowed=allowed)

    assert found <= {"global", *allowed}
