"""The steps of a model, done by real sessions of a PostgreSQL, one for each transaction, and compared one by one. A
statement over several rows begins in a thread: where it waits for a lock it has taken its snapshot, as the model
says."""

import threading
from collections import Counter
from contextlib import ExitStack
from typing import Any

import psycopg

from rollouts.file import TriggerDeploy
from rollouts.statements.effects import Query
from rollouts.statements.reading import numbered
from rollouts.statements.values import text_of
from rollouts.worlds.model import Model
from rollouts.worlds.world import BACKFILL, Fault, Step, Waits, World

WAIT_MS = 60
"""How long a statement must wait before we believe that it waits."""

GIVE_UP_MS = 20_000


HOLD = """
CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF coalesce(current_setting('rollouts.hold', true), '') <> '' THEN
        PERFORM pg_advisory_lock(current_setting('rollouts.hold')::int);
        PERFORM pg_advisory_unlock(current_setting('rollouts.hold')::int);
    END IF;
    RETURN NEW;
END $$"""
"""A trace may stop a statement between its snapshot and its first write; a real server has to be made to."""


class Differs(AssertionError):
    """Model and server do not agree."""


def words(value: Any) -> str:
    return "NULL" if value is None else text_of(value)


class Server:
    """One rollout on a real server, in a schema of its own."""

    def __init__(self, url: str, model: Model, schema: str, *, holds: bool = False) -> None:
        self._holds = holds
        self._held: set[str] = set()
        self._url, self._model, self._schema = url, model, schema
        self._stack = ExitStack()
        self._sessions: list[dict[str, Any]] = []
        self._idle: list[psycopg.Connection[Any]] = []
        self.done: list[str] = []

    def __enter__(self) -> "Server":
        self._admin = self._connection()
        self._admin.execute(f'DROP SCHEMA IF EXISTS "{self._schema}" CASCADE')
        self._admin.execute(f'CREATE SCHEMA "{self._schema}"')
        for text in self._model.rollout.tables:
            self._admin.execute(text)
        if self._holds:
            self._holder = self._connection()
            self._admin.execute(HOLD)
            self._hold_tables()
        return self

    def _hold_tables(self) -> None:
        """Each table gets a trigger that keeps a statement between its beginning and its end until it may go on."""
        named = "SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind = 'r'"
        trigger = "CREATE OR REPLACE TRIGGER a_hold BEFORE INSERT OR UPDATE ON {} FOR EACH ROW EXECUTE FUNCTION hold()"
        for (name,) in self._admin.execute(named, (f'"{self._schema}"',)).fetchall():
            if name not in self._held:
                self._admin.execute(trigger.format(f'"{name}"'))
                self._held.add(name)

    def __exit__(self, *error: object) -> None:
        for session in self._sessions:
            if session["thread"] is not None:
                session["connection"].cancel()
                session["thread"].join(10)
        self._sessions = []
        self._stack.close()
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(f'DROP SCHEMA "{self._schema}" CASCADE')

    def _connection(self) -> psycopg.Connection[Any]:
        """A session without a transaction: one that has ended its own, else a new one."""
        if self._idle:
            return self._idle.pop()
        connection = self._stack.enter_context(
            psycopg.connect(self._url, autocommit=True, cursor_factory=psycopg.ClientCursor)
        )
        connection.execute(f'SET search_path = "{self._schema}"')
        connection.execute(f"SET lock_timeout = {GIVE_UP_MS}")
        return connection

    # -- one step

    def take(self, step: Step, outcome: World | Fault | Waits | None) -> None:
        """Do the step and compare. Raises `Differs`."""
        self.done.append(f"{step} -> {type(outcome).__name__}")
        if isinstance(outcome, Waits):
            self._must_wait(step)
        elif step.kind in ("statement", "begins", "commit"):
            self._transaction(step, outcome)
        else:
            self._deploy(step, outcome)

    def _deploy(self, step: Step, outcome: Any) -> None:
        stage = self._model.stages[step.stage]
        texts = [stage.text] if stage.kind == "schema" else []
        if stage.kind == "trigger":
            deploy = self._model.rollout.deploys[stage.done]
            assert isinstance(deploy, TriggerDeploy)
            texts = trigger_texts(deploy)
        code = ""
        try:
            for text in texts:
                self._admin.execute(text)
        except psycopg.Error as error:
            code = error.sqlstate or "?"
        if self._holds:
            self._hold_tables()
        self._compare("the deploy", code, outcome.about if isinstance(outcome, Fault) else "")

    def _statements(self, step: Step) -> tuple[Any, ...]:
        if step.release == BACKFILL:
            return self._model.stages[step.stage].statements
        return self._model.releases[step.release or 0].operations[step.operation].statements

    def _session(self, step: Step) -> dict[str, Any]:
        wanted = (step.release, step.operation, step.at, dict(step.environment))
        for session in self._sessions:
            if session["place"] == wanted:
                return session
        connection = self._connection()
        if not self._is_autocommit(step):
            connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
        session = {"place": wanted, "connection": connection, "thread": None, "result": None}
        self._sessions.append(session)
        return session

    def _is_autocommit(self, step: Step) -> bool:
        return (
            step.release != BACKFILL and self._model.releases[step.release or 0].operations[step.operation].autocommit
        )

    def _transaction(self, step: Step, outcome: Any) -> None:
        session = self._session(step)
        if step.kind == "commit":
            self._end(session)
            return
        statement = self._statements(step)[step.at]
        if session["thread"] is None:
            if step.kind == "begins" and self._holds:
                session["hold"] = session["connection"].info.backend_pid
                self._holder.execute("SELECT pg_advisory_lock(%s)", (session["hold"],))
                session["connection"].execute(f"SET LOCAL rollouts.hold = '{session['hold']}'")
            self._start(session, statement, dict(step.environment))
        if step.kind == "begins":
            session["thread"].join(WAIT_MS / 1000)
            return
        if hold := session.pop("hold", None):
            self._holder.execute("SELECT pg_advisory_unlock(%s)", (hold,))
        session["thread"].join(GIVE_UP_MS / 1000)
        self._compare(f"{statement.text} waits", session["thread"].is_alive(), False)
        session["thread"] = None
        rows, met, code = session["result"]
        if isinstance(outcome, Fault) and outcome.kind == "refused":
            self._compare(statement.text, code, outcome.about)
            self._end(session, "ROLLBACK")
            return
        self._compare(statement.text, code, "")
        if step.answer is not None:
            wanted = Counter(tuple(words(value) for _, value in row) for row in step.answer)
            self._compare(statement.text, Counter(tuple(map(words, row)) for row in rows), wanted)
        if not isinstance(statement, Query):
            self._compare(f"rows of {statement.text}", met, step.met)
        if isinstance(outcome, Fault) or not self._goes_on(step, outcome):
            self._end(session)
            return
        environment = dict(step.environment) | (dict(step.answer[0]) if step.answer and statement.outputs else {})
        session["place"] = (step.release, step.operation, step.at + 1, environment)

    def _goes_on(self, step: Step, outcome: Any) -> bool:
        """True if the transaction is among those under way afterwards."""
        if not isinstance(outcome, World):
            return False
        return any(
            (one.release, one.operation, one.at) == (step.release, step.operation, step.at + 1)
            and set(step.environment) <= set(one.environment)
            for one in outcome.transactions
        )

    def _end(self, session: dict[str, Any], how: str = "COMMIT") -> None:
        session["connection"].execute(how)
        self._idle.append(session["connection"])
        self._sessions.remove(session)

    def _start(self, session: dict[str, Any], statement: Any, given: dict[str, Any]) -> None:
        text, names = numbered(statement.text)
        for place in range(len(names), 0, -1):
            text = text.replace(f"${place}", f"%(p{place})s")
        parameters = {f"p{place}": given[name] for place, name in enumerate(names, 1)}

        def run() -> None:
            rows: list[Any] = []
            try:
                cursor = session["connection"].execute(text, parameters or None)
                rows = cursor.fetchall() if cursor.description else []
                session["result"] = (rows, cursor.rowcount, "")
            except psycopg.Error as error:
                session["result"] = ([], 0, error.sqlstate or "?")

        session["thread"] = threading.Thread(target=run, daemon=True)
        session["thread"].start()

    def _must_wait(self, step: Step) -> None:
        """The server makes the statement wait, too; it is given up then."""
        if step.at or step.kind == "begins":
            return
        connection = self._connection()
        connection.execute("BEGIN")
        connection.execute(f"SET LOCAL lock_timeout = {WAIT_MS}")
        session = {"connection": connection, "thread": None, "result": None}
        self._start(session, self._statements(step)[0], dict(step.environment))
        session["thread"].join(GIVE_UP_MS / 1000)
        self._compare("a statement that should wait", session["result"][2], "55P03")
        connection.execute("ROLLBACK")
        self._idle.append(connection)

    # -- rows

    def compare_rows(self, world: World) -> None:
        """What is committed is the same."""
        schema = self._model.stages[world.stage].schema
        for name, items in world.rows:
            columns = ", ".join(f'"{column}"' for column in schema[name].names)
            found = self._admin.execute(f'SELECT {columns} FROM "{name}"').fetchall()
            wanted = Counter(tuple(map(words, values)) for _, values in items)
            self._compare(f"rows of {name}", Counter(tuple(map(words, row)) for row in found), wanted)

    def _compare(self, what: str, given: Any, wanted: Any) -> None:
        if given != wanted:
            steps = "\n  ".join(self.done)
            raise Differs(f"{what}: the server says {given!r}, the model {wanted!r}\n  {steps}")

    def is_ambiguous(self, step: Step) -> bool:
        """True if two transactions under way are at the same place: then nobody can say whose step it is."""
        wanted = (step.release, step.operation, step.at, dict(step.environment))
        return step.at == 0 and step.kind != "statement" and sum(one["place"] == wanted for one in self._sessions) > 0


def trigger_texts(deploy: TriggerDeploy) -> list[str]:
    """The trigger in PostgreSQL's words."""
    name = deploy.trigger.name
    sets = " ".join(f"NEW.{column} := {one.text};" for column, one in deploy.trigger.sets)
    condition = deploy.trigger.condition
    body = f"IF {condition.text} THEN {sets} END IF;" if condition else sets
    return [
        f"CREATE OR REPLACE FUNCTION f_{name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} RETURN NEW; END $$",
        f"CREATE OR REPLACE TRIGGER {name} BEFORE INSERT OR UPDATE ON {deploy.table}"
        f" FOR EACH ROW EXECUTE FUNCTION f_{name}()",
    ]
