"""Date words: which days a question speaks of, asked on Wednesday 11 March 2026."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import pytest
from tests.support.notes import put_document

from recollect.search.answer import search
from recollect.search.options import SearchOptions
from recollect.stores.ram import RamStore
from recollect.text.date_words import Window, asks_for_days, first_day, window, without_passing_days
from recollect.text.terms import query_terms
from recollect.types import Chunk, Document, Leg, Query, Results, SourceKind, Stat, digest_of

if TYPE_CHECKING:
    from collections.abc import Mapping

TODAY = date(2026, 3, 11)
TUESDAY = date(2026, 3, 10)


def day(month: int, number: int, year: int = 2026) -> date:
    return date(year, month, number)


def answer(
    text: str,
    notes: Mapping[str, tuple[str, date | None]],
    *,
    source: SourceKind = SourceKind.MEMORY,
) -> Results:
    store = RamStore()
    for path, (note, when) in notes.items():
        document = Document(path, source, note, digest_of(note.encode()), Stat(1, 1), when)
        put_document(store, document, [Chunk(path, source, 1, 1, note, when=when)], recipe="r1")
    query = Query(text, max_results=5)
    return search(query, store=store, options=SearchOptions(), today=TODAY)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("what did I do yesterday", day(3, 10), day(3, 10)),
        ("the day before yesterday", day(3, 9), day(3, 9)),
        ("anything for today?", day(3, 11), day(3, 11)),
        ("who called last night", day(3, 10), day(3, 10)),
        ("what happened 5 days ago", day(3, 5), day(3, 7)),
        ("a couple of days ago I cooked", day(3, 8), day(3, 10)),
        ("two weeks ago", day(2, 21), day(3, 1)),
        ("three months ago", day(11, 25, 2025), day(12, 27, 2025)),
        ("in the past two weeks", day(2, 25), day(3, 11)),
        ("over the last 3 days", day(3, 8), day(3, 11)),
        ("during the past month", day(2, 9), day(3, 11)),
        ("last week", day(3, 2), day(3, 11)),
        ("this week", day(3, 9), day(3, 15)),
        ("this month", day(3, 1), day(3, 31)),
        ("this year", day(1, 1), day(12, 31)),
        ("last weekend", day(3, 7), day(3, 8)),
        ("last month", day(2, 1), day(3, 11)),
        ("last year", day(1, 1, 2025), day(3, 11)),
        ("lunch last Tuesday", day(3, 10), day(3, 10)),
        ("the clinic on Wednesday", day(3, 4), day(3, 4)),
        ("visits in February", day(2, 1), day(3, 3)),
        ("the trip in December", day(12, 1, 2025), day(1, 3)),
        ("the March 5th meeting", day(3, 5), day(3, 8)),
        ("on 5 March 2024", day(3, 5, 2024), day(3, 8, 2024)),
        ("since June 2024", day(6, 1, 2024), TODAY),
        ("everything from January on", day(1, 1), TODAY),
        ("since last week", day(3, 2), TODAY),
        ("notes from October", day(10, 1, 2025), day(11, 3, 2025)),
        ("what we planned last March", day(3, 1, 2025), day(4, 3, 2025)),
        ("the fair in Sept. 2024", day(9, 1, 2024), day(10, 3, 2024)),
        ("the plan of March 20", day(3, 20, 2025), day(3, 23, 2025)),
        ("what we planned in late October", day(10, 16, 2025), day(11, 3, 2025)),
        ("the last week of October", day(10, 25, 2025), day(11, 3, 2025)),
        ("beginning of May 2024", day(5, 1, 2024), day(5, 13, 2024)),
        ("from May to June", day(5, 1, 2025), day(7, 3, 2025)),
        ("between 20 December and January 6", day(12, 20, 2025), day(1, 9)),
        ("October 3-10", day(10, 3, 2025), day(10, 13, 2025)),
        ("the walk in March on the beach", day(3, 1), day(4, 3)),
        ("what is due in April", day(4, 1), day(5, 3)),
        ("the deadline until Friday", day(3, 13), day(3, 13)),
        ("due in March", day(3, 1), day(4, 3)),
        ("from May 2024 to June 2025", day(5, 1, 2024), day(7, 3, 2025)),
        ("May 2023 - May 2024", day(5, 1, 2023), day(6, 3, 2024)),
        ("what we planted from June until August", day(6, 1, 2025), day(9, 3, 2025)),
        ("what was coming in December", day(12, 1, 2025), day(1, 3)),
        ("where Will went in December", day(12, 1, 2025), day(1, 3)),
        ("will it snow in December", day(12, 1), day(1, 3, 2027)),
        ("Will it snow in December", day(12, 1), day(1, 3, 2027)),
        ("this December", day(12, 1), day(1, 3, 2027)),
        ("this January", day(1, 1), day(2, 3)),
        ("to do by Friday", day(3, 13), day(3, 13)),
        ("who was back by Friday", day(3, 6), day(3, 6)),
        ("this Wednesday", day(3, 11), day(3, 11)),
        ("next February", day(2, 1, 2027), day(3, 3, 2027)),
        ("plans for next week", day(3, 16), day(3, 22)),
        ("born on 29 February", day(2, 29, 2024), day(3, 3, 2024)),
        ("the invoices of 2026-02", day(2, 1), day(3, 3)),
        ("from 2025-03 to 2025-05", day(3, 1, 2025), day(6, 3, 2025)),
        ("between 2025-11 and 2026-01", day(11, 1, 2025), day(2, 3)),
        ("the day after tomorrow", day(3, 13), day(3, 13)),
        ("what did we plan in may", day(5, 1, 2025), day(6, 3, 2025)),
        ("in may we went to Rome", day(5, 1, 2025), day(6, 3, 2025)),
        ("notes from may", day(5, 1, 2025), day(6, 3, 2025)),
        ("what we planned last may for the garden", day(5, 1, 2025), day(6, 3, 2025)),
        ("what happens this may?", day(5, 1), day(6, 3)),
        ("the trip this may in Rome", day(5, 1), day(6, 3)),
        ("on 5 may we met", day(5, 5, 2025), day(5, 8, 2025)),
        ("5 may 2024", day(5, 5, 2024), day(5, 8, 2024)),
        ("the 5th of may party", day(5, 5, 2025), day(5, 8, 2025)),
        ("the may 5 meeting", day(5, 5, 2025), day(5, 8, 2025)),
        ("lunch may 5th with Ana", day(5, 5, 2025), day(5, 8, 2025)),
        ("may 5th lunch", day(5, 5, 2025), day(5, 8, 2025)),
        ("what happened may 5", day(5, 5, 2025), day(5, 8, 2025)),
        ("how long this may take, asked in may", day(5, 1, 2025), day(6, 3, 2025)),
        ("the book by Ana from April", day(4, 1, 2025), day(5, 3, 2025)),
        ("2月的会议", day(2, 1), day(3, 3)),
        ("2025年12月24日に何をした", day(12, 24, 2025), day(12, 27, 2025)),
        ("10월 회의", day(10, 1, 2025), day(11, 3, 2025)),
        ("Was habe ich letzten Dienstag gemacht?", day(3, 10), day(3, 10)),
        ("was war letzte Woche", day(3, 2), day(3, 11)),
        ("vorgestern beim Arzt", day(3, 9), day(3, 9)),
        ("die Rechnung von gestern", day(3, 10), day(3, 10)),
        ("heute gekauft", day(3, 11), day(3, 11)),
        ("nächsten Montag", day(3, 16), day(3, 16)),
        ("qu'est-ce que j'ai fait hier ?", day(3, 10), day(3, 10)),
        ("la réunion de mardi dernier", day(3, 10), day(3, 10)),
        ("Dépenses de la semaine dernière", day(3, 2), day(3, 11)),
        ("le mois passé", day(2, 1), day(3, 11)),
        ("l’année dernière", day(1, 1, 2025), day(3, 11)),
        ("was ist seit letzter Woche passiert", day(3, 2), TODAY),
        ("seit dem letzten Dienstag", day(3, 10), TODAY),
        ("ce qui a changé depuis la semaine dernière", day(3, 2), TODAY),
        ("depuis l’an dernier", day(1, 1, 2025), TODAY),
        ("Quel fichier ai-je modifié hier ?", day(3, 10), day(3, 10)),
        ("le fichier AI de hier", day(3, 10), day(3, 10)),
        ("Was war am 9. Oktober?", day(10, 9, 2025), day(10, 12, 2025)),
        ("die Rechnung vom 1. März 2024", day(3, 1, 2024), day(3, 4, 2024)),
        ("was im Februar los war", day(2, 1), day(3, 3)),
        ("was seit Januar passiert ist", day(1, 1), TODAY),
        ("letzten Oktober", day(10, 1, 2025), day(11, 3, 2025)),
        ("was war vom 3. bis 5. Februar?", day(2, 3), day(2, 8)),
        ("die Reise vom 3. bis zum 5. Mai 2025", day(5, 3, 2025), day(5, 8, 2025)),
        ("am 5. Mai war ich wo?", day(5, 5, 2025), day(5, 8, 2025)),
        ("le voyage du 3 au 5 mai 2025", day(5, 3, 2025), day(5, 8, 2025)),
        ("el viaje del 3 al 5 de mayo de 2025", day(5, 3, 2025), day(5, 8, 2025)),
        ("que s'est-il passé le 1er février ?", day(2, 1), day(2, 4)),
        ("les dépenses en août 2024", day(8, 1, 2024), day(9, 3, 2024)),
        ("¿qué pasó el viernes pasado?", day(3, 6), day(3, 6)),
        ("la reunión de anteayer", day(3, 9), day(3, 9)),
        ("qué compré la semana pasada", day(3, 2), day(3, 11)),
        ("el 3 de octubre de 2024", day(10, 3, 2024), day(10, 6, 2024)),
        ("las visitas en febrero", day(2, 1), day(3, 3)),
        ("desde enero", day(1, 1), TODAY),
        ("the birthday that we had in March", day(3, 1), day(4, 3)),
        ("昨天开会说了什么", day(3, 10), day(3, 10)),
        ("先週の会議", day(2, 26), day(3, 10)),
    ],
)
def test_days_are_understood(text: str, first: date, last: date) -> None:
    days = window(text, today=TODAY)

    assert days is not None
    assert (first, last) == (days.first, days.end)


@pytest.mark.parametrize(
    "text",
    [
        "how many days ago did I buy it",
        "how many weeks ago was the concert",
        "the march of progress",
        "may I ask something",
        "at last we agreed",
        "30 February",
        "you may 5 times a day",
        "How long this may take",
        "how much this may in fact cost",
        "step 2 may fail",
        "this may or may not work",
        "Python 3.12 may break numpy",
        "may 1,000 users connect",
        "May 1,000 users connect",
        "may 12:30 work",
        "may 5 users connect",
        "the folder it came from may be gone",
        "the next may differ",
        "the client MAY send 5",
        "article by April Jones",
        "what is known of May Chen",
        "CVE-2024-05",
        "version 1.2024-05",
        "the story of march on Rome",
        "the last week of the project",
        "the last name of Ana",
        "sundays are quiet",
        "was steht hier über die Heizung",
        "wat heb je hier gezegd",
        "Was steht hier über AI?",
        "Was hat Le Corbusier hier gebaut?",
        "wie vaak est hier wordt gebruikt",
        "hängt diese an der Wand",
        "dieses an alle senden",
        "der letzte an Bord",
        "dreimal im Monat",
        "the price of 5 Mars bars",
        "whose birthday is in November",
        "cette Woche",
        "der letzte Schritt",
        "letzten ſamstag",
        "montags ist Ruhetag",
        "",
    ],
)
def test_words_that_only_look_like_days_are_none(text: str) -> None:
    assert window(text, today=TODAY) is None


def test_the_days_after_a_named_one_are_searched_but_not_named() -> None:
    month = window("what was in February", today=TODAY)
    one = window("the March 5th meeting", today=TODAY)

    assert month is not None
    assert (day(2, 28), 1.0, 0.5) == (month.last, month.weight(day(2, 28)), month.weight(day(3, 3)))
    assert one is not None
    assert (day(3, 5), 0.5, 0.0) == (one.last, one.weight(day(3, 8)), one.weight(day(3, 9)))


@pytest.mark.parametrize("said", ["this year", "dieses Jahr"])
def test_a_long_message_says_this_year_in_passing(said: str) -> None:
    message = f"My mother asked about Christmas, and {said} I want to bake the gingerbread. "

    assert window(message, today=TODAY) is not None
    assert window(message * 2, today=TODAY) is None


def test_this_week_is_a_week_on_a_monday_too_and_its_last_weekend_was_just_before() -> None:
    monday, sunday = day(11, 16), day(11, 22)

    assert Window(monday, sunday, said="this week", is_relative=True) == window(
        "this week", today=monday
    )
    assert Window(day(11, 14), day(11, 15), said="last weekend", is_relative=True) == window(
        "last weekend", today=monday
    )
    on_sunday = window("last weekend", today=sunday)
    assert on_sunday is not None
    assert (day(11, 14), day(11, 15)) == (on_sunday.first, on_sunday.last)


def test_the_days_since_a_last_month_count_less() -> None:
    month = window("what happened last month", today=TODAY)

    assert month is not None
    assert (day(2, 28), TODAY) == (month.last, month.end)
    assert [1.0, 0.5] == [month.weight(when) for when in (day(2, 28), TODAY)]


def test_a_window_holds_its_ends_and_no_evergreen_text() -> None:
    days = Window(day(3, 1), day(3, 5))

    assert [False, True, True, False, False] == [
        days.holds(when) for when in (day(2, 28), day(3, 1), day(3, 5), day(3, 6), None)
    ]


@pytest.mark.parametrize(
    ("text", "said", "is_relative"),
    [
        ("what happened last Tuesday?", "last Tuesday", True),
        ("what did I bake in the past two weeks", "past two weeks", True),
        ("Was war letzte Woche?", "letzte Woche", True),
        ("l'avis d'hier", "d'hier", True),
        ("Was lief seit letzter Woche?", "seit letzter Woche", True),
        ("the visits in February", "in February", False),
        ("what is due on Friday", "on Friday", False),
        ("the issue of March 2nd", "March 2nd", False),
    ],
)
def test_the_words_that_name_days_are_told_and_whether_they_are_relative_to_today(
    text: str, said: str, *, is_relative: bool
) -> None:
    days = window(text, today=TODAY)

    assert days is not None
    assert (said, is_relative) == (days.said, days.is_relative)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("I was ill on Monday. Which gate is it?", "I was ill . Which gate is it?"),
        ("Which gate is it? We met on 9 September.", "Which gate is it? We met on "),
        ("Danke für gestern! Welches Tor?", "Danke für ! Welches Tor?"),
        ("I was ill. What happened on Monday?", "I was ill. What happened on Monday?"),
        ("It was yesterday. What happened?", "It was yesterday. What happened?"),
        ("Show me what I wrote on Monday. Thanks", "Show me what I wrote on Monday. Thanks"),
        ("On Monday with Dr. Miller, what was said?", "On Monday with Dr. Miller, what was said?"),
        ("Was war am 9. September?", "Was war am 9. September?"),
    ],
)
def test_a_day_beside_the_sentence_that_asks_is_mentioned_in_passing(text: str, read: str) -> None:
    assert read == without_passing_days(text, today=TODAY)


def test_a_day_mentioned_in_passing_is_not_the_day_asked_for() -> None:
    notes = {"memory/a.md": ("The garden gate is green.", None)}

    passing = answer("I was ill on Monday. What colour is the garden gate?", notes)
    asked = answer("What colour was the garden gate on Monday?", notes)

    assert () == passing.notices
    assert "No hit is dated 2026-03-09, the day your question seems to mean." in asked.notices


def test_a_word_that_contains_a_date_word_is_searched_whole() -> None:
    notes = {"memory/a.md": ("Fichier perdu.", None)}

    results = answer("et hier le fichier", notes)

    assert ["memory/a.md"] == [hit.path for hit in results.hits]


def test_the_note_of_the_day_comes_before_one_that_only_names_it() -> None:
    results = answer(
        "what happened last Tuesday",
        {
            "memory/2026-03-10.md": ("The pump happened to fail during lunch.", TUESDAY),
            "memory/club.md": ("Chess club: every Tuesday, last one in May.", None),
        },
    )

    assert ["memory/2026-03-10.md"] == [hit.path for hit in results.hits]
    assert results.confident


def test_a_note_of_a_day_without_a_year_is_the_answer_and_not_one_that_names_it() -> None:
    notes = {
        "memory/2026-03-03.md": (
            "What I did in the shop: the kiln cracked. Es war im Ofen.",
            day(3, 3),
        ),
        "memory/keys.md": ("What did I do with the spare key? Lent to Ines on 3 March.", None),
    }

    for text in ("what did I do on 3 March", "what happened in March", "was war im März"):
        results = answer(text, notes)

        assert (["memory/2026-03-03.md"], True) == (
            [hit.path for hit in results.hits],
            results.confident,
        )


def test_a_fact_that_was_said_on_a_day_does_not_tell_what_happened_on_it() -> None:
    fact = {
        "memory/facts/other.md": (
            "Ines did say it: the gate of the bike shed needs 4417, and it sticks.",
            TODAY,
        )
    }

    said = answer("what did I do today", fact, source=SourceKind.FACTS)
    noted = answer("what did I do today", fact)

    assert said.confidence < noted.confidence == 1.0


def test_a_birthday_is_found_by_its_month_in_whatever_note() -> None:
    notes = {
        "memory/cakes.md": ("The birthday cake of Ines.", day(11, 2, 2025)),
        "people/tove.md": ("birthday: 1994-11-30, name: Tove, the cellist", None),
    }

    results = answer("whose birthday is in November", notes)

    assert "people/tove.md" == results.hits[0].path


def test_a_note_of_the_month_comes_before_one_of_the_days_after_it() -> None:
    notes = {
        "memory/2026-03-02.md": ("Visits to the dentist and friends in February.", day(3, 2)),
        "memory/2026-02-20.md": ("Visits to the dentist in February.", day(2, 20)),
    }

    results = answer("notes from February about visits to the dentist", notes)

    assert [day(2, 20), day(3, 2)] == [hit.date for hit in results.hits]
    assert results.hits[0].score > results.hits[1].score


@pytest.mark.parametrize("text", ["the trip in April", "which trip will be in April"])
def test_a_month_without_a_year_is_the_one_that_has_notes(text: str) -> None:
    coming = {"memory/trip.md": ("The trip to Rome.", day(4, 9))}
    gone = {"memory/trip.md": ("The trip to Rome.", day(4, 9, 2025))}

    for results in (answer(text, coming), answer(text, gone)):
        assert results.hits[0].trace is not None
        assert results.hits[0].trace.legs[Leg.DATE].contribution > 0


def test_notes_about_what_lies_ahead_need_not_be_dated_then() -> None:
    notes = {"memory/2026-03-01.md": ("The tax return is due in April.", day(3, 1))}

    assert () == answer("what is due in April", notes).notices


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("what did I do", True),
        ("what happened in July", True),
        ("notes from October", True),
        ("what did I do on 3 October 2025", True),
        ("what happened on the 3rd of October", True),
        ("Was war am 9. Oktober?", True),
        ("¿qué pasó el viernes 3 de octubre?", True),
        ("que s'est-il passé le 9 octobre", True),
        ("what did I pay on 3 October", False),
        ("Was habe ich gemacht", True),
        ("que s'est-il passé", True),
        ("who did I have lunch with", False),
        ("was habe ich gekocht", False),
    ],
)
def test_a_question_may_ask_for_the_days_themselves(text: str, *, expected: bool) -> None:
    assert expected == asks_for_days(query_terms(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("yesterday", day(3, 10)),
        ("last week", day(3, 2)),
        ("last month", day(2, 1)),
        ("tuesday", day(3, 10)),
        ("october", day(10, 1, 2025)),
        ("March 2025", day(3, 1, 2025)),
        ("2025-12", day(12, 1, 2025)),
        ("two weeks ago", day(2, 25)),
        ("a couple of days ago", day(3, 9)),
        ("the week of the flood", None),
        ("tomorrow", day(3, 12)),
        ("day after tomorrow", day(3, 13)),
        ("may", day(5, 1, 2025)),
        ("may 5", day(5, 5, 2025)),
        ("5 may", day(5, 5, 2025)),
        ("last week of october", day(10, 25, 2025)),
        ("next december", day(12, 1)),
    ],
)
def test_an_option_means_the_first_of_the_days_that_it_names(
    text: str, expected: date | None
) -> None:
    assert expected == first_day(text, today=TODAY)


@pytest.mark.parametrize("text", ["in marchİ", "aujourd’huiİ", "in May"])
def test_days_are_found_beside_any_letters(text: str) -> None:
    assert window(text, today=TODAY)


@pytest.mark.parametrize("text", ["in ſeptember", "on frıday", "sıx weeks ago", "5 Auguſt"])
def test_letters_that_only_look_alike_make_no_date(text: str) -> None:
    assert window(text, today=TODAY) is None
    assert first_day(text, today=TODAY) is None
