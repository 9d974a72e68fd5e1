"""Clients that write many rows in one statement: COPY, joins with other rows, writes inside WITH, temporary tables.
Each owns a range of measures and of the archive, between which rows move. In its ledger a row of the archive has the
negative of its key: so a move of which one half took effect is seen."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

from tests.soak.clients.actors import Stage
from tests.soak.clients.ledger import Image, Row
from tests.soak.clients.measures import BY_KEY, COLUMNS, NAMES, MeasureClient, as_parameter
from tests.soak.clients.outcomes import Outcome
from tests.soak.clients.sessions import Session, Undone

MADE = (
    "CREATE TABLE archive (id numeric(12, 0) PRIMARY KEY, price numeric(12, 3), code varchar(12), plain text)",
    "CREATE VIEW archived AS SELECT id, price, code FROM archive WHERE price IS NOT NULL",
)
ARCHIVED = ("price", "code")
TYPES = ("numeric", "numeric", "int4", "bytea", "interval", "time", "jsonb", "text[]", "varchar")
GONE_TEMPORARY = "55000"
"""The node was taken for dead meanwhile: it has freed the session's temporary tables."""


@dataclass(frozen=True, slots=True)
class Act:
    """One transaction, and the rows as they are after it."""

    kind: str
    body: Callable[[Session], None]
    after: Image
    is_single: bool = True


class BatchClient(MeasureClient):
    """One owner of a range of keys, in two tables."""

    pause_s = 0.15

    def __init__(self, number: int, stage: Stage) -> None:
        super().__init__(number, stage, name="batches")

    def write(self) -> None:
        free = [key for key in self.ledger.certain if key > 0]
        archived = [key for key in self.ledger.certain if key < 0]
        self.chance.shuffle(free)
        if len(free) < 6:
            act = self._copy()
        elif len(archived) > 20 or (archived and self.chance.random() < 0.15):
            act = self._restore(archived[:2])
        else:
            makers = (self._update_from, self._delete_using, self._archive, self._by_temporary)
            act = self.chance.choice((*makers, lambda _: self._copy()))(free[:3])
        is_alone = act.is_single and self.chance.random() < 0.6
        outcome, sqlstate = self.session.transact(act.kind, act.body, single=is_alone)
        self.settle(act.kind, act.after, outcome)
        if sqlstate == GONE_TEMPORARY:
            self.session.disconnect()

    def _copy(self) -> Act:
        """New rows as text or in binary; some clients change their mind in the middle, or are gone."""
        keys = [self._new_key() for _ in range(self.chance.randrange(3, 9))]
        rows = [tuple(self._value(name) for name in NAMES) for _ in keys]
        is_binary = self.chance.random() < 0.5
        end = self.chance.choices((None, "given up", "cut off"), (8, 1, 1))[0]
        last = self.chance.randrange(len(keys))

        def send(session: Session, copy: "psycopg.Copy[Any]") -> None:
            if is_binary:
                copy.set_types(TYPES)
            for number, (key, row) in enumerate(zip(keys, rows, strict=True)):
                if end is not None and number == last:
                    if end == "cut off":
                        session.disconnect()
                    raise Undone
                copy.write_row((key, *(as_parameter(value) for value in row)))

        def body(session: Session) -> None:
            form = "binary" if is_binary else "text"
            session.copy(f"COPY measures ({COLUMNS}) FROM STDIN (FORMAT {form})", lambda copy: send(session, copy))

        return Act("copy" if end is None else f"copy {end}", body, dict(zip(keys, rows, strict=True)))

    def _update_from(self, keys: Sequence[int]) -> Act:
        values = {key: {"quantity": self._value("quantity"), "raw": self._value("raw")} for key in keys}
        listed = ", ".join(["(%s::numeric, %s::integer, %s::bytea)"] * len(keys))
        query = (
            "UPDATE measures AS m SET quantity = v.quantity, raw = v.raw"
            f" FROM (VALUES {listed}) AS v (id, quantity, raw) WHERE m.id = v.id"
        )
        params = [item for key, one in values.items() for item in (key, one["quantity"], one["raw"])]
        after: Image = {key: self._with(key, one) for key, one in values.items()}
        return Act("update from", lambda session: session.write(query, params, rows=len(keys)), after)

    def _delete_using(self, keys: Sequence[int]) -> Act:
        listed = ", ".join(["(%s::numeric)"] * len(keys))
        query = f"DELETE FROM measures AS m USING (VALUES {listed}) AS v (id) WHERE m.id = v.id"
        after: Image = dict.fromkeys(keys)
        return Act("delete using", lambda session: session.write(query, keys, rows=len(keys)), after)

    def _archive(self, keys: Sequence[int]) -> Act:
        query = (
            "WITH gone AS (DELETE FROM measures WHERE id = ANY (%s) RETURNING id, price, code)"
            " INSERT INTO archive (id, price, code) SELECT id, price, code FROM gone"
        )
        after: Image = dict.fromkeys(keys)
        for key in keys:
            old = dict(zip(NAMES, self.ledger.certain[key], strict=True))
            after[-key] = tuple(old[name] for name in ARCHIVED)
        return Act("archive", lambda session: session.write(query, (list(keys),), rows=len(keys)), after)

    def _restore(self, archived: Sequence[int]) -> Act:
        keys = [-key for key in archived]
        query = (
            "WITH back AS (DELETE FROM archive WHERE id = ANY (%s) RETURNING id, price, code)"
            " INSERT INTO measures (id, price, code, quantity) SELECT id, price, code, 7 FROM back"
        )
        after: Image = dict.fromkeys(archived)
        for key in keys:
            known = dict(zip(ARCHIVED, self.ledger.certain[-key], strict=True)) | {"quantity": 7}
            after[key] = tuple(known.get(name) for name in NAMES)
        return Act("restore", lambda session: session.write(query, (keys,), rows=len(keys)), after)

    def _by_temporary(self, keys: Sequence[int]) -> Act:
        """Keep what is computed in a temporary table between two statements."""
        tag = f"tag {self.chance.randrange(100)}"
        end = self.chance.choice(("DROP", "DELETE ROWS"))

        def body(session: Session) -> None:
            session.ask("DROP TABLE IF EXISTS scratch" if end == "DROP" else "SELECT 1")
            session.ask(
                "CREATE TEMP TABLE IF NOT EXISTS scratch (id numeric PRIMARY KEY, doc jsonb, tags text[])"
                f" ON COMMIT {end}"
            )
            taken = "INSERT INTO scratch SELECT id, doc, tags FROM measures WHERE id = ANY (%s)"
            session.write(taken, (list(keys),), rows=len(keys))
            session.write("UPDATE scratch SET tags = array_append(tags, %s), doc = NULL", (tag,), rows=len(keys))
            back = "UPDATE measures AS m SET tags = s.tags, doc = s.doc FROM scratch AS s WHERE m.id = s.id"
            session.write(back, (), rows=len(keys))

        place = NAMES.index("tags")
        after: Image = {
            key: self._with(key, {"doc": None, "tags": [*(self.ledger.certain[key][place] or []), tag]}) for key in keys
        }
        return Act("by a temporary table", body, after, is_single=False)

    # --- reading

    def read(self) -> None:
        """The own rows of both tables in one snapshot, one of them through a view and a cursor."""
        span = (self.first, self.limit)
        rows: list[Sequence[Any]] = []
        archived: list[Sequence[Any]] = []
        again: list[Sequence[Any]] = []
        source = self.chance.choice(("archive", "archived"))

        def body(session: Session) -> None:
            rows[:] = session.ask(f"SELECT {COLUMNS} FROM measures WHERE id >= %s AND id < %s", span)
            again[:] = [row for one in rows[:1] for row in session.ask(BY_KEY, (one[0],))]
            chosen = f"SELECT id, price, code FROM {source} WHERE id >= {span[0]} AND id < {span[1]}"
            session.ask(f"DECLARE these CURSOR FOR {chosen}")
            archived[:] = session.ask("FETCH 2 FROM these") + session.ask("FETCH ALL FROM these")

        if self.session.transact("batches: read", body)[0] is not Outcome.DONE:
            return
        found: dict[int, Row] = {int(row[0]): tuple(row[1:]) for row in rows}
        found |= {-int(row[0]): tuple(row[1:]) for row in archived}
        faults = self.ledger.faults(found)
        if len(found) != len(rows) + len(archived):
            faults.append(f"a row twice among {sorted(row[0] for row in (*rows, *archived))}")
        if again and tuple(again[0]) != tuple(rows[0]):
            faults.append(f"by key {again[0]}, by range {rows[0]}")
        for fault in faults:
            self.stage.chronicle.violation(self.name, f"read through {self.session.node}: {fault}")
