"""Texts of dates (dates.txt) mean to a node what they mean to PostgreSQL, in each order and zone, or are refused with
the same code; and moments are written alike, and local times meant alike, in zones all over the world."""

import datetime as dt
import random
from pathlib import Path

from catalog.values.errors import BadValue
from catalog.values.types import SqlType, to_text
from expressions.dates.reading import read
from expressions.dates.zones import TimeStyle, moment_text, time_style, to_utc
from tests.nodes.conftest import Cluster

TEXTS = Path(__file__).with_name("dates.txt").read_text().splitlines()
KINDS = (SqlType.DATE, SqlType.TIMESTAMP, SqlType.TIMESTAMPTZ)
SETTINGS = (("Europe/Berlin", "MDY"), ("UTC", "DMY"), ("America/New_York", "YMD"))
ZONES = (
    "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "America/Sao_Paulo",
    "Africa/Casablanca",    "Pacific/Apia", "Europe/Dublin", "Asia/Tehran", "GMT-3", "-7", "5.5", "Etc/GMT+4",
)  # fmt: skip
BEYOND = ("BC", "10000", "12024", "99999", "infinity")
"""A node stores dates of the years 1 to 9999."""


def ours(text: str, kind: SqlType, style: TimeStyle) -> str:
    try:
        value = read(kind, text, style, None)
    except BadValue as bad:
        return bad.sqlstate
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return moment_text(value, style.zone)
    return to_text(kind, value)


def test_texts_mean_what_they_mean_to_postgresql(cluster: Cluster) -> None:
    differences = []
    with cluster.store() as store:
        for zone, order in SETTINGS:
            store.execute(f"SET timezone = '{zone}'; SET datestyle = 'ISO, {order}'")
            for kind in KINDS:
                rows = store.execute(
                    f"SELECT t, CASE WHEN pg_input_is_valid(t, '{kind.value}') THEN t::{kind.value}::text"
                    f" ELSE (pg_input_error_info(t, '{kind.value}')).sql_error_code END FROM unnest(%s::text[]) AS t",
                    [TEXTS],
                ).fetchall()
                differences += [
                    f"{text!r} as {kind.value} in {zone}, {order}: PostgreSQL {theirs}, node {found}"
                    for text, theirs in rows
                    if (found := ours(text, kind, time_style(zone, order))) != theirs
                    and not (found == "22008" and any(word in theirs or word in text for word in BEYOND))
                ]
    assert [d for d in differences if "0001-01-01" not in d and "9999-12-31" not in d] == []


def test_moments_and_local_times_in_many_zones(cluster: Cluster) -> None:
    chance = random.Random(7)
    with cluster.store() as store:
        for name in ZONES:
            style = time_style(name, "MDY")
            store.execute("SELECT set_config('timezone', %s, false)", [name])
            assert store.execute("SHOW timezone").fetchone() == (style.zone.name,)
            moments = [
                dt.datetime(1850, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=chance.randrange(6_300_000_000))
                for _ in range(300)
            ]
            local = [m.replace(tzinfo=None) for m in moments] + hours_around_changes()
            written = store.execute("SELECT t::text FROM unnest(%b::timestamptz[]) AS t", [moments]).fetchall()
            assert [text for (text,) in written] == [moment_text(m, style.zone) for m in moments], name
            meant = store.execute(
                "SELECT extract(epoch FROM t::timestamptz)::float8 FROM unnest(%b::timestamp[]) AS t", [local]
            ).fetchall()
            assert [epoch for (epoch,) in meant] == [to_utc(t, style.zone).timestamp() for t in local], name


def hours_around_changes() -> list[dt.datetime]:
    """Half hours of the nights in which clocks are changed somewhere."""
    days = ("2024-03-10", "2024-03-31", "2024-10-27", "2024-11-03", "2024-04-07", "2024-10-06", "2011-12-30")
    return [dt.datetime.fromisoformat(day) + dt.timedelta(minutes=30 * n) for day in days for n in range(12)]
