"""What a result is written as comes back as what it was, in each format; whose bytes are PostgreSQL's is compared with
the server (tests/nodes/clients/test_formats_against_postgres.py)."""

import datetime as dt
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from expressions.dates.zones import TimeStyle, time_style
from expressions.errors import SqlError
from expressions.sqltypes import BOOL, DATE, FLOAT8, INT4, INT8, TEXT, TIMESTAMP, TIMESTAMPTZ, UUID, Type
from nodes.wire import oids
from nodes.wire.columns import Columns, Output, checked
from nodes.wire.messages import Field
from nodes.wire.parameters import values_of

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30)
VALUES: dict[Type, st.SearchStrategy[Any]] = {
    BOOL: st.booleans(),
    INT4: st.integers(-(2**31), 2**31 - 1),
    INT8: st.integers(-(2**63), 2**63 - 1),
    FLOAT8: st.floats(allow_nan=False),
    TEXT: TEXTS,
    DATE: st.dates(),
    TIMESTAMP: st.datetimes(),
    TIMESTAMPTZ: st.datetimes(dt.datetime(2, 1, 1), dt.datetime(9998, 1, 1), timezones=st.just(dt.UTC)),  # noqa: DTZ001
    UUID: st.uuids(),
}
STYLES = [time_style("UTC", "MDY"), time_style("Europe/Berlin", "DMY"), time_style("Asia/Kolkata", "YMD")]


@pytest.mark.parametrize("of", VALUES, ids=str)
@given(data=st.data())
def test_each_value_comes_back(of: Type, data: st.DataObject) -> None:
    value, style = data.draw(VALUES[of]), data.draw(st.sampled_from(STYLES))
    columns = Columns([Output("v", of)], style)
    for form, formats in ((0, ()), (0, (0,)), (1, (1,))):
        (write,) = columns.writers(formats)
        written = write(value)
        assert values_of([of.oid], [written], [form], style) == (value,), (written, form)
        assert write(None) is None


def test_each_column_has_its_format() -> None:
    columns = Columns([Output("n", INT4), Output("t", TEXT), Output("u", UUID)])

    def written(*formats: int) -> list[bytes | None]:
        row = (7, "x", uuid.UUID(int=1))
        return [write(value) for write, value in zip(columns.writers(formats), row, strict=True)]

    assert written() == [b"7", b"x", b"00000000-0000-0000-0000-000000000001"]
    assert written(1) == [bytes([0, 0, 0, 7]), b"x", bytes([*[0] * 15, 1])]
    assert written(1, 0, 0) == [bytes([0, 0, 0, 7]), b"x", b"00000000-0000-0000-0000-000000000001"]


@pytest.mark.parametrize(("formats", "count", "found"), [
    ((), 3, ()), ((0,), 3, ()), ((0, 0, 0), 3, ()), ((1,), 3, (1,)), ((0, 1, 0), 3, (0, 1, 0)), ((1,), None, (1,)),
])  # fmt: skip
def test_formats(formats: tuple[int, ...], count: int | None, found: tuple[int, ...]) -> None:
    assert checked(formats, count) == found


@pytest.mark.parametrize(("formats", "sqlstate"), [((2,), "22023"), ((-1, 0), "22023"), ((1, 1), "08P01")])
def test_formats_that_cannot_be(formats: tuple[int, ...], sqlstate: str) -> None:
    with pytest.raises(SqlError) as caught:
        checked(formats, 3)
    assert caught.value.sqlstate == sqlstate


def test_a_column_of_a_table_says_which_it_is() -> None:
    oids.forget_places()
    oids.know(5, 20_001, {3: 2})
    outputs = [Output("a", INT8, (5, 3)), Output("b", TEXT), Output("c", TEXT, (5, 4)), Output("d", TEXT, (6, 1))]
    columns = Columns(outputs, TimeStyle())
    assert [(f.table, f.column) for f in columns.fields] == [(20_001, 2), (0, 0), (0, 0), (0, 0)]
    assert columns.fields[:2] == (Field("a", 20, 8), Field("b", 25, -1))


def test_places_are_known_column_by_column_until_the_table_has_another_oid() -> None:
    oids.forget_places()
    oids.know(5, 20_001, {1: 1})
    oids.know(5, 20_001, {3: 2})
    assert oids.knows(5, [1, 3])
    assert not oids.knows(5, [1, 4])
    oids.know(5, 30_001, {3: 1})
    assert [oids.place(5, column) for column in (1, 3)] == [(0, 0), (30_001, 1)]
