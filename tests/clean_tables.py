"""Empties the tables that a test has filled, and only those: Django flushes every table and makes content types and
permissions anew, which takes longer than most tests. Rows of a migration stay, as long as no test changes them."""

from django.core.management import call_command
from django.db import connection, transaction

MIGRATED = ("auth_group", "auth_group_permissions", "auth_permission", "django_content_type", "django_migrations")


class TableCleaner:
    """Knows the tables of a freshly migrated database."""

    def __init__(self) -> None:
        known = connection.introspection.django_table_names(only_existing=True)
        self._tables = sorted(set(known) - set(MIGRATED))
        self._filled = "SELECT array_remove(ARRAY[{}], NULL)".format(
            ", ".join(f"CASE WHEN EXISTS (SELECT FROM {table}) THEN '{table}' END" for table in self._tables)
        )
        self._rows = " UNION ALL ".join(
            f"SELECT '{table}', count(*), sum(hashtext(t::text)::bigint) FROM {table} t" for table in MIGRATED
        )
        self._migrated = self._look()

    def clean(self) -> None:
        """Delete the rows of all tables, or flush and migrate anew where a test has changed what migrations made."""
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(self._filled)
            filled = cursor.fetchone()[0]
            if filled:
                cursor.execute("SET LOCAL session_replication_role = replica")  # foreign keys: all rows go
                cursor.execute("; ".join(f"DELETE FROM {table}" for table in filled))
        if self._look() != self._migrated:
            call_command("flush", verbosity=0, interactive=False)
            self._migrated = self._look()

    def _look(self) -> list[tuple[str, int, int]]:
        with connection.cursor() as cursor:
            cursor.execute(self._rows)
            return cursor.fetchall()
