"""Pairs of notes, by hand: does the second say nothing but what the first says?

Each is a case of `test_duplicates`, and the set that docs/decisions/ranking.md measures on.
"""

from __future__ import annotations

from typing import NamedTuple


class Pair(NamedTuple):
    """Two notes, or chunks of transcripts."""

    name: str
    shown: str
    other: str
    headings: tuple[str, str] = ("", "")
    speaker: str = ""


LONG = (
    "We moved the nightly backup from the old server in the basement to the storage in the office,"
    " because the cellar floods every spring. Anna wrote the script; it runs from cron, writes a"
    " log to the shared folder and sends a message to the channel if the archive is smaller than"
    " the day before. Restoring was tried once and took about an hour."
)
STATUS = (
    "## Standup\n\nDone: {done}\n\nNext: {next}\n\nBlocked: nothing\n\nMood: good\n\n"
    "Notes: keep the meeting short, park long topics, write decisions into the log."
)
ANSWERED = "user: Which port does the staging server use?\nassistant: Staging listens on port {}."

REPEATS = (
    Pair("equal", LONG, LONG),
    Pair(
        "case and final stop", "The printer is called Gutenberg.", "the printer is called Gutenberg"
    ),
    Pair("space and line breaks", LONG, LONG.replace(". ", ".\n\n").replace(", ", ",\n")),
    Pair("bullets", "Milk\nBread\nEggs from the farm", "- Milk\n- Bread\n- Eggs from the farm"),
    Pair("other bullets", "* Milk\n* Bread", "1. Milk\n2. Bread"),
    Pair(
        "bold and code",
        "Run `make stress` **before** a release",
        "Run make stress before a release",
    ),
    Pair("quoted", "The lease ends in May", "> The lease ends in May"),
    Pair("dashes", "Backup – nightly, on the NAS", "Backup: nightly on the NAS"),
    Pair("curly quotes", "Ada said “ship it” on Friday", 'Ada said "ship it" on Friday'),
    Pair("articles", "The backup runs at 3:00 on the NAS", "Backup runs at 3:00 on NAS"),
    Pair("inflection", "Deploys run on Fridays at 16:00", "Deploy runs on Friday at 16:00"),
    Pair(
        "composed letters",
        "Zoë likes crème brûlée",
        "Zoe\u0308 likes cre\u0300me bru\u0302le\u0301e",
    ),
    Pair("full width", "版本是１２", "版本是12"),
    Pair("Chinese stop", "备份在凌晨三点运行。", "备份在凌晨三点运行"),
    Pair("long, below other headings", LONG, LONG, ("Backups", "Decisions > Storage")),
    Pair("long, part of a longer note", f"# Log\n\nRain.\n\n{LONG}\n\nLater we had cake.", LONG),
    Pair("unfilled form", STATUS.format(done="", next=""), STATUS.format(done="", next="")),
    Pair("same section", "Disk: 500 GB", "- disk: 500 GB", ("Server A", "server A")),
    Pair("whole exchange", ANSWERED.format(8080), ANSWERED.format(8080), speaker="user,assistant"),
    Pair(
        "said twice", "My mother was born on 4 May", "My mother was born on 4 May.", speaker="user"
    ),
)

DIFFERENT = (
    Pair("number", "The request timeout is 30 seconds", "The request timeout is 60 seconds"),
    Pair("number in a long note", LONG, LONG.replace("an hour", "2 hours")),
    Pair("decimal", "The threshold is 3.5", "The threshold is 35"),
    Pair("sign", "The freezer is at -18 degrees", "The freezer is at 18 degrees"),
    Pair("version", "We run Postgres 16.1", "We run Postgres 16.2"),
    Pair("date", "The lease ends on 2026-05-01", "The lease ends on 2027-05-01"),
    Pair(
        "date in the heading",
        "Watered the plants",
        "Watered the plants",
        ("2026-02-01", "2026-02-02"),
    ),
    Pair("name", "Ben owns the release checklist", "Eva owns the release checklist"),
    Pair("name in a long note", LONG, LONG.replace("Anna", "Boris")),
    Pair("denial", "Ben is a vegetarian", "Ben is not a vegetarian"),
    Pair("denial in a long note", LONG, LONG.replace("was tried once", "was never tried")),
    Pair("contraction", "Tests do run on Windows", "Tests don't run on Windows"),
    Pair("past", "Sara lives in Berlin", "Sara lived in Berlin"),
    Pair("question", "The index is rebuilt at night", "The index is rebuilt at night?"),
    Pair("direction", "Ada moved to Porto", "Ada moved from Porto"),
    Pair("who does what", "Anna reports to Ben", "Ben reports to Anna"),
    Pair("opposite", "The feature flag is enabled", "The feature flag is disabled"),
    Pair("opposite in a long note", LONG, LONG.replace("smaller", "larger")),
    Pair("more exact", "The server uses port 8080", "The staging server uses port 8080"),
    Pair("says more", LONG, f"{LONG} Ben keeps the key."),
    Pair("comparison", "Alert if load > 4", "Alert if load < 4"),
    Pair("currency", "The plan costs $20", "The plan costs €20"),
    Pair("language", "The parser is written in C", "The parser is written in C++"),
    Pair("to do and done", "- [ ] Renew the passport", "- [x] Renew the passport"),
    Pair("struck out", "The office is in Porto", "~~The office is in Porto~~"),
    Pair("other entity", "Disk: 500 GB", "Disk: 500 GB", ("Server A", "Server B")),
    Pair("other section", "Agreed.", "Agreed.", ("Minutes > Budget", "Minutes > Hiring")),
    Pair(
        "daily form",
        STATUS.format(done="importer", next="docs"),
        STATUS.format(done="parser", next="docs"),
    ),
    Pair("other answer", ANSWERED.format(8080), ANSWERED.format(9090), speaker="user,assistant"),
    Pair("question without answer", "Which port is it?", "Which port is it?", speaker="user"),
    Pair("Chinese number", "备份在凌晨三点运行", "备份在凌晨四点运行"),
    Pair("short, part of a longer note", "The tests pass. Agreed. We ship.", "Agreed."),
    Pair("swapped values", "| A | 500 |\n| B | 300 |", "| A | 300 |\n| B | 500 |"),
)
