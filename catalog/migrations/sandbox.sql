-- A sandbox is a table on which the lab may break the rules of the protocol. The mark is the name of its owner: given
-- with the row, by nobody afterwards, and taken from no table that has it. No foreign key leads from or to it, so that
-- what is broken there is broken nowhere else. Refusals: SL201 the mark, SL202 a foreign key.

CREATE FUNCTION catalog_sandbox_is_made_so() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.sandbox_of IS NOT NULL AND (NEW.version <> 0 OR NEW.state <> 'reserved') THEN
            RAISE EXCEPTION 'table % is no sandbox: a table becomes one when its name is reserved, never later', NEW.name
                USING ERRCODE = 'SL201';
        END IF;
    ELSIF NEW.sandbox_of IS DISTINCT FROM OLD.sandbox_of THEN
        RAISE EXCEPTION 'table %: whether a table is a sandbox, and whose, never changes', OLD.name
            USING ERRCODE = 'SL201', HINT = 'make a new sandbox';
    ELSIF NEW.sandbox_of IS NOT NULL AND NEW.id <> OLD.id THEN
        RAISE EXCEPTION 'table %: the id of a sandbox never changes', OLD.name USING ERRCODE = 'SL201';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER a_sandbox_is_made_so BEFORE INSERT OR UPDATE ON catalog_table
    FOR EACH ROW EXECUTE FUNCTION catalog_sandbox_is_made_so();

CREATE FUNCTION catalog_sandbox_stands_alone() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_name text;
BEGIN
    SELECT c ->> 'name' INTO v_name
    FROM jsonb_array_elements(NEW.body -> 'constraints') c
    WHERE c ->> 'rule' IN ('foreign key', 'referenced') AND EXISTS (
        SELECT FROM catalog_table t
        WHERE t.id IN (NEW.table_id, (c ->> 'references')::int) AND t.sandbox_of IS NOT NULL
    ) LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'foreign key % touches a sandbox: none leads from or to it', v_name USING ERRCODE = 'SL202';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER a_sandbox_stands_alone BEFORE INSERT OR UPDATE ON catalog_descriptor
    FOR EACH ROW EXECUTE FUNCTION catalog_sandbox_stands_alone();
