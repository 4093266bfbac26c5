-- The roles of a database for memories, each with no more than it needs. As superuser, in that
-- database: psql -d memories -f roles.sql, then `recollect store init` as recollect_owner.
-- Give the roles that log in their passwords with \password, or certificates.

CREATE EXTENSION IF NOT EXISTS vector;

-- Groups: agents see the rows of the tenant they name; servers also tokens and the queue.
CREATE ROLE recollect_agent NOLOGIN NOBYPASSRLS;
CREATE ROLE recollect_server NOLOGIN NOBYPASSRLS IN ROLE recollect_agent;

-- Owns the tables: `store init` and `store migrate`. Policies hold for it as well.
CREATE ROLE recollect_owner LOGIN;
DO $$ BEGIN
    EXECUTE format('GRANT CREATE ON DATABASE %I TO recollect_owner', current_database());
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
    EXECUTE format(
        'GRANT CONNECT ON DATABASE %I TO recollect_owner, recollect_agent', current_database());
END $$;

-- Sees all memories: `store index`, and backups with pg_dump.
CREATE ROLE recollect_operator LOGIN BYPASSRLS IN ROLE recollect_owner;

-- Logins of agents and servers.
CREATE ROLE memory_agents LOGIN CONNECTION LIMIT 200 IN ROLE recollect_agent;
CREATE ROLE memory_servers LOGIN CONNECTION LIMIT 100 IN ROLE recollect_server;

-- Sees statistics, no rows.
CREATE ROLE memory_monitor LOGIN IN ROLE pg_monitor;
DO $$ BEGIN
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO memory_monitor', current_database());
END $$;
