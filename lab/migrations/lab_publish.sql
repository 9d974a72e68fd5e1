-- The one door past L7 and the fence: publishes a version of a sandbox and waits for nobody, whoever still uses which
-- older one. For any other table it raises, whoever calls. It keeps what has nothing to do with those two rules: one
-- publisher at a time (the table's row), versions without gaps, no version under a change on its way (X1), the
-- storages' copies (T2), the story.
-- Refusals: SL201 no sandbox, or somebody else's; SL203 not this version, or not now.

CREATE FUNCTION lab_publish(p_table int, p_owner text, p_body jsonb, p_schema_hash text, p_sharding_hash text, p_what text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_name text;
    v_version int;
    v_state text;
    v_owner text;
    v_new int := (p_body ->> 'version')::int;
    v_storage int;
    v_storages int;
BEGIN
    SELECT t.name, t.version, t.state, t.sandbox_of INTO v_name, v_version, v_state, v_owner
    FROM catalog_table t WHERE t.id = p_table FOR UPDATE;
    IF v_owner IS NULL THEN
        RAISE EXCEPTION 'table % is no sandbox: its versions are published by the rules', coalesce(v_name, p_table::text)
            USING ERRCODE = 'SL201', HINT = 'make a sandbox: a table that exists never becomes one';
    ELSIF v_owner IS DISTINCT FROM p_owner THEN
        RAISE EXCEPTION 'sandbox % belongs to %', v_name, v_owner USING ERRCODE = 'SL201';
    ELSIF v_state <> 'live' THEN
        RAISE EXCEPTION 'sandbox % is %', v_name, v_state USING ERRCODE = 'SL203';
    ELSIF EXISTS (SELECT FROM changes_claim c WHERE c.table_id = p_table) THEN
        RAISE EXCEPTION 'a change moves sandbox %', v_name USING ERRCODE = 'SL203';
    ELSIF v_new IS DISTINCT FROM v_version + 1 OR (p_body ->> 'table_id')::int IS DISTINCT FROM p_table
        OR p_body ->> 'name' IS DISTINCT FROM v_name OR p_body ->> 'state' IS DISTINCT FROM 'public'
    THEN
        RAISE EXCEPTION 'sandbox % is at version %: this is not its next one', v_name, v_version
            USING ERRCODE = 'SL203';
    END IF;

    INSERT INTO catalog_descriptor (table_id, version, body, schema_hash, sharding_hash, modified_at)
    VALUES (p_table, v_new, p_body, p_schema_hash, p_sharding_hash, clock_timestamp());
    SELECT existing INTO v_storages FROM storage_layout FOR SHARE;
    FOR v_storage IN 1 .. v_storages LOOP
        EXECUTE format('INSERT INTO storage_%s.versions (table_id, version, schema_hash, sharding_hash)'
            ' VALUES ($1, $2, $3, $4)', v_storage) USING p_table, v_new, p_schema_hash, p_sharding_hash;
    END LOOP;
    UPDATE catalog_table SET version = v_new WHERE id = p_table;
    PERFORM catalog_tell(ARRAY['cluster', 'table:' || p_table], 'version published by the lab', v_name,
        jsonb_build_object('table', v_name, 'version', v_new, 'who', p_owner, 'what', p_what));
END $$;
