"""Clients of a table of many types: numeric keys, bytes, times, intervals, documents, arrays. Results of statements
(`price + 0.125`, `doc || ..`, `array_append`, `tags[1] = ..`) are computed here once more, in Python; rows are found
again by key, by range and by each indexed value."""

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from psycopg.types.json import Jsonb

from tests.soak.clients.actors import Stage
from tests.soak.clients.items import Statement
from tests.soak.clients.ledger import Row
from tests.soak.clients.outcomes import Outcome
from tests.soak.clients.owners import Owner
from tests.soak.clients.sessions import Session

MADE = (
    "CREATE TABLE measures (id numeric(12, 0) PRIMARY KEY, price numeric(12, 3) NOT NULL, quantity integer, raw bytea,"
    " took interval, at time, doc jsonb, tags text[], code varchar(12), plain numeric)"
)
NAMES = ("price", "quantity", "raw", "took", "at", "doc", "tags", "code")
COLUMNS = ", ".join(("id", *NAMES))
BY_KEY = f"SELECT {COLUMNS} FROM measures WHERE id = %s"
ROWS_MIN, ROWS_MAX = 20, 60
FIRST = (
    f"INSERT INTO measures ({COLUMNS}) SELECT n, n / 8.0, 7, decode(lpad(to_hex(n), 4, '0'), 'hex'),"
    " n * interval '1 hour', time '12:00', jsonb_build_object('n', n), ARRAY['first', NULL], 'first ' || n"
    " FROM generate_series(1, 200) AS n"
)
"""Rows that no client writes; a unique index of quantity is impossible by them."""


class MeasureClient(Owner):
    """One owner of a range of keys."""

    pause_s = 0.08

    def __init__(self, number: int, stage: Stage, name: str = "measures") -> None:
        super().__init__(name, number, stage)

    def act(self) -> None:
        if self.chance.random() < 0.3:
            return self.read()
        return self.write()

    # --- writing

    def write(self) -> None:
        """A statement of its own, or two in a transaction, of different rows."""
        free = list(self.ledger.certain)
        self.chance.shuffle(free)
        statements = [self._statement(free) for _ in range(self.chance.choice((1, 1, 2)))]
        after = {key: row for one in statements for key, row in one.after.items()}

        def body(session: Session) -> None:
            for one in statements:
                session.write(one.query, one.params, rows=one.rows)

        kind = f"measures: {statements[0].query.split()[0].lower()}"
        self.settle(kind, after, self.session.transact(kind, body, single=len(statements) == 1)[0])

    def _statement(self, free: list[int]) -> Statement:
        """The next statement; the row it touches is taken from `free`."""
        rows = len(self.ledger.certain)
        if len(free) < 3 or rows < ROWS_MIN:
            return self._insert(free)
        weights = (1 if rows > ROWS_MAX else 3, 2, 3, 1, 2)
        makers = (self._insert, self._assign, self._compute, self._move, self._delete)
        return self.chance.choices(makers, weights)[0](free)

    def _insert(self, _free: list[int]) -> Statement:
        key, row = self._new_key(), tuple(self._value(name) for name in NAMES)
        marks = ", ".join(["%s"] * (1 + len(NAMES)))
        query = f"INSERT INTO measures ({COLUMNS}) VALUES ({marks})"
        return Statement(query, (key, *(as_parameter(value) for value in row)), 1, {key: row})

    def _assign(self, free: list[int]) -> Statement:
        key = free.pop()
        names = self.chance.sample(NAMES, self.chance.randrange(1, 4))
        values = {name: self._value(name) for name in names}
        query = f"UPDATE measures SET {', '.join(f'{name} = %s' for name in names)} WHERE id = %s"
        params = (*(as_parameter(value) for value in values.values()), key)
        return Statement(query, params, 1, {key: self._with(key, values)})

    def _compute(self, free: list[int]) -> Statement:
        """New values out of old ones, computed by the node and here."""
        key = free.pop()
        old = dict(zip(NAMES, self.ledger.certain[key], strict=True))
        number = self.chance.randrange(100)
        doc = None if old["doc"] is None else {**old["doc"], "more": number}
        tags = [*(old["tags"] or []), f"tag {number}"]
        took = None if old["took"] is None else old["took"] + dt.timedelta(minutes=number)
        expression, param, values = self.chance.choice(
            (
                ("price = price + %s", Decimal(number) / 8, {"price": old["price"] + Decimal(number) / 8}),
                ("doc = doc || %s", Jsonb({"more": number}), {"doc": doc}),
                ("tags = array_append(tags, %s)", f"tag {number}", {"tags": tags}),
                ("tags[1] = %s", f"tag {number}", {"tags": [f"tag {number}", *(old["tags"] or [])[1:]]}),
                ("took = took + %s", dt.timedelta(minutes=number), {"took": took}),
            )
        )
        return Statement(
            f"UPDATE measures SET {expression} WHERE id = %s", (param, key), 1, {key: self._with(key, values)}
        )

    def _move(self, free: list[int]) -> Statement:
        key, new = free.pop(), self._new_key()
        after = {key: None, new: self.ledger.certain[key]}
        return Statement("UPDATE measures SET id = %s WHERE id = %s", (new, key), 1, after)

    def _delete(self, free: list[int]) -> Statement:
        key = free.pop()
        return Statement("DELETE FROM measures WHERE id = %s", (key,), 1, {key: None})

    def _with(self, key: int, values: dict[str, Any]) -> Row:
        return tuple(values.get(name, old) for name, old in zip(NAMES, self.ledger.certain[key], strict=True))

    def _new_key(self) -> int:
        return self.new_key(self.chance.randrange(1, 4))

    def _value(self, name: str) -> Any:
        """Few different ones, so that several rows share them; every column but the price is NULL at times."""
        number = self.chance.randrange(40)
        if name != "price" and number == 0:
            return None
        tags = [self.chance.choice(("a", "b,c", 'd"e', "", None)) for _ in range(number % 4)]
        return {
            "price": Decimal(number * 5) / 8,
            "quantity": number,
            "raw": bytes((0, number, 255, 0)[: number % 5]),
            "took": dt.timedelta(days=number % 40, seconds=-number, microseconds=number % 3),
            "at": dt.time(number % 24, number, 0, number * 1000),
            "doc": {"n": number, "list": [number % 3, None, "x"], "": {}},
            "tags": tags,
            "code": f"code {number}",
        }[name]

    # --- reading

    def read(self) -> None:
        """All own rows, one of them by key and by each of its values, in one snapshot."""
        span = (self.first, self.limit)
        name = self.chance.choice(NAMES)
        place = 1 + NAMES.index(name)
        rows: list[Sequence[Any]] = []
        again: list[Sequence[Any]] = []
        same: list[Any] = []

        def body(session: Session) -> None:
            rows[:] = session.ask(f"SELECT {COLUMNS} FROM measures WHERE id >= %s AND id < %s", span)
            known = [row for row in rows if row[place] is not None][:1]
            again[:] = [row for one in known for row in session.ask(BY_KEY, (one[0],))]
            query = f"SELECT id FROM measures WHERE {name} = %s AND id >= %s AND id < %s"
            same[:] = [row[0] for one in known for row in session.ask(query, (as_parameter(one[place]), *span))]

        outcome, _ = self.session.transact("measures: read", body)
        if outcome is Outcome.DONE:
            self._judge(name, rows, again, same)

    def _judge(self, name: str, rows: list[Any], again: list[Any], same: list[Any]) -> None:
        found = {int(row[0]): tuple(row[1:]) for row in rows}
        faults = self.ledger.faults(found)
        if len(found) != len(rows):
            faults.append(f"a row twice among {sorted(row[0] for row in rows)}")
        for row in again:
            if found[int(row[0])] != tuple(row[1:]):
                faults.append(f"by key {row}, by range {found[int(row[0])]}")
            value = found[int(row[0])][NAMES.index(name)]
            expected = sorted(key for key, one in found.items() if one[NAMES.index(name)] == value)
            if sorted(same) != expected:
                faults.append(f"{name} = {value!r} gives {sorted(same)}, the range {expected}")
        for fault in faults:
            self.stage.chronicle.violation(self.name, f"read through {self.session.node}: {fault}")


def as_parameter(value: Any) -> Any:
    """A document is sent as one; everything else as the driver has it."""
    return Jsonb(value) if isinstance(value, dict) else value
