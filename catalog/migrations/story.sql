-- Number and store one fact in each of its streams, inside the caller's transaction.
-- The counter row is the lock: whoever holds it commits before the next number is given,
-- so a stream has no gaps and its order is commit order. Locked in name order (L14).
CREATE FUNCTION catalog_tell(p_streams text[], p_kind text, p_subject text, p_payload jsonb) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
    told jsonb := '[]';
    stream_name text;
    stream_seq bigint;
    told_at timestamptz := clock_timestamp();
BEGIN
    FOR stream_name IN SELECT DISTINCT s FROM unnest(p_streams) s ORDER BY s LOOP
        INSERT INTO catalog_stream AS counter (name, seq) VALUES (stream_name, 1)
            ON CONFLICT (name) DO UPDATE SET seq = counter.seq + 1
            RETURNING seq INTO stream_seq;
        INSERT INTO catalog_storyevent (stream, seq, kind, subject, payload, at)
            VALUES (stream_name, stream_seq, p_kind, p_subject, p_payload, told_at);
        told := told || jsonb_build_object(
            'stream', stream_name, 'seq', stream_seq, 'kind', p_kind, 'subject', p_subject,
            'payload', p_payload, 'at', to_char(told_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US+00:00'));
    END LOOP;
    RETURN told;
END $$;

-- A committed event notifies its listeners of its stream and number.
CREATE FUNCTION catalog_notify_story() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('schemalab_story', NEW.stream || ' ' || NEW.seq);
    RETURN NULL;
END $$;
CREATE TRIGGER a_story_event_notifies AFTER INSERT ON catalog_storyevent
    FOR EACH ROW EXECUTE FUNCTION catalog_notify_story();
