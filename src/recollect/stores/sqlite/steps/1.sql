-- A page of zeroes passes for sound (see `pages`), and as the last page of a long row it would be
-- read as the row's end. That end is `tail`, a byte that is not zero. Postings take one page each.

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

CREATE TABLE texts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    digest BLOB NOT NULL UNIQUE
) STRICT;

CREATE TABLE chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    text_id INTEGER NOT NULL,
    start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    length INTEGER NOT NULL,
    heading TEXT NOT NULL,
    prefix TEXT NOT NULL,
    bag BLOB NOT NULL,
    text TEXT NOT NULL,
    day TEXT,
    speaker TEXT NOT NULL,
    moment TEXT NOT NULL,
    importance INTEGER,
    triggers TEXT NOT NULL,
    tail INTEGER NOT NULL DEFAULT 127
) STRICT;
CREATE INDEX chunks_by_document ON chunks (document);
CREATE INDEX chunks_by_text ON chunks (text_id);

CREATE TABLE totals (chunks INTEGER NOT NULL, length INTEGER NOT NULL) STRICT;
INSERT INTO totals VALUES (0, 0);
CREATE TRIGGER chunks_added AFTER INSERT ON chunks BEGIN
    UPDATE totals SET chunks = chunks + 1, length = length + new.length;
    INSERT INTO memory_fts (rowid, content) VALUES (new.id, new.text);
END;
CREATE TRIGGER chunks_removed AFTER DELETE ON chunks BEGIN
    UPDATE totals SET chunks = chunks - 1, length = length - old.length;
    INSERT INTO memory_fts (memory_fts, rowid, content) VALUES ('delete', old.id, old.text);
END;

-- For others, who read the file with SQL; nothing here ranks by it. It stores words, no texts.
CREATE VIEW memory_chunks AS
    SELECT c.id AS chunk_id, c.text AS content, d.path AS source_file
    FROM chunks c JOIN documents d ON d.id = c.document;
CREATE VIRTUAL TABLE memory_fts USING fts5 (
    content, source_file UNINDEXED, chunk_id UNINDEXED,
    content = 'memory_chunks', content_rowid = 'chunk_id', tokenize = 'porter unicode61'
);
INSERT INTO memory_fts (memory_fts, rank) VALUES ('pgsz', 4000);  -- one page beside its checksum

CREATE TABLE media (
    chunk INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
    content BLOB NOT NULL
) STRICT;

CREATE TABLE facts (
    chunk INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    scope TEXT NOT NULL,
    since TEXT NOT NULL,
    until TEXT NOT NULL,
    superseded_by TEXT NOT NULL
) STRICT;
CREATE INDEX facts_by_id ON facts (id);

CREATE TABLE segments (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    token INTEGER NOT NULL,  -- random: what a process keeps of a segment is kept under it
    first INTEGER NOT NULL,  -- ids of its first and last chunk
    last INTEGER NOT NULL,
    chunks INTEGER NOT NULL,
    removed INTEGER NOT NULL DEFAULT 0,
    stamp INTEGER NOT NULL DEFAULT 0  -- random: another one with each removal
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

CREATE TABLE spaces (
    id INTEGER PRIMARY KEY,
    fingerprint TEXT NOT NULL UNIQUE,
    dimensions INTEGER NOT NULL,
    vectors INTEGER NOT NULL DEFAULT 0,
    coded INTEGER NOT NULL DEFAULT 0,
    centre BLOB,
    mean REAL,
    deviation REAL,
    is_published INTEGER NOT NULL DEFAULT 0,
    stamp INTEGER NOT NULL DEFAULT 0,  -- random: another one with each new vector
    coding INTEGER NOT NULL DEFAULT 0  -- codes of one are only appended
) STRICT;
CREATE TABLE vectors (
    id INTEGER PRIMARY KEY,  -- the space in the bits above 40, the text below
    vector BLOB NOT NULL,
    tail INTEGER NOT NULL DEFAULT 127
) STRICT;
CREATE TABLE codes (
    space INTEGER NOT NULL REFERENCES spaces (id),
    segment INTEGER NOT NULL,
    ids BLOB NOT NULL,
    codes BLOB NOT NULL,
    tail INTEGER NOT NULL DEFAULT 127,
    PRIMARY KEY (space, segment)
) STRICT;
CREATE TABLE word_codes (
    id INTEGER PRIMARY KEY,  -- that of the text's vector
    codes BLOB NOT NULL,  -- one bit per dimension of each word
    tail INTEGER NOT NULL DEFAULT 127
) STRICT;

-- The vectors that searches use, for others.
CREATE VIEW memory_embeddings AS
    SELECT c.id, c.text AS content, v.vector AS embedding, d.path AS source_file,
        (SELECT count(*) FROM chunks b WHERE b.document = c.document AND b.id < c.id)
            AS chunk_index,
        d.mtime_ns / 1000000000 AS created_at, s.fingerprint AS model_name
    FROM spaces s JOIN chunks c JOIN documents d ON d.id = c.document
    JOIN vectors v ON v.id = (s.id << 40) + c.text_id WHERE s.is_published;

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
