"""The worlds of a rollout: a stage (deploys done, releases that run, the schema), committed rows, transactions with
their writes and locks, and for each key the values that users gave last (None: no such row).

A step is a deploy, a statement or a COMMIT. As at READ COMMITTED, a statement sees what is committed when it begins,
and waits for locked rows. One that visits several rows, or inserts what it selects, begins and ends in two steps, since
others commit between.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rollouts.file import (
    BackfillDeploy,
    GoneDeploy,
    Operation,
    Release,
    ReleaseDeploy,
    Rollout,
    SchemaDeploy,
    TriggerDeploy,
)
from rollouts.statements.definitions import definition_of, tables_named
from rollouts.statements.effects import Delete, Effect, Insert, Query, Statement, check_names, execute, tables_of
from rollouts.statements.errors import NotModelled, Refused
from rollouts.statements.tables import Contents, Lock, Schema, Write, applied
from rollouts.statements.values import INTEGERS, Value
from rollouts.worlds.world import (
    ALL,
    BACKFILL,
    INTEGER_KEYS,
    OTHER_KEYS,
    TEXT_KEYS,
    TRANSACTIONS_MAX,
    Environment,
    Fault,
    Meaning,
    Outcome,
    Rows,
    Stage,
    Step,
    Transaction,
    Waits,
    World,
    same,
)

if TYPE_CHECKING:
    from rollouts.worlds.walks import Walker


class Model:
    def __init__(self, rollout: Rollout, rows: int | None = None) -> None:
        self.rollout = rollout
        self.releases: list[Release] = [rollout.before]
        schema: Schema = {}
        contents: Contents = {}
        for text in rollout.tables:
            try:
                schema, contents = definition_of(text)(schema, contents)
            except Refused as error:
                raise NotModelled(f"tables: {error}: {text}") from None
        self.stages = self._stages(schema)
        self.first_stage: dict[int, int] = {}
        self.last_stage: dict[int, int] = {}
        for stage in self.stages:
            for release in stage.running:
                self.first_stage.setdefault(release, stage.number)
                self.last_stage[release] = stage.number
        self.rows_needed = self._rows_needed()
        self.keys = self._keys(schema)[: rows or rollout.rows or self.rows_needed]
        self._first_rows = self._frozen(contents)
        self._environments: dict[tuple[int, str], list[Environment]] = {}
        self._effects: dict[Any, Effect | Refused] = {}
        self._contents: dict[Rows, Contents] = {}
        self._tables: dict[tuple[Statement, int], frozenset[str]] = {}
        self._after_writes: dict[tuple[Rows, tuple[Write, ...]], Rows] = {}

    # -- stages

    def _stages(self, schema: Schema) -> list[Stage]:
        stages: list[Stage] = []
        running: tuple[int, ...] = (0,)
        walks = walker(self.rollout.tables) if self.rollout.is_on_lab else None

        def add(done: int, kind: str, text: str = "", statements: tuple[Statement, ...] = ()) -> None:
            stages.append(Stage(len(stages), done, running, schema, kind, text, statements))

        for done, deploy in enumerate(self.rollout.deploys):
            match deploy:
                case SchemaDeploy() if walks is not None:
                    for text in deploy.texts:
                        try:
                            walked, schema = walks.walk(text, schema, Stage(len(stages), done, running, schema))
                        except Refused:
                            add(done, "schema", text)
                            return stages
                        stages += walked
                case SchemaDeploy():
                    for text in deploy.texts:
                        add(done, "schema", text)
                        try:
                            schema, _ = definition_of(text)(schema, {})
                        except Refused:
                            return stages
                case TriggerDeploy():
                    if walks is not None:
                        raise NotModelled("Schema Lab has no triggers: write both columns in a release")
                    add(done, "trigger", deploy.trigger.name)
                    if deploy.table not in schema:
                        return stages
                    table = schema[deploy.table]
                    kept = tuple(one for one in table.triggers if one.name != deploy.trigger.name)
                    schema = {**schema, table.name: replace(table, triggers=(*kept, deploy.trigger))}
                case BackfillDeploy():
                    add(done, "backfill", "", deploy.statements)
                case GoneDeploy():
                    add(done, "gone", self.releases[running[0]].name)
                    running = running[1:]
                case ReleaseDeploy():
                    self.releases.append(deploy.release)
                    add(done, "starts", deploy.release.name)
                    running = (running[-1], len(self.releases) - 1)
                    if not deploy.is_beside:
                        add(done, "gone", self.releases[running[0]].name)
                        running = running[1:]
        add(len(self.rollout.deploys), "end")
        return stages

    def _keys(self, schema: Schema) -> tuple[Value, ...]:
        for table in schema.values():
            for column in table.columns:
                if column.name == self.rollout.key:
                    return TEXT_KEYS if column.type.name not in INTEGERS else self._integer_keys()
        return self._integer_keys()

    def _integer_keys(self) -> tuple[Value, ...]:
        given = {one for values in self.rollout.values.values() for one in values}
        return OTHER_KEYS if given & set(INTEGER_KEYS) else INTEGER_KEYS

    def _rows_needed(self) -> int:
        """One row is exact where every statement names the key; two where rows depend on each other."""
        key = self.rollout.key
        for stage in self.stages:
            for table in stage.schema.values():
                if table.references or any(
                    set(one.columns) != {key} and one.name != table.key for one in table.uniques
                ):
                    return 2
        texts = [one for release in self.releases for op in release.operations.values() for one in op.statements]
        texts += [one for stage in self.stages for one in stage.statements]
        return 1 if all(_goes_by(key, one) for one in texts) else 2

    # -- rows as values

    def _frozen(self, contents: Contents) -> Rows:
        return tuple((name, tuple(sorted(rows.items(), key=repr))) for name, rows in sorted(contents.items()))

    def contents(self, rows: Rows) -> Contents:
        found = self._contents.get(rows)
        if found is None:
            found = self._contents[rows] = {name: dict(items) for name, items in rows}
        return found

    def shown_rows(self, world: World) -> Rows:
        """The rows of the newest schema's tables: on Schema Lab a new one may not be public yet."""
        schema = self.stages[world.stage].schema
        return tuple(one for one in world.rows if one[0] in schema)

    def _overlaid(self, rows: Rows, writes: tuple[Write, ...]) -> Rows:
        if not writes:
            return rows
        found = self._after_writes.get((rows, writes))
        if found is None:
            found = self._after_writes[rows, writes] = self._frozen(applied(self.contents(rows), writes))
        return found

    # -- the start

    def start(self) -> World:
        return self._entered(World(0, self._first_rows, (None,) * len(self.keys)))

    def start_at(self, number: int) -> World:
        """The start under the schema of a stage. Raises `Refused` where an earlier deploy fails without rows."""
        contents: Contents = self.contents(self._first_rows)
        for stage in self.stages[:number]:
            if stage.kind == "schema":
                _, contents = definition_of(stage.text)(stage.schema, contents)
        return World(number, self._frozen(contents), (None,) * len(self.keys))

    def _entered(self, world: World) -> World:
        stage = self.stages[world.stage]
        if stage.kind != "backfill":
            return world
        by_key = any(self.rollout.key in one.parameters for one in stage.statements)
        return world._replace(todo=self.keys if by_key else (ALL,))

    # -- steps

    def steps(
        self, world: World, running: tuple[int, ...] | None = None, only: str = ""
    ) -> Iterator[tuple[Step, Outcome | None]]:
        """Every step and its outcome; None: a read that was right. `running`: only these releases, and no deploy."""
        if running is None:
            yield from self._deploy_steps(world)
        for transaction in world.transactions:
            if only and transaction.operation != only:
                continue
            others = tuple(one for one in world.transactions if one is not transaction)
            yield from self._go_on(world, transaction, others)
        under_way = sum(one.release != BACKFILL for one in world.transactions)
        stage = self.stages[world.stage]
        for release in stage.running if running is None else running:
            for operation in self.releases[release].operations.values():
                if not only or operation.name == only:
                    yield from self._begin(world, release, operation, under_way)
        if running is None:
            for release, name in sorted(world.lingering):
                operation = self.releases[release].operations[name]
                used = world._replace(lingering=world.lingering - {(release, name)})
                yield from self._begin(used, release, operation, under_way)

    def _deploy_steps(self, world: World) -> Iterator[tuple[Step, Outcome | None]]:
        stage = self.stages[world.stage]
        step = Step(stage.kind, stage.number)
        following = world._replace(stage=world.stage + 1)
        match stage.kind:
            case "starts":
                yield step, self._entered(following)
            case "gone":
                old = stage.running[0]
                if not any(one.release == old for one in world.transactions):
                    left = {(old, op.name) for op in self.releases[old].operations.values() if op.lingers}
                    yield step, self._entered(following._replace(lingering=world.lingering | left))
            case "schema" | "trigger":
                yield from self._define(world, stage, step, following)
            case "publish" | "drain" | "verify":
                yield self._walked(world, stage, step, following)
            case "backfill" if not any(one.release == BACKFILL for one in world.transactions):
                for key in world.todo:
                    environment = () if key == ALL else ((self.rollout.key, key),)
                    transaction = Transaction(BACKFILL, "backfill", 0, environment)
                    yield from self._go_on(world, transaction, world.transactions)

    def _define(self, world: World, stage: Stage, step: Step, following: World) -> Iterator[tuple[Step, Outcome]]:
        tables = tables_named(stage.text) if stage.kind == "schema" else frozenset(stage.schema)
        if any(one.tables & tables for one in world.transactions):
            return
        try:
            if stage.kind == "schema":
                _, contents = definition_of(stage.text)(stage.schema, self.contents(world.rows))
                following = following._replace(rows=self._frozen(contents))
            elif world.stage + 1 == len(self.stages):
                raise Refused("42P01", "the table of the trigger does not exist")
        except Refused as error:
            yield step, Fault("fails", error.code, (("message", error.message),))
            return
        yield step, self._entered(following)

    def _walked(self, world: World, stage: Stage, step: Step, following: World) -> tuple[Step, Outcome]:
        if stage.definition is not None and stage.base is not None:
            try:
                _, contents = stage.definition(stage.base, self.contents(world.rows))
            except Refused as error:
                return step, Fault("fails", error.code, (("message", error.message),))
            if stage.kind != "verify":
                following = following._replace(rows=self._frozen(contents))
        return step, self._entered(following)

    def environments(self, release: int, operation: Operation) -> list[Environment]:
        """The values that users may give: each key, each value of each name that no earlier statement reads."""
        found = self._environments.get((release, operation.name))
        if found is None:
            asked, read = [], set()
            for statement in operation.statements:
                asked += [name for name in statement.parameters if name not in read and name not in asked]
                if isinstance(statement, Query):
                    read |= {output.name for output in statement.outputs}
            choices = [self.keys if name == self.rollout.key else self.rollout.values[name] for name in asked]
            found = [tuple(zip(asked, one, strict=True)) for one in itertools.product(*choices)]
            self._environments[release, operation.name] = found
        return found

    def _begin(
        self, world: World, release: int, operation: Operation, under_way: int
    ) -> Iterator[tuple[Step, Outcome | None]]:
        first = operation.statements[0]
        is_short = len(operation.statements) == 1 and not self._takes_time(first)
        if not is_short and under_way >= TRANSACTIONS_MAX:
            return
        writers = [one for one in operation.statements if not isinstance(one, Query)]
        for environment in self.environments(release, operation):
            if not self._makes_sense(world, writers, dict(environment)):
                continue
            reads = any(isinstance(one, Query) for one in operation.statements)
            transaction = Transaction(
                release,
                operation.name,
                0,
                environment,
                allowed=frozenset([self._meant(world, environment)])
                if reads and len(operation.statements) > 1
                else frozenset(),
            )
            yield from self._go_on(world, transaction, world.transactions)

    def _makes_sense(self, world: World, writers: list[Statement], given: Mapping[str, Value]) -> bool:
        """An application creates what does not exist and changes what does; it may read and upsert anything."""
        if not writers or self.rollout.key not in given:
            return True
        key = given[self.rollout.key]
        is_there = world.meant[self.keys.index(key)] is not None
        if any(isinstance(one, Insert) and one.conflict is None for one in writers):
            return not is_there and not any(
                (self.rollout.key, key) in one.environment and one.writes for one in world.transactions
            )
        return is_there or all(isinstance(one, Insert) for one in writers)

    def _meant(self, world: World, environment: Environment) -> Meaning:
        key = dict(environment).get(self.rollout.key)
        return world.meant[self.keys.index(key)] if key in self.keys else None

    def _takes_time(self, statement: Statement) -> bool:
        if isinstance(statement, Insert):
            return statement.source is not None
        return not isinstance(statement, Query) and self.rollout.key not in statement.parameters

    # -- one transaction

    def statements(self, world: World, transaction: Transaction) -> tuple[Statement, ...]:
        if transaction.release == BACKFILL:
            return self.stages[world.stage].statements
        return self.releases[transaction.release].operations[transaction.operation].statements

    def _go_on(
        self, world: World, transaction: Transaction, others: tuple[Transaction, ...]
    ) -> Iterator[tuple[Step, Outcome | None]]:
        """On Schema Lab transactions are SERIALIZABLE: the next step is the whole, under each version in use."""
        stage = self.stages[world.stage]
        if not self.rollout.is_on_lab:
            yield from self._one(world, transaction, others, stage.schema)
        elif stage.older is None:
            yield self._whole(world, transaction, others, stage.schema)
        else:
            for under, schema in (("older", stage.older), ("newer", stage.schema)):
                step, outcome = self._whole(world, transaction, others, schema)
                yield step._replace(under=under), outcome

    def _whole(
        self, world: World, transaction: Transaction, others: tuple[Transaction, ...], schema: Schema
    ) -> tuple[Step, Outcome | None]:
        is_autocommit = transaction.release != BACKFILL and (
            self.releases[transaction.release].operations[transaction.operation].autocommit
        )
        while True:
            step, outcome = next(self._one(world, transaction, others, schema))
            if not isinstance(outcome, World) or is_autocommit or len(outcome.transactions) <= len(others):
                return step, outcome
            world, transaction = outcome, next(one for one in outcome.transactions if one not in others)

    def _one(
        self, world: World, transaction: Transaction, others: tuple[Transaction, ...], schema: Schema
    ) -> Iterator[tuple[Step, Outcome | None]]:
        statements = self.statements(world, transaction)
        step = Step(
            "statement",
            world.stage,
            transaction.release,
            transaction.operation,
            transaction.at,
            transaction.environment,
        )
        if transaction.at == len(statements):
            yield step._replace(kind="commit"), self._committed(world, transaction, others)
            return
        statement = statements[transaction.at]
        if transaction.snapshot is None and self._takes_time(statement):
            try:
                check_names(statement, schema)
            except Refused as error:
                yield step, self._refusal(error)
                return
            snapshot = self._overlaid(world.rows, transaction.writes)
            touched = transaction.tables | self._tables_of(statement, schema)
            begun = transaction._replace(snapshot=snapshot, tables=touched)
            yield step._replace(kind="begins"), self._with_transaction(world, others, begun)
            return
        effect = self._effect(world, transaction, statement, schema)
        wanted = effect.locks if isinstance(effect, Refused) else effect.locks | effect.awaited
        if _waits(wanted, others):
            yield step, Waits(wanted)
            return
        if isinstance(effect, Refused):
            yield step, self._refusal(effect)
            return
        yield from self._done(
            world, transaction, others, statement, effect, step._replace(answer=effect.answer, met=effect.met)
        )

    def _refusal(self, error: Refused) -> Fault:
        return Fault("refused", error.code, (("message", error.message),))

    def _effect(self, world: World, transaction: Transaction, statement: Statement, schema: Schema) -> Effect | Refused:
        names = self._tables_of(statement, schema)
        mine = tuple(one for one in self._overlaid(world.rows, transaction.writes) if one[0] in names)
        before = transaction.snapshot and tuple(one for one in transaction.snapshot if one[0] in names)
        given = dict(transaction.environment)
        key = (statement.text, id(schema), mine, before, tuple(given[name] for name in statement.parameters))
        found = self._effects.get(key)
        if found is None:
            snapshot = None if before is None else self.contents(before)
            try:
                self._check_prepared(transaction, statement, schema)
                found = execute(statement, schema, self.contents(mine), given, snapshot)
            except Refused as error:
                found = error
            self._effects[key] = found
        return found

    def _tables_of(self, statement: Statement, schema: Schema) -> frozenset[str]:
        found = self._tables.get((statement, id(schema)))
        if found is None:
            found = self._tables[statement, id(schema)] = tables_of(statement, schema)
        return found

    def _check_prepared(self, transaction: Transaction, statement: Statement, schema: Schema) -> None:
        """Raises 0A000 for a prepared `SELECT *` whose columns have changed since its release began."""
        if transaction.release == BACKFILL or all(output.expression is not None for output in statement.outputs):
            return
        if self.releases[transaction.release].operations[transaction.operation].prepared:
            first = self.stages[self.first_stage[transaction.release]].schema
            if statement.table in schema and first[statement.table].columns != schema[statement.table].columns:
                raise Refused("0A000", "cached plan must not change result type")

    def _done(
        self,
        world: World,
        transaction: Transaction,
        others: tuple[Transaction, ...],
        statement: Statement,
        effect: Effect,
        step: Step,
    ) -> Iterator[tuple[Step, Outcome | None]]:
        statements = self.statements(world, transaction)
        if isinstance(statement, Query) and transaction.release != BACKFILL:
            wrong = self._wrong(world, transaction, statement, effect)
            if wrong is not None or len(statements) == 1:
                yield step, wrong
                return
        given = dict(transaction.environment)
        used = {name for name in statement.parameters if name in self.rollout.values}
        is_write = not isinstance(statement, Query) and effect.met > 0
        asked = self.asked(transaction.release, transaction.operation) if is_write else frozenset()
        marks = {"create"} if is_write and isinstance(statement, Insert) else set()
        is_gone = isinstance(statement, Delete) or self._is_gone(transaction)
        marks |= {"delete"} if is_write and is_gone else set()
        gave = transaction.gave | (used & asked) | ({f"*{mark}" for mark in marks})
        over = effect.answer and statement.outputs and transaction.at + 1 < len(statements)
        if over:
            given |= dict(effect.answer[0])
        following = transaction._replace(
            at=transaction.at + 1,
            environment=tuple(given.items()),
            writes=(*transaction.writes, *effect.writes),
            locks=transaction.locks | effect.locks,
            tables=transaction.tables | {statement.table},
            gave=gave,
            snapshot=None,
        )
        ends = not effect.answer and any(
            name not in given for later in statements[transaction.at + 1 :] for name in later.parameters
        )
        is_last = transaction.at + 1 == len(statements) or ends
        is_autocommit = transaction.release != BACKFILL and (
            self.releases[transaction.release].operations[transaction.operation].autocommit
        )
        if is_last and (len(statements) == 1 or is_autocommit or not following.writes):
            after = self._committed(world, following, others)
            yield step, None if after == world else after
        elif is_last:
            yield step, self._with_transaction(world, others, following._replace(at=len(statements)))
        elif is_autocommit:
            between = self._with_transaction(self._committed(world, following, others), (), None)
            kept = following._replace(writes=(), locks=frozenset(), tables=frozenset(), gave=frozenset())
            kept = kept._replace(
                allowed=frozenset([self._meant(between, transaction.environment)])
                if transaction.allowed
                else frozenset()
            )
            yield step, self._with_transaction(between, between.transactions, kept)
        else:
            yield step, self._with_transaction(world, others, following)

    def _is_gone(self, transaction: Transaction) -> bool:
        if transaction.release == BACKFILL:
            return False
        return self.releases[transaction.release].operations[transaction.operation].gone

    def asked(self, release: int, operation: str) -> frozenset[str]:
        if release == BACKFILL:
            return frozenset()
        return frozenset(
            name for name, _ in self.environments(release, self.releases[release].operations[operation])[0]
        )

    def _with_transaction(
        self, world: World, others: tuple[Transaction, ...], transaction: Transaction | None
    ) -> World:
        transactions = world.transactions if transaction is None else (*others, transaction)
        return world._replace(transactions=in_order(transactions))

    def _committed(self, world: World, transaction: Transaction, others: tuple[Transaction, ...]) -> World:
        meant = world.meant
        key = dict(transaction.environment).get(self.rollout.key)
        if transaction.release != BACKFILL and key in self.keys and transaction.gave:
            place = self.keys.index(key)
            meant = (*meant[:place], self._meant_after(transaction, meant[place]), *meant[place + 1 :])
            if meant[place] != world.meant[place]:
                others = tuple(
                    one._replace(allowed=one.allowed | {meant[place]})
                    if one.allowed and (self.rollout.key, key) in one.environment
                    else one
                    for one in others
                )
        rows = self._overlaid(world.rows, transaction.writes)
        after = world._replace(rows=rows, meant=meant, transactions=in_order(others))
        if transaction.release != BACKFILL:
            return after
        todo = tuple(one for one in world.todo if one != (ALL if key is None else key))
        after = after._replace(todo=todo)
        return after if todo else self._entered(after._replace(stage=world.stage + 1))

    def _meant_after(self, transaction: Transaction, before: Meaning) -> Meaning:
        operation = self.releases[transaction.release].operations[transaction.operation]
        if operation.gone or ("*delete" in transaction.gave and "*create" not in transaction.gave):
            return None
        if before is None and "*create" not in transaction.gave:
            return None
        given = {name: value for name, value in transaction.environment if name in transaction.gave}
        return tuple(sorted({**dict(before or ()), **given}.items()))

    # -- what a read must give

    def _wrong(self, world: World, transaction: Transaction, query: Query, effect: Effect) -> Fault | None:
        """Lost or invented, if the result was not meant at any moment of the operation."""
        names = [output.name for output in query.outputs if output.name in self.rollout.values]
        key = self.rollout.key
        if key not in dict(transaction.environment):
            return self._wrong_in_list(world, effect, names)
        if not names or key not in query.parameters:
            return None
        own = {name: value for name, value in transaction.environment if name in transaction.gave}
        allowed = [
            None if one is None else {**dict(one), **own}
            for one in transaction.allowed | {self._meant(world, transaction.environment)}
        ]
        if not effect.answer:
            if None in allowed or "*delete" in transaction.gave:
                return None
            return Fault("lost", "row", (("wanted", tuple(sorted((allowed[0] or {}).items()))),))
        if all(one is None for one in allowed):
            return None if "*create" in transaction.gave else Fault("invented", "row", (("given", effect.answer[0]),))
        return self._wrong_row(dict(effect.answer[0]), names, [one for one in allowed if one is not None])

    def _wrong_in_list(self, world: World, effect: Effect, names: list[str]) -> Fault | None:
        for row in map(dict, effect.answer):
            if (key := row.get(self.rollout.key)) in self.keys:
                meaning = world.meant[self.keys.index(key)]
                if meaning is None:
                    return Fault("invented", "row", (("given", tuple(row.items())),))
                if wrong := self._wrong_row(row, names, [dict(meaning)]):
                    return wrong
        return None

    def _wrong_row(self, row: Mapping[str, Value], names: list[str], allowed: list[dict[str, Value]]) -> Fault | None:
        for name in names:
            wanted = [one[name] for one in allowed if name in one]
            if len(wanted) < len(allowed) or any(same(row[name], one) for one in wanted):
                continue
            is_known = row[name] is None or any(same(row[name], one) for one in self.rollout.values[name])
            return Fault("lost" if is_known else "invented", name, (("given", row[name]), ("wanted", wanted[0])))
        return None


def _goes_by(key: str, statement: Statement) -> bool:
    if isinstance(statement, Insert):
        return (statement.source is None and key in statement.parameters) or (
            statement.source is not None and _goes_by(key, statement.source)
        )
    return statement.where is not None and any(f":{key}" in pair for pair in statement.where.required)


def walker(tables: tuple[str, ...]) -> "Walker":
    """Imported late: on PostgreSQL the command runs without the planner. Raises `NotModelled`."""
    try:
        from rollouts.worlds.walks import Walker
    except ImportError as error:
        raise NotModelled(f"database: schema-lab needs the project's requirements.txt ({error})") from error
    return Walker(tables)


def in_order(transactions: tuple[Transaction, ...]) -> tuple[Transaction, ...]:
    return tuple(sorted(transactions, key=_place)) if len(transactions) > 1 else transactions


@lru_cache(maxsize=65536)
def _place(transaction: Transaction) -> str:
    """Cached: `repr` takes longer than a step."""
    return repr(transaction)


def _waits(locks: Iterable[Lock], others: tuple[Transaction, ...]) -> bool:
    if not others:
        return False
    held = {lock[:3]: lock[3] for one in others for lock in one.locks}
    held |= {lock[:3]: True for one in others for lock in one.locks if lock[3]}
    return any(lock[:3] in held and (lock[3] or held[lock[:3]]) for lock in locks)
