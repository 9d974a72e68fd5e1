"""Dates as a session reads and writes them; many more forms are compared with PostgreSQL itself
(tests/nodes/execution/test_dates_against_postgres.py)."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.values.errors import BadValue
from catalog.values.types import SqlType, to_text
from expressions.analysis.analyzer import Analyzer
from expressions.analysis.building import Parameters
from expressions.analysis.scopes import Scope
from expressions.dates.reading import NeedsNow, read
from expressions.dates.zones import UnknownZone, moment_text, time_style, to_utc, zone_named
from expressions.rows import parsed
from expressions.typed import Context, Literal, evaluate

NOON = dt.datetime(2024, 7, 1, 22, 30, tzinfo=dt.UTC)


@pytest.mark.parametrize(("kind", "zone", "order", "text", "value"), [
    pytest.param("date", "UTC", "MDY", "2/3/2004", "2004-02-03", id="the month first"),
    pytest.param("date", "UTC", "DMY", "2/3/2004", "2004-03-02", id="the day first"),
    pytest.param("date", "UTC", "YMD", "4/2/3", "2004-02-03", id="the year first"),
    pytest.param("date", "UTC", "MDY", "Feb 29, 2024", "2024-02-29", id="a month's name"),
    pytest.param("date", "UTC", "MDY", "2024-02-29 +01", "2024-02-29", id="a zone, as JDBC sends it"),
    pytest.param("date", "UTC", "MDY", "J2451187", "1999-01-08", id="a Julian day"),
    pytest.param("timestamp", "Asia/Tokyo", "MDY", "2024-02-29 4:05 PM", "2024-02-29 16:05:00", id="afternoon"),
    pytest.param("timestamp", "UTC", "MDY", "20240229T040506", "2024-02-29 04:05:06", id="run together"),
    pytest.param("timestamptz", "Europe/Berlin", "MDY", "2024-07-01 10:00", "2024-07-01 08:00:00+00", id="there"),
    pytest.param("timestamptz", "Europe/Berlin", "MDY", "2024-03-31 02:30", "2024-03-31 01:30:00+00", id="in the gap"),
    pytest.param("timestamptz", "Europe/Berlin", "MDY", "2024-10-27 02:30", "2024-10-27 01:30:00+00", id="twice"),
    pytest.param("timestamptz", "UTC", "MDY", "2024-07-01 10:00 America/Lima", "2024-07-01 15:00:00+00", id="named"),
    pytest.param("timestamptz", "UTC", "MDY", "epoch", "1970-01-01 00:00:00+00", id="epoch"),
    pytest.param("timestamptz", "Asia/Tokyo", "MDY", "tomorrow 13:00", "2024-07-03 04:00:00+00", id="tomorrow there"),
    pytest.param("timestamptz", "Asia/Tokyo", "MDY", "now", "2024-07-01 22:30:00+00", id="now"),
])  # fmt: skip
def test_forms_of_dates(kind: str, zone: str, order: str, text: str, value: str) -> None:
    sql_type = SqlType(kind)
    assert to_text(sql_type, read(sql_type, text, time_style(zone, order), NOON)) == value


@pytest.mark.parametrize(("text", "sqlstate"), [
    ("2024-13-01", "22008"), ("2024-02-30", "22008"), ("2024", "22007"), ("foo", "22007"), ("", "22007"),
    ("2024-02-29 25:00", "22008"), ("2024-02-29 10:00+16", "22009"), ("2024-02-29 10:00 Mars/Phobos", "22023"),
    ("infinity", "22008"), ("January 8, 99 BC", "22008"), ("10000-01-01", "22008"), ("1 " * 200, "22007"),
    ("2024-02-29 ٣", "22007"), ("000,366", "22008"), ("999999999999/366", "22008"), ("12²z000today", "22007"),
    ("²", "22007"), ("2024-02-29 10:00 " + "1" * 100, "22007"), ("9" * 100, "22008"),
])  # fmt: skip
def test_what_is_no_date(text: str, sqlstate: str) -> None:
    with pytest.raises(BadValue) as caught:
        read(SqlType.TIMESTAMPTZ, text, time_style("UTC", "MDY"), None)
    assert caught.value.sqlstate == sqlstate


def test_moments_are_written_in_the_zone_of_the_session() -> None:
    def shown(zone: str, text: str) -> str:
        return moment_text(dt.datetime.fromisoformat(text), zone_named(zone))

    assert shown("Europe/Berlin", "2024-01-01 00:00:00.500+00:00") == "2024-01-01 01:00:00.5+01"
    assert shown("Asia/Kolkata", "2024-01-01 00:00:00+00:00") == "2024-01-01 05:30:00+05:30"
    assert shown("Europe/Berlin", "1890-07-01 00:00:00+00:00") == "1890-07-01 00:53:28+00:53:28"
    assert shown("America/New_York", "0001-01-01 00:00:00+00:00") == "0001-12-31 19:03:58-04:56:02 BC"
    assert shown("Asia/Tokyo", "9999-12-31 23:00:00+00:00") == "10000-01-01 08:00:00+09"
    assert shown("-7", "2024-01-01 00:00:00+00:00") == "2023-12-31 17:00:00-07"


def test_a_local_time_at_the_edge_of_the_calendar_is_out_of_range() -> None:
    with pytest.raises(OverflowError):
        to_utc(dt.datetime.fromisoformat("0001-01-01 00:00:00"), zone_named("Asia/Tokyo"))


@pytest.mark.parametrize("name", ["", "Mars", "localtime", "GMT+99", "<x>1", "1e9", "posixrules/x", "../etc/passwd"])
def test_names_that_are_no_zone(name: str) -> None:
    with pytest.raises(UnknownZone):
        zone_named(name)


def test_a_name_is_no_longer_than_postgresql_takes_one() -> None:
    assert zone_named("A" * 253 + "+1").rules == dt.timezone(dt.timedelta(hours=-1))
    with pytest.raises(UnknownZone):
        zone_named("A" * 254 + "+1")


def test_a_literal_that_means_now_is_worked_out_by_each_transaction() -> None:
    analyzer = Analyzer(Parameters(), style=time_style("Asia/Tokyo", "MDY"))
    expr = analyzer.expr(parsed("date 'today'"), Scope())
    assert not isinstance(expr, Literal)
    assert evaluate(expr, {}, Context((), NOON)) == dt.date(2024, 7, 2)
    with pytest.raises(NeedsNow):
        read(SqlType.DATE, "today", time_style("UTC", "MDY"), None)


KINDS = (SqlType.DATE, SqlType.TIMESTAMP, SqlType.TIMESTAMPTZ)
PIECES = (
    "jan", "2024", "-", "/", ":", ".", "+", "12", "31", "99", "t", "j", "bc", "pm", "now", "tomorrow", "epoch", "z",
    " ", "allballs", "Europe/Berlin", "gmt", "+3", "00", "24", "366", "000", "10000", ",", "_", "²", "٣",
    "ß", "İ", "julian", "<-07>+07", "infinity",
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=8), st.sampled_from(KINDS), st.booleans())
def test_any_text_is_a_date_or_refused(pieces: list[str], kind: SqlType, has_now: bool) -> None:
    style = time_style("Asia/Tokyo", "DMY")
    try:
        value = read(kind, "".join(pieces), style, NOON if has_now else None)
    except (BadValue, NeedsNow):
        return
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        assert moment_text(value, style.zone)
