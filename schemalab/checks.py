"""Django system checks for settings that contradict each other, each with an id and a hint."""

import ipaddress
from collections.abc import Iterator, Sequence
from typing import Any

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core import checks
from django.core.checks import CheckMessage, Error, register
from django.core.exceptions import ValidationError
from django.db import connection


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


@register("settings")
def check_settings(**_: Any) -> list[CheckMessage]:
    return [*_cluster_mistakes(), *_password_mistakes(), *_exposure_mistakes(), *_spark_mistakes()]


def _cluster_mistakes() -> Iterator[CheckMessage]:
    if settings.BUCKET_COUNT < settings.STORAGE_COUNT:
        yield Error(
            f"BUCKET_COUNT={settings.BUCKET_COUNT} is less than STORAGE_COUNT={settings.STORAGE_COUNT}: "
            "some storages would stay empty",
            hint="Set BUCKET_COUNT to a multiple of STORAGE_COUNT; 3000 is the default.",
            id="schemalab.E004",
        )


def _password_mistakes() -> Iterator[CheckMessage]:
    """The same rules as `nodes.services.set_sql_password`."""
    if not settings.NODE_PASSWORD:
        return
    try:
        validate_password(settings.NODE_PASSWORD)
    except ValidationError as weak:
        yield Error(
            f"NODE_PASSWORD is too weak: {' '.join(weak.messages)}",
            hint="Set one of at least ten characters, not only digits and not a common one: `openssl rand -base64 18`"
            " makes one. Or leave it empty, and the nodes on loopback.",
            id="schemalab.E011",
        )


@register(checks.Tags.database)
def check_earlier_version(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Before migrations: this code knows those of the database."""
    if not databases:
        return []
    from schemalab.connections.reachable import earlier_mistake

    with connection.cursor() as cursor:
        mistake = earlier_mistake(cursor)
    return [Error(mistake, id="schemalab.E010")] if mistake else []


@register(checks.Tags.database)
def check_layout(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Before migrations: rows lie where the settings say."""
    if not databases:
        return []
    from storage.postgres import layout_mistake  # and with it SQL's grammar, which most commands never need

    with connection.cursor() as cursor:
        mistake = layout_mistake(cursor, storages=settings.STORAGE_COUNT, buckets=settings.BUCKET_COUNT)
    if mistake is None:
        return []
    found, _colon, hint = mistake.partition(": ")
    return [Error(found, hint=f"{hint[0].upper()}{hint[1:]}.", id="schemalab.E008")]


def _exposure_mistakes() -> Iterator[CheckMessage]:
    if bool(settings.NODE_TLS_CERT) != bool(settings.NODE_TLS_KEY):
        given, missing = ("CERT", "KEY") if settings.NODE_TLS_CERT else ("KEY", "CERT")
        yield Error(
            f"NODE_TLS_{given} is set and NODE_TLS_{missing} is not: nodes need both to speak TLS",
            hint=f"Set NODE_TLS_{missing}, too, or neither.",
            id="schemalab.E009",
        )
    if not is_loopback(settings.NODE_HOST) and not (settings.NODE_TLS_CERT and settings.NODE_TLS_KEY):
        yield checks.Warning(
            f"NODE_HOST={settings.NODE_HOST} is reachable from other machines, and nodes speak no TLS: passwords are"
            " not sent, but what people read and write can be overheard and changed on the way",
            hint="Set NODE_TLS_CERT and NODE_TLS_KEY; or let the nodes listen on 127.0.0.1 behind a TLS tunnel, with"
            " NODE_PASSWORD so that they ask for passwords there; or use a network that nobody else can listen to.",
            id="schemalab.W003",
        )
    if settings.CHANGES_NEED_APPROVAL and not settings.NODE_PASSWORD:
        yield checks.Warning(
            "CHANGES_NEED_APPROVAL is on, and nodes believe every name on loopback: who reaches their ports there may"
            " submit a change as somebody else and approve it",
            hint="Set NODE_PASSWORD, so that nodes ask for passwords on loopback, too.",
            id="schemalab.W004",
        )
    if settings.DEBUG and not is_loopback(settings.HOST):
        yield Error(
            f"DEBUG is on while the page listens on {settings.HOST}: it would show settings to others",
            hint="Switch DEBUG off, or set HOST=127.0.0.1.",
            id="schemalab.E006",
        )
    if not is_loopback(settings.HOST) and not settings.PUBLIC_URL.startswith("https://"):
        yield checks.Warning(
            f"HOST={settings.HOST} is reachable from other machines without TLS: sessions can be overheard",
            hint="Put a TLS proxy in front and set PUBLIC_URL=https://..",
            id="schemalab.W001",
        )


def _spark_mistakes() -> Iterator[CheckMessage]:
    is_remote = settings.SPARK_MASTER.startswith("spark://")
    if not is_remote and not settings.SPARK_MASTER.startswith("local"):
        yield Error(
            f"SPARK_MASTER={settings.SPARK_MASTER} is not known here",
            hint="Set SPARK_MASTER to local[N] or spark://HOST:PORT.",
            id="schemalab.E007",
        )
    if is_remote and settings.IS_DATABASE_EMBEDDED:
        yield checks.Warning(
            f"SPARK_MASTER={settings.SPARK_MASTER}, but the embedded database listens on a unix socket only",
            hint="Spark's workers must run on this machine, or set DATABASE_URL to a server that all of them reach.",
            id="schemalab.W002",
        )
    if is_remote and not settings.SPARK_SECRET:
        yield checks.Warning(
            f"SPARK_MASTER={settings.SPARK_MASTER} without SPARK_SECRET: whoever reaches the master may run programs on"
            " its workers, and passwords of the database go over the network as they are",
            hint="Set spark.authenticate and its secret for the master and the workers, and SPARK_SECRET here.",
            id="schemalab.W005",
        )
