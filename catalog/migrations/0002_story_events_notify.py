"""A committed story event notifies whoever listens of its stream and number."""

from django.db import migrations

NOTIFY = """
CREATE FUNCTION catalog_notify_story() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('schemalab_story', NEW.stream || ' ' || NEW.seq);
    RETURN NULL;
END $$;
CREATE TRIGGER a_story_event_notifies AFTER INSERT ON catalog_storyevent
    FOR EACH ROW EXECUTE FUNCTION catalog_notify_story();
"""
SILENCE = "DROP TRIGGER a_story_event_notifies ON catalog_storyevent; DROP FUNCTION catalog_notify_story();"


class Migration(migrations.Migration):
    dependencies = [("catalog", "0001_catalog_and_story")]

    operations = [migrations.RunSQL(NOTIFY, SILENCE)]
