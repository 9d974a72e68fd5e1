"""After each `migrate`: brings the reader role to its allow list, and makes missing pair views of versions in use."""

from json import loads
from typing import Any

from django.conf import settings
from django.db import connections

from catalog.descriptor import from_json
from storage import pair_views
from storage.reader import role


def keep_reader(using: str, **_: Any) -> None:
    with connections[using].cursor() as cursor:
        cursor.execute(role.MAY_MAKE_ROLES_SQL)
        (may_make_roles,) = cursor.fetchone()
        if not may_make_roles:
            return
        for sql in role.IN_OUR_DATABASE if settings.IS_DATABASE_EMBEDDED else role.IN_ANY_DATABASE:
            cursor.execute(sql)


def keep_pair_views(using: str, **_: Any) -> None:
    """Makes the schema of pair views, the reader's rights, and missing views."""
    with connections[using].cursor() as cursor:
        cursor.execute(pair_views.MAKE_SCHEMA_SQL)
        cursor.execute(pair_views.GRANT_SQL)
        cursor.execute(pair_views.LACKING_SQL)
        for (body,) in cursor.fetchall():
            version = from_json(loads(body) if isinstance(body, str) else body)
            for sql in pair_views.make_sql(version, settings.STORAGE_COUNT):
                cursor.execute(sql)
