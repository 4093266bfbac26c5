-- The roles of a database for memories, each with no more than it needs. As superuser, in that
-- database: psql -d memories -f roles.sql, then `recollect server init` as memories_owner. All names
-- begin with or contain that of the database, because a role is known to all databases of a server.
-- Give the roles that log in their passwords with \password, or certificates.

\set owner :DBNAME _owner
\set operator :DBNAME _operator
\set agents :DBNAME _agents
\set servers :DBNAME _servers
\set monitor :DBNAME _monitor
\set agent_group recollect_agent_ :DBNAME
\set server_group recollect_server_ :DBNAME

CREATE EXTENSION IF NOT EXISTS vector;

-- Groups: agents see the rows of the tenant they name; servers also tokens and the queue.
CREATE ROLE :"agent_group" NOLOGIN NOBYPASSRLS;
CREATE ROLE :"server_group" NOLOGIN NOBYPASSRLS IN ROLE :"agent_group";

-- Owns the tables: `server init`. Policies hold for it as well.
CREATE ROLE :"owner" LOGIN;

-- Sees all memories: `server index`, and backups with pg_dump.
CREATE ROLE :"operator" LOGIN BYPASSRLS IN ROLE :"owner";

-- Logins of agents and servers.
CREATE ROLE :"agents" LOGIN CONNECTION LIMIT 200 IN ROLE :"agent_group";
CREATE ROLE :"servers" LOGIN CONNECTION LIMIT 100 IN ROLE :"server_group";

-- Sees statistics, no rows.
CREATE ROLE :"monitor" LOGIN IN ROLE pg_monitor;

-- Nobody else may connect, and no agent may create temporary objects. A dump does not have these
-- lines: after a restore into a new database, run them again.
REVOKE ALL ON DATABASE :"DBNAME" FROM PUBLIC;
GRANT CREATE ON DATABASE :"DBNAME" TO :"owner";
GRANT CONNECT ON DATABASE :"DBNAME" TO :"owner", :"agent_group", :"monitor";
