"""A parameter in binary is what its declared type says, or refused: never bytes read as another type."""

import datetime as dt
import random
import struct
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from psycopg.adapt import PyFormat, Transformer
from psycopg.types.array import ListBinaryDumper, ListDumper
from psycopg.types.numeric import DecimalBinaryDumper

from catalog.values.arrays import ELEMENTS_MAX
from expressions.errors import SqlError
from expressions.sqltypes import PARAMETER_OIDS
from nodes.wire.parameters import ELEMENT_OIDS, array_bytes, values_of

NUMERIC = 1700


def one(oid: int, data: bytes, form: int = 1) -> Any:
    return values_of([oid], [data], [form])[0]


def refusal(oid: int, data: bytes, form: int = 1) -> str:
    with pytest.raises(SqlError) as caught:
        one(oid, data, form)
    return caught.value.sqlstate


@pytest.mark.parametrize(("oid", "data", "value"), [
    pytest.param(16, b"\1", True, id="boolean"),
    pytest.param(21, struct.pack("!h", -5), -5, id="smallint"),
    pytest.param(23, struct.pack("!i", -(2**31)), -(2**31), id="integer"),
    pytest.param(20, struct.pack("!q", 2**63 - 1), 2**63 - 1, id="bigint"),
    pytest.param(869, b"\x02\x20", b"\x02\x20", id="a type that no column has, as it came"),
    pytest.param(700, struct.pack("!f", 0.1), struct.unpack("!f", struct.pack("!f", 0.1))[0], id="real"),
    pytest.param(701, struct.pack("!d", 0.1), 0.1, id="double"),
    pytest.param(25, "ä".encode(), "ä", id="text"),
    pytest.param(1043, b"a ", "a ", id="varchar"),
    pytest.param(1042, b"a  ", "a", id="char, which is shown with blanks that do not count"),
    pytest.param(1082, struct.pack("!i", -1), dt.date(1999, 12, 31), id="date"),
    pytest.param(1114, struct.pack("!q", 1), dt.datetime.fromisoformat("2000-01-01 00:00:00.000001"), id="timestamp"),
    pytest.param(1184, struct.pack("!q", 0), dt.datetime(2000, 1, 1, tzinfo=dt.UTC), id="timestamptz"),
    pytest.param(2950, bytes(16), UUID(int=0), id="uuid"),
])  # fmt: skip
def test_binary_forms(oid: int, data: bytes, value: Any) -> None:
    assert one(oid, data) == value


LENGTHS = {16: 1, 21: 2, 23: 4, 20: 8, 700: 4, 701: 8, 1082: 4, 1114: 8, 1184: 8, 2950: 16, NUMERIC: 8,
           1083: 8, 1186: 16}  # fmt: skip
TEXTS = (19, 25, 1042, 1043)
BYTES = (17,)
ARRAYS = [oid for oid, of in PARAMETER_OIDS.items() if of.element is not None]


DOCUMENTS = {114: b'{"b": 1, "a":2}', 3802: b'\x01{"b": 1, "a":2}'}


@pytest.mark.parametrize(("oid", "data"), DOCUMENTS.items())
def test_a_document_is_read_behind_its_version(oid: int, data: bytes) -> None:
    assert one(oid, data) == ('{"a": 2, "b": 1}' if oid == 3802 else '{"b": 1, "a":2}')
    for bad in (b"", data[:-1], data + b"}"):
        assert refusal(oid, bad) == ("22P03" if oid == 3802 and not bad else "22P02")
    assert refusal(3802, b"\x02{}") == "22P03"


def test_every_type_has_a_binary_form() -> None:
    assert {*LENGTHS, *TEXTS, *BYTES, *DOCUMENTS, *ARRAYS} == PARAMETER_OIDS.keys() - {26}


@pytest.mark.parametrize("oid", ARRAYS)
def test_an_array_of_another_length_is_refused(oid: int) -> None:
    empty = struct.pack("!iii", 0, 0, ELEMENT_OIDS[oid])
    assert one(oid, empty) == ()
    assert [refusal(oid, data) for data in (b"", empty[:3], empty[:11])] == ["08P01"] * 3
    assert [refusal(oid, data) for data in (empty + b"\0", empty + bytes(8))] == ["22P03"] * 2


def packed(*items: bytes | None, element: int = 23, dimensions: int = 1, flag: int = 0, first: int = 1) -> bytes:
    """An array of one dimension, whatever it says of itself."""
    parts = (b"\xff\xff\xff\xff" if i is None else struct.pack("!i", len(i)) + i for i in items)
    return struct.pack("!iiiii", dimensions, flag, element, len(items), first) + b"".join(parts)


SEVEN = struct.pack("!i", 7)


@pytest.mark.parametrize(("data", "sqlstate"), [
    pytest.param(packed(b"x", element=25), "42804", id="elements of another type"),
    pytest.param(packed(packed(SEVEN), element=1007), "42804", id="arrays as elements"),
    pytest.param(packed(SEVEN, dimensions=2), "0A000", id="two dimensions"),
    pytest.param(packed(SEVEN, first=0), "0A000", id="counted from 0"),
    pytest.param(packed(SEVEN, flag=2), "22P03", id="a flag that does not exist"),
    pytest.param(packed(b"\0"), "08P01", id="an element that is too short"),
    pytest.param(packed(bytes(5)), "22P03", id="an element that is too long"),
    pytest.param(packed(SEVEN) + b"x", "22P03", id="something behind it"),
    pytest.param(packed(SEVEN)[:-1], "22P03", id="the end is missing"),
    pytest.param(struct.pack("!iiiiii", 1, 0, 23, 1, 1, -2), "22P03", id="a length below that of NULL"),
    pytest.param(struct.pack("!iiiii", 1, 0, 23, -1, 1), "22P03", id="fewer than no elements"),
    pytest.param(struct.pack("!iiiii", 1, 0, 23, 2**31 - 1, 1), "54000", id="more than there may be"),
])  # fmt: skip
def test_an_array_that_is_none_is_refused(data: bytes, sqlstate: str) -> None:
    assert one(1007, packed(SEVEN, None, flag=1)) == (7, None)
    assert refusal(1007, data) == sqlstate


@pytest.mark.parametrize("form", [0, 1])
def test_all_arrays_of_one_bind_count_together(form: int) -> None:
    def array(count: int) -> bytes:
        text = b"{" + b",".join([b"t"] * count) + b"}"
        return packed(*[b"\1"] * count, element=16) if form else text

    most = [array(ELEMENTS_MAX // 2)] * 2
    assert sum(map(len, values_of([1000] * 2, most, [form] * 2))) == ELEMENTS_MAX
    with pytest.raises(SqlError, match="at most 131072 elements"):
        values_of([1000] * 3, [*most, array(1)], [form] * 3)
    assert refusal(1000, array(ELEMENTS_MAX + 1), form) == "54000"
    assert refusal(1000, b"{" + b"t," * 2**19, 0) == "54000"
    assert array_bytes([1000, 25, 1000], [b"123", b"12", None]) == 3


def test_blanks_at_the_end_of_an_arrays_chars_do_not_count() -> None:
    assert one(1014, packed(b"a  ", None, b" b", element=1042)) == ("a", None, " b")


@pytest.mark.parametrize("items", [[1, None, -7], [2**40], ["a", "", None, '{"x"}'], [True, None], [1.5, float("inf")]])
def test_arrays_are_read_as_drivers_write_them(items: list[Any]) -> None:
    for form, dumper in ((0, ListDumper), (1, ListBinaryDumper)):
        typed = dumper(list, Transformer()).upgrade(items, PyFormat.BINARY if form else PyFormat.TEXT)
        assert one(typed.oid or 1009, bytes(typed.dump(items) or b""), form) == tuple(items)


@pytest.mark.parametrize("oid", LENGTHS)
@pytest.mark.parametrize("length", [0, 1, 2, 3, 4, 5, 8, 9, 15, 16, 17])
def test_another_length_is_refused(oid: int, length: int) -> None:
    if length != LENGTHS[oid]:
        assert refusal(oid, bytes(length)) == ("08P01" if length < LENGTHS[oid] else "22P03")


@pytest.mark.parametrize("text", [
    "0", "0.00", "1", "-1", "10000", "99999999", "0.1", "-0.0001", "12345.6789", "1e20", "1e-20",
    "123456789012345678.9", "NaN", "Infinity", "-Infinity",
])  # fmt: skip
def test_a_numeric_is_the_number_that_its_text_is(text: str) -> None:
    data = bytes(DecimalBinaryDumper(Decimal).dump(Decimal(text)) or b"")
    assert str(one(NUMERIC, data)) == str(one(NUMERIC, text.encode(), 0))


def test_numerics_at_random() -> None:
    dumper, chance = DecimalBinaryDumper(Decimal), random.Random(4)
    for _ in range(300):
        number = Decimal(chance.randint(-(10**18), 10**18)).scaleb(chance.randint(-30, 30))
        assert one(NUMERIC, bytes(dumper.dump(number) or b"")) == number


@pytest.mark.parametrize(("data", "sqlstate"), [
    pytest.param(struct.pack("!HhHH", 1, 0, 0, 0), "08P01", id="a digit is missing"),
    pytest.param(struct.pack("!HhHHH", 0, 0, 0, 0, 1), "22P03", id="a digit too many"),
    pytest.param(struct.pack("!HhHHH", 1, 0, 0, 0, 10_000), "22P03", id="no digit of base 10000"),
    pytest.param(struct.pack("!HhHHH", 1, 0, 0x1234, 0, 1), "22P03", id="no sign"),
    pytest.param(struct.pack("!HhHHH", 1, 32767, 0, 0, 1), "54000", id="more digits than a node works with"),
    pytest.param(struct.pack("!HhHHH", 1, 0, 0, 16_384, 1), "22P03", id="more digits behind the point than there are"),
    pytest.param(struct.pack("!d", 1.5), "08P01", id="a double under its name"),
])  # fmt: skip
def test_a_numeric_that_is_none_is_refused(data: bytes, sqlstate: str) -> None:
    assert refusal(NUMERIC, data) == sqlstate


@pytest.mark.parametrize(("oid", "data", "form", "sqlstate"), [
    pytest.param(1082, struct.pack("!i", 2**31 - 1), 1, "22008", id="an infinite date"),
    pytest.param(1114, struct.pack("!q", 2**63 - 1), 1, "22008", id="an infinite timestamp"),
    pytest.param(25, b"a\0b", 1, "22021", id="NUL in binary text"),
    pytest.param(25, b"a\0b", 0, "22021", id="NUL in text"),
    pytest.param(23, b"1\0", 0, "22021", id="NUL in a number"),
    pytest.param(25, b"\xff", 0, "22021", id="text that is not UTF-8"),
    pytest.param(25, b"x", 2, "22023", id="a form that does not exist"),
])  # fmt: skip
def test_what_cannot_be_is_refused(oid: int, data: bytes, form: int, sqlstate: str) -> None:
    assert refusal(oid, data, form) == sqlstate
