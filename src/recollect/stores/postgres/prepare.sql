-- A role is known to all databases of a server, so each database has groups of its own. An owner
-- that may not create roles or extensions finds them there.
DO $$ BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = {agent_name}) THEN
        CREATE ROLE {agent} NOLOGIN NOBYPASSRLS;
    END IF;
    IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = {server_name}) THEN
        CREATE ROLE {server} NOLOGIN NOBYPASSRLS IN ROLE {agent};
    END IF;
    IF NOT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'vector') THEN
        CREATE EXTENSION vector;
    END IF;
END $$;
CREATE SCHEMA IF NOT EXISTS recollect;
CREATE TABLE IF NOT EXISTS recollect.migrations (
    version integer PRIMARY KEY,
    name text NOT NULL,
    serves integer NOT NULL,
    applied timestamptz NOT NULL DEFAULT now()
);
