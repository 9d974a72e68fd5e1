"""Values of every type: their bytes sort as PostgreSQL sorts them, and their texts are those it writes. A type without
values here fails by its name."""

import random
import struct
from collections.abc import Callable
from typing import Any

import pytest

from catalog.values.arrays import array_text
from catalog.values.types import MOMENTS, TEXTS, UNSORTED, SqlType, Value, fitted, parse_text, to_text
from expressions.values.arithmetic import order_key
from storage.encoding import decode, encode, encode_value
from tests.nodes.conftest import Cluster

ROWS = 300


def whole(bits: int) -> Callable[[random.Random], str]:
    def draw(chance: random.Random) -> str:
        edge = chance.choice((0, 1, -1, 2 ** (bits - 1) - 1, -(2 ** (bits - 1))))
        return str(chance.choice((edge, chance.randrange(-(2 ** (bits - 1)), 2 ** (bits - 1)))))

    return draw


def floating(form: str) -> Callable[[random.Random], str]:
    special = (
        "0",
        "-0",
        "NaN",
        "Infinity",
        "-Infinity",
        "0.1",
        "1e6",
        "1e23",
        "84450864",
        "999999.9",
        "123456.7",
        "1e15",
        "1e-5",
        "16777217",
    )

    def draw(chance: random.Random) -> str:
        (number,) = struct.unpack(f"!{form}", chance.randbytes(struct.calcsize(form)))
        power = 2.0 ** chance.randrange(-140, 127)
        return chance.choice((*special, repr(number), repr(number), repr(power), f"{chance.uniform(-1e7, 1e7):.9g}"))

    return draw


def number(chance: random.Random) -> str:
    special = (
        "0",
        "0.00",
        "-0",
        "1.0",
        "1.00",
        "10",
        "NaN",
        "Infinity",
        "-Infinity",
        "9999",
        "0.0001",
        "1e30",
        "-1e-30",
    )
    digits = "".join(chance.choice("0123456789") for _ in range(chance.randrange(1, 40)))
    point = chance.randrange(len(digits) + 1)
    return chance.choice((*special, f"-{digits[:point]}.{digits[point:]}", f"{digits[:point]}.{digits[point:]}0"))


def text(chance: random.Random) -> str:
    return "".join(chance.choice("aAbé€😀 1~\x01") for _ in range(chance.randrange(5)))


def day(chance: random.Random) -> str:
    return f"{chance.randrange(1, 10_000):04d}-{chance.randrange(1, 13):02d}-{chance.randrange(1, 29):02d}"


def moment(chance: random.Random) -> str:
    return f"{day(chance)} {chance.randrange(24):02d}:{chance.randrange(60):02d}:00.{chance.randrange(10**6):06d}"


def document(chance: random.Random, depth: int = 0) -> str:
    """A document of few names and values, so that many are nearly the same."""
    kind = chance.randrange(5 if depth < 3 else 3)
    if kind == 0:
        return chance.choice(("null", "true", "false", '""', '"a"', '"ä"', '"b\\n"', r'"\u00e9\ud83d\ude00"'))
    if kind < 3:
        return chance.choice(("0", "-0.0", "1", "1.0", "1e2", "100.00", "-2.5", "12345678901234567890", "0.0000001"))
    parts = [document(chance, depth + 1) for _ in range(chance.randrange(4))]
    if kind == 3:
        return f"[{', '.join(parts)}]"
    return "{" + ",".join(f'"{chance.choice(("a", "b", "aa", "é", ""))}" :{part}' for part in parts) + "}"


def time_of_day(chance: random.Random) -> str:
    seconds = f"{chance.randrange(60):02d}.{chance.randrange(10**6):06d}"
    drawn = f"{chance.randrange(24):02d}:{chance.randrange(60):02d}:{seconds}"
    return chance.choice(("00:00", "24:00:00", "23:59:59.999999", "12:30", drawn, drawn))


def interval(chance: random.Random) -> str:
    def count(most: int) -> int:
        return chance.choice((0, 0, 1, -1, chance.randrange(-most, most)))

    micros = chance.choice((0, 0, 86_400 * 10**6, -86_400 * 10**6, chance.randrange(-(10**13), 10**13)))
    drawn = f"{count(400)} months {count(4000)} days {micros} microseconds"
    same = ("1 mon", "30 days", "720:00:00", "1 mon -1 day", "29 days", "-1 mon 1 day", "-29 days", "1 day -24:00", "0")
    return chance.choice((*same, "178000000 years", "-178000000 years", "2562047788:00:54.775807", *[drawn] * 12))


DRAWN: dict[SqlType, Callable[[random.Random], str]] = {
    SqlType.BOOLEAN: lambda chance: chance.choice(("t", "f")),
    SqlType.SMALLINT: whole(16),
    SqlType.INTEGER: whole(32),
    SqlType.BIGINT: whole(64),
    SqlType.REAL: floating("f"),
    SqlType.DOUBLE: floating("d"),
    SqlType.NUMERIC: number,
    SqlType.TEXT: text,
    SqlType.VARCHAR: text,
    SqlType.CHAR: text,
    SqlType.DATE: day,
    SqlType.TIMESTAMP: moment,
    SqlType.TIMESTAMPTZ: lambda chance: f"{moment(chance)}+00",
    SqlType.UUID: lambda chance: f"{chance.getrandbits(128):032x}",
    SqlType.JSONB: document,
    SqlType.BYTEA: lambda chance: "\\x" + bytes(chance.choices((0, 1, 92, 254, 255), k=chance.randrange(5))).hex(),
    SqlType.TIME: time_of_day,
    SqlType.INTERVAL: interval,
}


def array(of: SqlType) -> Callable[[random.Random], str]:
    """Arrays of few of the values that are drawn, some of them NULL, so that many begin alike."""
    chance = random.Random(7)
    few = [None, *(DRAWN[of](chance) for _ in range(4))]
    return lambda chance: array_text([chance.choice(few) for _ in range(chance.randrange(4))], str)


DRAWN |= {of: array(element) for of in SqlType if (element := of.element) in DRAWN and element is not None}
COLLATED = TEXTS | {SqlType.TEXT_ARRAY, SqlType.VARCHAR_ARRAY}


def place(of: SqlType, value: Value) -> Any:
    """What a value is sorted by: the bytes of a key, where there are such."""
    return order_key(value) if of in UNSORTED else encode(of, value)


@pytest.mark.parametrize(
    "sql_type", [of for of in SqlType if SqlType.JSON not in (of, of.element)], ids=lambda of: of.value
)
def test_bytes_sort_and_texts_read_as_postgresqls(cluster: Cluster, sql_type: SqlType) -> None:
    chance = random.Random(5)
    texts = [DRAWN[sql_type](chance) for _ in range(ROWS)]
    collated = ' COLLATE "C"' if sql_type in COLLATED else ""
    sql = (
        f"SELECT t::{sql_type.value}::text, dense_rank() OVER (ORDER BY t::{sql_type.value}{collated})"
        " FROM unnest(%s::text[]) WITH ORDINALITY AS given (t, n) ORDER BY n"
    )
    with cluster.store() as store:
        store.execute("SET timezone = 'UTC'")
        theirs = store.execute(sql, [texts]).fetchall()
    values = [parse_text(sql_type, one) for one in texts]
    encoded = [place(sql_type, value) for value in values]
    kept = [decode(sql_type, encode_value(sql_type, value))[0] for value in values]
    assert list(map(order_key, kept)) == list(map(order_key, values))
    ranks = {data: rank for rank, data in enumerate(sorted(set(encoded)), 1)}
    shown = [to_text(sql_type, value) for value in values]
    if sql_type is SqlType.BOOLEAN:
        shown = [{"t": "true", "f": "false"}[one] for one in shown]
    found = [(one, ranks[data]) for one, data in zip(shown, encoded, strict=True)]
    assert [(a, b) for a, b in zip(found, theirs, strict=True) if a != b] == []


# --- times of a precision


def moments(chance: random.Random, of: SqlType) -> list[Value]:
    """Values of a type of times, of which many lie in the middle between two that a precision keeps."""
    found = []
    for _ in range(ROWS):
        unit = 10 ** chance.randrange(6)
        micros = chance.choice((5 * unit, 5 * unit - 1, 5 * unit + 1, 0)) + 10 * unit * chance.randrange(10**6 // unit)
        clock = f"{chance.choice((0, 12, 23)):02}:59:{chance.choice((0, 59)):02}.{micros % 10**6:06}"
        day = f"{chance.choice((1, 1969, 1999, 2000, 2024)):04}-{chance.choice(('01-01', '12-31'))} "
        zone = "Z" if of is SqlType.TIMESTAMPTZ else ""
        found.append(parse_text(of, clock if of is SqlType.TIME else day + clock + zone))
    return found


@pytest.mark.parametrize("of", MOMENTS, ids=lambda of: of.value)
def test_a_precision_rounds_as_postgresql_does(cluster: Cluster, of: SqlType) -> None:
    values = moments(random.Random(of.value), of)
    texts = ",".join(f'"{to_text(of, value)}"' for value in values)
    casts = ", ".join(f"(x::{of.value}({digits}))::text" for digits in range(7))
    query = f"SELECT {casts} FROM unnest('{{{texts}}}'::{of.value}[]) WITH ORDINALITY AS v (x, n) ORDER BY n"
    with cluster.connect() as ours, cluster.store() as theirs:
        expected = theirs.execute(query).fetchall()
        assert ours.execute(query).fetchall() == expected
    here = [tuple(to_text(of, fitted(of, digits, value)) for digits in range(7)) for value in values]
    assert here == expected
    assert any(row[digits] != row[6] for row in here for digits in (0, 3)), "nothing was rounded"
