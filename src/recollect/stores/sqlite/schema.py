"""The tables, and the migrations that bring older files up to date.

Every text has a number, and a vector is stored once, by its space and the number of its text: moved
files, repeated texts and a return to an earlier model need no second embedding. Numbers ascend in
the order of arrival and are never used again. Binary codes are derived and disposable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.errors import StoreCorruptError, StoreReadOnlyError, StoreTooNewError
from recollect.stores.sqlite.connect import reading, writing
from recollect.stores.sqlite.seal import seal_tail
from recollect.text.patterns import deferred

if TYPE_CHECKING:
    from pathlib import Path

    import apsw

_INITIAL = """
CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    source TEXT NOT NULL,
    path TEXT NOT NULL,
    digest TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    is_settled INTEGER NOT NULL,
    recipe TEXT NOT NULL,
    day TEXT,
    UNIQUE (source, path)
) STRICT;

CREATE TABLE chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    digest BLOB NOT NULL,
    length INTEGER NOT NULL,
    heading TEXT NOT NULL,
    prefix TEXT NOT NULL,
    bag BLOB NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE INDEX chunks_by_document ON chunks (document);
CREATE INDEX chunks_by_digest ON chunks (digest);

CREATE TABLE totals (chunks INTEGER NOT NULL, length INTEGER NOT NULL) STRICT;
INSERT INTO totals VALUES (0, 0);
CREATE TRIGGER chunks_added AFTER INSERT ON chunks BEGIN
    UPDATE totals SET chunks = chunks + 1, length = length + new.length;
END;
CREATE TRIGGER chunks_removed AFTER DELETE ON chunks BEGIN
    UPDATE totals SET chunks = chunks - 1, length = length - old.length;
    DELETE FROM terms WHERE rowid = old.id;
END;

CREATE VIRTUAL TABLE terms USING fts5 (
    body, heading, path,
    content = '', contentless_delete = 1,
    tokenize = "ascii tokenchars '-_.@/:#+'"
);
CREATE VIRTUAL TABLE vocabulary USING fts5vocab (terms, row);

CREATE TABLE spaces (
    id INTEGER PRIMARY KEY,
    fingerprint TEXT NOT NULL UNIQUE,
    dimensions INTEGER NOT NULL,
    vectors INTEGER NOT NULL DEFAULT 0,
    coded INTEGER NOT NULL DEFAULT 0,
    centre BLOB
) STRICT;

CREATE TABLE vectors (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    space INTEGER NOT NULL REFERENCES spaces (id),
    digest BLOB NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (space, digest)
) STRICT;

CREATE TABLE codes (
    space INTEGER NOT NULL REFERENCES spaces (id),
    segment INTEGER NOT NULL,
    ids BLOB NOT NULL,
    codes BLOB NOT NULL,
    PRIMARY KEY (space, segment)
) STRICT;
"""

_SERVED = """
ALTER TABLE spaces ADD COLUMN mean REAL;
ALTER TABLE spaces ADD COLUMN deviation REAL;
ALTER TABLE spaces ADD COLUMN is_published INTEGER NOT NULL DEFAULT 0;

CREATE TABLE batches (
    fingerprint TEXT NOT NULL,
    name TEXT NOT NULL,
    digests TEXT NOT NULL,
    PRIMARY KEY (fingerprint, name)
) STRICT;

ALTER TABLE chunks ADD COLUMN day TEXT;
ALTER TABLE chunks ADD COLUMN speaker TEXT NOT NULL DEFAULT '';
ALTER TABLE chunks ADD COLUMN moment TEXT NOT NULL DEFAULT '';
UPDATE chunks SET day = (SELECT d.day FROM documents d WHERE d.id = chunks.document);

CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;

CREATE TABLE leases (
    name TEXT PRIMARY KEY,
    token TEXT NOT NULL,
    purpose TEXT NOT NULL,
    pid INTEGER NOT NULL,
    host TEXT NOT NULL,
    since REAL NOT NULL,
    beat REAL NOT NULL
) STRICT;
"""

_MEDIA = """
CREATE TABLE media (
    chunk INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
    content BLOB NOT NULL
) STRICT;
"""

_FACTS = """
CREATE TABLE facts (
    chunk INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    scope TEXT NOT NULL,
    since TEXT NOT NULL,
    until TEXT NOT NULL,
    superseded_by TEXT NOT NULL
) STRICT;
CREATE INDEX facts_by_id ON facts (id);
"""

_ANNOTATED = """
ALTER TABLE chunks ADD COLUMN importance INTEGER;
ALTER TABLE chunks ADD COLUMN triggers TEXT NOT NULL DEFAULT '';
"""

# A page of zeroes passes for sound (see `pages`), and as the last page of a long row it would be
# read as the row's end. That end is `tail`, a byte that is not zero. Postings take one page each.
_GUARDED = """
ALTER TABLE chunks ADD COLUMN tail INTEGER NOT NULL DEFAULT 127;
ALTER TABLE vectors ADD COLUMN tail INTEGER NOT NULL DEFAULT 127;
ALTER TABLE codes ADD COLUMN tail INTEGER NOT NULL DEFAULT 127;
INSERT INTO terms (terms, rank) VALUES ('pgsz', 4000);
"""

# Codes name texts from here on; they are made again.
_NUMBERED = """
CREATE TABLE texts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    digest BLOB NOT NULL UNIQUE
) STRICT;
INSERT INTO texts (digest) SELECT digest FROM chunks GROUP BY digest ORDER BY min(id);
INSERT OR IGNORE INTO texts (digest) SELECT digest FROM vectors ORDER BY id;

ALTER TABLE chunks ADD COLUMN text_id INTEGER NOT NULL DEFAULT 0;
UPDATE chunks SET text_id = (SELECT t.id FROM texts t WHERE t.digest = chunks.digest);
DROP INDEX chunks_by_digest;
ALTER TABLE chunks DROP COLUMN digest;
CREATE INDEX chunks_by_text ON chunks (text_id);

ALTER TABLE vectors RENAME TO vectors_by_digest;
CREATE TABLE vectors (
    id INTEGER PRIMARY KEY,  -- the space in the bits above 40, the text below
    vector BLOB NOT NULL,
    tail INTEGER NOT NULL DEFAULT 127
) STRICT;
INSERT INTO vectors (id, vector, tail)
    SELECT (v.space << 40) + t.id, v.vector, v.tail
    FROM vectors_by_digest v JOIN texts t ON t.digest = v.digest ORDER BY 1;
DROP TABLE vectors_by_digest;

DELETE FROM codes;
UPDATE spaces SET coded = 0, centre = NULL;
ALTER TABLE spaces ADD COLUMN stamp INTEGER NOT NULL DEFAULT 0;  -- another one with each new vector
ALTER TABLE spaces ADD COLUMN coding INTEGER NOT NULL DEFAULT 0;  -- codes of one are only appended
"""

# Postings in segments take the place of the full-text index; `seal` makes them from the bags.
_SEGMENTED = """
DROP TRIGGER chunks_removed;
DROP TABLE vocabulary;
DROP TABLE terms;
CREATE TRIGGER chunks_removed AFTER DELETE ON chunks BEGIN
    UPDATE totals SET chunks = chunks - 1, length = length - old.length;
END;

CREATE TABLE segments (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    token INTEGER NOT NULL,  -- random: what a process keeps of a segment is kept under it
    first INTEGER NOT NULL,  -- ids of its first and last chunk
    last INTEGER NOT NULL,
    chunks INTEGER NOT NULL,
    removed INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE columns (
    segment INTEGER NOT NULL,
    name TEXT NOT NULL,
    data BLOB NOT NULL,
    tail INTEGER NOT NULL DEFAULT 127,
    PRIMARY KEY (segment, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE postings (
    id INTEGER PRIMARY KEY,  -- the segment in the bits above 32, the first term below
    terms BLOB NOT NULL,
    sizes BLOB NOT NULL,
    places BLOB NOT NULL,
    frequencies BLOB NOT NULL,
    tail INTEGER NOT NULL DEFAULT 127
) STRICT;
"""

# Segments of which chunks were removed before have no stamp to be told from those of a copy.
_STAMPED = """
ALTER TABLE segments ADD COLUMN stamp INTEGER NOT NULL DEFAULT 0;
UPDATE segments SET stamp = random() WHERE removed;
"""

_WORDED = """
CREATE TABLE word_codes (
    id INTEGER PRIMARY KEY,  -- that of the text's vector
    codes BLOB NOT NULL,  -- one bit per dimension of each word
    tail INTEGER NOT NULL DEFAULT 127
) STRICT;
"""

MIGRATIONS: tuple[tuple[str, str], ...] = (
    ("initial", _INITIAL),
    ("published spaces, batches, leases, dated chunks", _SERVED),
    ("chunks that stand for media files", _MEDIA),
    ("chunks that are facts", _FACTS),
    ("importance and triggers of entries", _ANNOTATED),
    ("rows that end with a byte", _GUARDED),
    ("texts by number", _NUMBERED),
    ("postings in segments", _SEGMENTED),
    ("stamps of removals", _STAMPED),
    ("word codes", _WORDED),
)
"""Named steps in order; a file's `user_version` counts those applied. Never edit one."""
_CHANGED = deferred(r"\b(CREATE|DROP) (?:VIRTUAL )?(?:TABLE|INDEX|TRIGGER) (\w+)")


def migrate(connection: apsw.Connection, *, path: Path) -> None:
    """Apply the missing migrations, each in one transaction with its record.

    Raises:
        StoreTooNewError: a newer Recollect wrote the file.
        StoreCorruptError: it is not an index.

    """
    check(connection, path=path)
    while (version := version_of(connection)) < len(MIGRATIONS):
        with writing(connection):
            # Another process may have applied it while this one waited for the lock.
            if version_of(connection) == version:
                connection.execute(MIGRATIONS[version][1])
                connection.execute(f"PRAGMA user_version = {version + 1}")
                if version + 1 == len(MIGRATIONS):
                    seal_tail(connection)


def require_current(connection: apsw.Connection, *, path: Path) -> None:
    """Reject a file that cannot be written and lacks migrations.

    Raises:
        StoreReadOnlyError: it is of an earlier version.

    """
    check(connection, path=path)
    if version_of(connection) < len(MIGRATIONS):
        raise StoreReadOnlyError(
            f"The index {path} was made by an earlier version and cannot be brought up to date.",
            action="Make its folder writable for one `recollect index`, or set RECOLLECT_HOME to "
            "a folder that is.",
        )


def check(connection: apsw.Connection, *, path: Path) -> None:
    """Reject a file of a newer version, and one that is not an index.

    Raises:
        StoreTooNewError: a newer Recollect wrote the file.
        StoreCorruptError: it is not an index.

    """
    with reading(connection):
        version = version_of(connection)
        names = {str(row[0]) for row in connection.execute("SELECT name FROM sqlite_schema")}
    if not names.issuperset(_names(version)) or (names and not version):
        raise StoreCorruptError(
            f"The file {path} does not have the tables of an index.",
            action="Run `recollect index`: it sets the file aside and rebuilds from the files.",
        )
    if version > len(MIGRATIONS):
        raise StoreTooNewError(
            f"The index {path} has schema {version}; this version supports {len(MIGRATIONS)}.",
            action="Upgrade Recollect, or delete the index with `recollect reset --yes`.",
        )


def _names(version: int) -> set[str]:
    """Return the names of the tables, indexes and triggers that a file of this version has."""
    names: set[str] = set()
    for _, sql in MIGRATIONS[:version]:
        for change, name in _CHANGED.findall(sql):
            (names.add if change == "CREATE" else names.discard)(name)
    return names


def version_of(connection: apsw.Connection) -> int:
    """Return how many migrations were applied to a file."""
    return int(str(connection.pragma("user_version")))
