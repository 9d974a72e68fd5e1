-- X1: a change that moves has a claim on each of its tables, and a table has room for one.
--
-- Claims are made in the order of the tables' ids; a second change waits for the first one's transaction, and is refused
-- (23505) if that one commits. They come when a change begins to move, and go when it has ended.

CREATE FUNCTION changes_claim_tables() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO changes_claim (table_id, change_id)
    SELECT DISTINCT table_id, NEW.id FROM unnest(NEW.table_ids) AS table_id ORDER BY table_id;
    RETURN NULL;
END
$$;

CREATE FUNCTION changes_free_tables() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM changes_claim WHERE change_id = NEW.id;
    RETURN NULL;
END
$$;

CREATE TRIGGER changes_claim_tables AFTER UPDATE OF status ON changes_change FOR EACH ROW
    WHEN (OLD.status IN ('awaiting', 'queued', 'done', 'failed', 'cancelled')
          AND NEW.status IN ('running', 'waiting', 'paused', 'rolling_back'))
    EXECUTE FUNCTION changes_claim_tables();

CREATE TRIGGER changes_claim_tables_of_new AFTER INSERT ON changes_change FOR EACH ROW
    WHEN (NEW.status IN ('running', 'waiting', 'paused', 'rolling_back'))
    EXECUTE FUNCTION changes_claim_tables();

CREATE TRIGGER changes_free_tables AFTER UPDATE OF status ON changes_change FOR EACH ROW
    WHEN (NEW.status IN ('awaiting', 'queued', 'done', 'failed', 'cancelled'))
    EXECUTE FUNCTION changes_free_tables();
