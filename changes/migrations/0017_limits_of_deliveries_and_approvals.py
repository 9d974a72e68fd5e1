"""Deliveries are asked for once at a time and forgotten in small numbers; a change that awaits approval has no claim.

Backwards, changes that await approval end as cancelled, and the names of tables that they would have made are free:
what came before knows no such changes.
"""

from django.db import migrations, models

CLAIM = """
DROP TRIGGER changes_claim_tables ON changes_change;
CREATE TRIGGER changes_claim_tables AFTER UPDATE OF status ON changes_change FOR EACH ROW
    WHEN (OLD.status IN ({at_rest}) AND NEW.status IN ('running', 'waiting', 'paused', 'rolling_back'))
    EXECUTE FUNCTION changes_claim_tables();
DROP TRIGGER changes_free_tables ON changes_change;
CREATE TRIGGER changes_free_tables AFTER UPDATE OF status ON changes_change FOR EACH ROW
    WHEN (NEW.status IN ({at_rest})) EXECUTE FUNCTION changes_free_tables();
"""
AT_REST = "'queued', 'done', 'failed', 'cancelled'"
END_AWAITING = """
UPDATE catalog_table SET state = 'dropped' WHERE state = 'reserved' AND id IN (
    SELECT unnest(table_ids) FROM changes_change WHERE status = 'awaiting');
UPDATE changes_change SET status = 'cancelled', ended_at = clock_timestamp() WHERE status = 'awaiting';
"""


class Migration(migrations.Migration):
    dependencies = [("changes", "0016_approvals")]

    operations = [
        migrations.AddField("delivery", "asked_until", models.DateTimeField(null=True)),
        migrations.AddIndex("delivery", models.Index(fields=["ended_at"], name="deliveries_by_their_end")),
        migrations.RunSQL(CLAIM.format(at_rest=f"'awaiting', {AT_REST}"), CLAIM.format(at_rest=AT_REST)),
        migrations.RunSQL(migrations.RunSQL.noop, END_AWAITING),
    ]
