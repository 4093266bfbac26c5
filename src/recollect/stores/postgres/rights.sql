-- Replaced and granted by every run, so that a database that was restored has them too.
--
-- `add_space` runs with the rights of the tables' owner, who may be the superuser, for any agent. An
-- agent's temporary objects come before all others unless the path has them last: then only names
-- in pg_catalog and names with a schema are found.
CREATE OR REPLACE FUNCTION guard(guarded regclass) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_policy WHERE polrelid = guarded) THEN
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', guarded);
        EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', guarded);
        EXECUTE format(
            'CREATE POLICY own_tenant ON %s
             USING (tenant = current_setting(''recollect.tenant'', true))', guarded);
    END IF;
    EXECUTE format(
        'GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO %I', guarded, {agent_name}::text);
END $$;

-- Takes nothing but a digest and a number. Several tenants may be the first of a space at once. The
-- table that another transaction has just created is not seen by `to_regclass`, lock or not: only
-- creating it again tells.
CREATE OR REPLACE FUNCTION add_space(space text, dimensions integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    vectors pg_catalog.text := 'recollect.vectors_' || space;
BEGIN
    IF space !~ '^[0-9a-f]{{16}}$' OR dimensions NOT BETWEEN 1 AND 16000 THEN
        RAISE EXCEPTION 'not a space: % with % dimensions', space, dimensions;
    END IF;
    PERFORM pg_advisory_xact_lock({lock});
    BEGIN
        EXECUTE format(
            'CREATE TABLE %s (tenant pg_catalog.text NOT NULL, digest pg_catalog.bytea NOT NULL,
             vector %s(%s) NOT NULL, PRIMARY KEY (tenant, digest))',
            vectors, {vector}::text, dimensions);
    EXCEPTION WHEN duplicate_table THEN
        RETURN;
    END;
    PERFORM recollect.guard(vectors::regclass);
    IF to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL THEN
        EXECUTE format(
            'SELECT create_distributed_table(%L, ''tenant'', colocate_with => %L)
             FROM pg_dist_partition WHERE logicalrelid = %L::regclass',
            vectors, 'recollect.tenants', 'recollect.tenants');
    END IF;
END $$;

REVOKE ALL ON FUNCTION guard, add_space FROM PUBLIC;
GRANT EXECUTE ON FUNCTION add_space TO {agent};
GRANT USAGE ON SCHEMA recollect TO {agent}, pg_monitor;
GRANT SELECT ON migrations TO {agent}, pg_monitor;
-- They span tenants, so they are not for the role of agents.
GRANT SELECT, INSERT, UPDATE, DELETE ON tokens, queue TO {server};
