-- News of a sandbox can be withheld from nodes for a lesson: nothing depends on news (L6), and who is not told learns of
-- a version as it renews. Only of a sandbox, whoever writes the row (SL201), and whoever reads asks for the mark again;
-- only for a short time, so that it ends by itself, whatever becomes of who asked for it.

CREATE FUNCTION leases_news_is_withheld_so() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM catalog_table t WHERE t.id = NEW.table_id AND t.sandbox_of IS NOT NULL) THEN
        RAISE EXCEPTION 'table % is no sandbox: its news is withheld from no node', NEW.table_id USING ERRCODE = 'SL201';
    END IF;
    NEW.until := least(NEW.until, clock_timestamp() + interval '150 s');
    RETURN NEW;
END $$;
CREATE TRIGGER news_is_withheld_so BEFORE INSERT OR UPDATE ON leases_withheldnews
    FOR EACH ROW EXECUTE FUNCTION leases_news_is_withheld_so();

CREATE VIEW leases_news_withheld_now AS
    SELECT w.table_id, w.node
    FROM leases_withheldnews w JOIN catalog_table t ON t.id = w.table_id AND t.sandbox_of IS NOT NULL
    WHERE w.until > clock_timestamp();
