CREATE TABLE tenants (
    tenant text PRIMARY KEY,
    chunks bigint NOT NULL DEFAULT 0,
    length bigint NOT NULL DEFAULT 0,
    changes bigint NOT NULL DEFAULT 0,
    last bigint NOT NULL DEFAULT 0
);
CREATE TABLE documents (
    tenant text NOT NULL,
    id bigint NOT NULL,
    source text NOT NULL,
    path text NOT NULL,
    digest text NOT NULL,
    size_bytes bigint NOT NULL,
    mtime_ns bigint NOT NULL,
    is_settled boolean NOT NULL,
    recipe text NOT NULL,
    day date,
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, source, path)
);
CREATE TABLE chunks (
    tenant text NOT NULL,
    id bigint NOT NULL,
    document bigint NOT NULL,
    start_line integer NOT NULL,
    end_line integer NOT NULL,
    digest bytea NOT NULL,
    length integer NOT NULL,
    heading text[] NOT NULL,
    prefix text NOT NULL,
    bag bytea NOT NULL,
    text text NOT NULL,
    day date,
    speaker text NOT NULL,
    moment text NOT NULL,
    importance integer,
    triggers text NOT NULL,
    PRIMARY KEY (tenant, id),
    FOREIGN KEY (tenant, document) REFERENCES documents (tenant, id) ON DELETE CASCADE
);
CREATE INDEX chunks_by_document ON chunks (tenant, document);
CREATE INDEX chunks_by_digest ON chunks (tenant, digest);
CREATE TABLE segments (
    tenant text NOT NULL,
    first bigint NOT NULL,
    last bigint NOT NULL,
    chunks integer NOT NULL,
    lengths bytea NOT NULL,
    ids bytea,
    removed bytea NOT NULL DEFAULT '',
    PRIMARY KEY (tenant, first)
);
CREATE TABLE postings (
    tenant text NOT NULL,
    segment bigint NOT NULL,
    term bigint NOT NULL,
    terms bytea NOT NULL,
    sizes bytea NOT NULL,
    places bytea NOT NULL,
    frequencies bytea NOT NULL,
    PRIMARY KEY (tenant, segment, term)
);
CREATE TABLE facts (
    tenant text NOT NULL,
    chunk bigint NOT NULL,
    id text NOT NULL,
    scope text NOT NULL,
    since timestamptz,
    until timestamptz,
    superseded_by text NOT NULL,
    PRIMARY KEY (tenant, chunk),
    FOREIGN KEY (tenant, chunk) REFERENCES chunks (tenant, id) ON DELETE CASCADE
);
CREATE INDEX facts_by_id ON facts (tenant, id);
CREATE TABLE media (
    tenant text NOT NULL,
    chunk bigint NOT NULL,
    content bytea NOT NULL,
    PRIMARY KEY (tenant, chunk),
    FOREIGN KEY (tenant, chunk) REFERENCES chunks (tenant, id) ON DELETE CASCADE
);
CREATE TABLE spaces (
    tenant text NOT NULL,
    fingerprint text NOT NULL,
    dimensions integer NOT NULL,
    mean double precision,
    deviation double precision,
    is_published boolean NOT NULL DEFAULT false,
    PRIMARY KEY (tenant, fingerprint)
);
CREATE TABLE meta (
    tenant text NOT NULL,
    key text NOT NULL,
    value text NOT NULL,
    PRIMARY KEY (tenant, key)
);
CREATE TABLE leases (
    tenant text NOT NULL,
    name text NOT NULL,
    token text NOT NULL,
    purpose text NOT NULL,
    pid bigint NOT NULL,
    host text NOT NULL,
    since double precision NOT NULL,
    beat double precision NOT NULL,
    PRIMARY KEY (tenant, name)
);
CREATE TABLE pushed (
    tenant text NOT NULL,
    path text NOT NULL,
    version bigint NOT NULL,
    digest text NOT NULL,
    size_bytes bigint NOT NULL,
    changed_ns bigint NOT NULL,
    content bytea NOT NULL,
    PRIMARY KEY (tenant, path)
);
CREATE TABLE pushed_versions (
    tenant text NOT NULL,
    path text NOT NULL,
    version bigint NOT NULL,
    digest text NOT NULL,
    size_bytes bigint NOT NULL,
    changed_ns bigint NOT NULL,
    content bytea NOT NULL,
    PRIMARY KEY (tenant, path, version)
);
CREATE TABLE word_codes (
    tenant text NOT NULL,
    fingerprint text NOT NULL,
    digest bytea NOT NULL,
    codes bytea NOT NULL,
    PRIMARY KEY (tenant, fingerprint, digest)
);
CREATE TABLE tokens (
    id text PRIMARY KEY,
    tenant text NOT NULL,
    digest bytea NOT NULL,
    label text NOT NULL,
    scopes text[],
    is_read_only boolean NOT NULL,
    created timestamptz NOT NULL DEFAULT now(),
    expires timestamptz
);
CREATE TABLE queue (
    tenant text PRIMARY KEY,
    changes bigint NOT NULL DEFAULT 1,
    failures integer NOT NULL DEFAULT 0,
    due timestamptz NOT NULL DEFAULT now(),
    claim text,
    claimed_until timestamptz
);
CREATE INDEX queue_by_due ON queue (due);
