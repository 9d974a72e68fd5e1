"""The reader role follows its allow list after each `migrate`, so that a change of the list needs no migration."""

from typing import Any

from django.conf import settings
from django.db import connections

from storage.reader import role


def keep_reader(using: str, **_: Any) -> None:
    """Makes the role that runs users' texts, where the database lets us: `up` reports where it does not."""
    with connections[using].cursor() as cursor:
        cursor.execute(role.MAY_MAKE_ROLES_SQL)
        (may_make_roles,) = cursor.fetchone()
        if not may_make_roles:
            return
        for sql in role.IN_OUR_DATABASE if settings.IS_DATABASE_EMBEDDED else role.IN_ANY_DATABASE:
            cursor.execute(sql)
