"""Offers: the actions of each actor, a statement as one button (n1.insert.1.1) or in its single steps (n1.begin, ..). A
refused offer has its reason, and the rule. A statement whose transaction is open takes the steps that are left."""

from collections.abc import Iterator

from catalog.text.message import names_listed
from lab.explorer.contents.statements import INSERT, Statement, inserted, row_of, row_text, rows_of_range
from lab.explorer.lanes import EXECUTOR, FILL, actor_of
from lab.explorer.narration import request_text
from lab.explorer.spaces.config import BEGUN, HAS_READ, Config, step_id
from lab.explorer.spaces.fill import UNREAD, Step
from lab.explorer.spaces.full_space import Plain
from lab.sessions.shown import NOTHING, Offer, Text

NOT_BEGUN = BEGUN - 1


def offers(plain: Plain, config: Config, *, single_steps: bool) -> tuple[Offer, ...]:
    if single_steps:
        found = [_offer(plain, config, (step,)) for step in plain.candidates(config) if not _is_hopeless(plain, step)]
    else:
        found = list(_statements(plain, config))
    order = {name: at for at, name in enumerate((*map(str, plain.names), EXECUTOR, FILL))}
    return tuple(sorted(found, key=lambda offer: order[offer.actor]))


def _statements(plain: Plain, config: Config) -> Iterator[Offer]:
    for step in plain.candidates(config):
        match step:
            case (str(name), "begin"):
                yield from _all_statements(plain, config, name, NOT_BEGUN)
            case (str(), "read", _, *_) if step[0] != FILL:
                continue
            case (str(name), "write", statement):
                yield from _statement(plain, config, name, statement, HAS_READ)  # type: ignore[arg-type]
            case ("fill", "read", number, attempt):
                put: Step = ("fill", "put", number, attempt)
                yield _offer(plain, config, (step, put), f"fill.{number}.{attempt}", _range_text(plain, step))
            case _:
                yield _offer(plain, config, (step,))
    for name, node in zip(plain.names, config.nodes, strict=True):
        if node.transaction is not None and node.transaction.phase == BEGUN:
            yield from _all_statements(plain, config, name, BEGUN)


def _all_statements(plain: Plain, config: Config, name: str, phase: int) -> Iterator[Offer]:
    for statement in plain.statements:
        yield from _statement(plain, config, name, statement, phase)


def _statement(plain: Plain, config: Config, name: str, statement: Statement, phase: int) -> Iterator[Offer]:
    write: Step = (name, "write", statement)
    if not _is_hopeless(plain, write):
        steps: tuple[Step, ...] = ((name, "begin"), (name, "read", *row_of(statement)), write, (name, "commit"))
        steps = steps[phase + 1 :]
        if plain.model.late_enter and phase == NOT_BEGUN:
            steps = (steps[0], (name, "pin"), (name, "enter"), *steps[1:])
        named = f"{name}.{'.'.join(map(str, statement))}"
        yield _offer(plain, config, steps, named, request_text(statement))


def _is_hopeless(plain: Plain, step: Step) -> bool:
    if step[1:2] != ("write",):
        return False
    statement: Statement = step[2]  # type: ignore[assignment]
    what, _, value = statement
    return what == INSERT and all(inserted(one, value) is None for one in plain.effects.program.descriptors)


def _offer(plain: Plain, config: Config, steps: tuple[Step, ...], named: str = "", label: Text = NOTHING) -> Offer:
    now, why = config, None
    for step in steps:
        why = plain.why_not(now, step)
        if why is not None:
            break
        now = plain.after(now, step)[0]
    takes = tuple(map(step_id, steps))
    return Offer(
        named or takes[0],
        actor_of(steps[0]),
        label or label_of(plain, steps[0]),
        takes,
        NOTHING if why is None else why.text,
        "" if why is None else why.rule,
        is_statement=len(takes) > 1,
        changes_nothing=why is None and _looks(plain, now) == _looks(plain, config),
    )


def _looks(plain: Plain, config: Config) -> tuple[object, ...]:
    tables = tuple((table.newest, table.fence, table.accepted) for table in plain.stops[config.stop].tables)
    in_hand = tuple(chunk for _, *attempts in config.ranges for chunk in attempts if chunk > UNREAD)
    return tables, config.contents, config.nodes, in_hand


def label_of(plain: Plain, step: Step) -> Text:
    match step[1:]:
        case ("acquire",) if not plain.model.coordinations[0].has_leases:
            return Text("load the newest version")
        case ("acquire",):
            return Text("lease the newest version")
        case ("acquire", table):
            return Text("lease the newest version of {table}", {"table": str(table)})
        case ("expire",):
            return Text("freeze until the lease expires")
        case ("begin",):
            return Text("begin a transaction")
        case ("pin",):
            return Text("choose the newest version it leases")
        case ("enter",):
            return Text("enter the table")
        case ("rollback",):
            return Text("roll back")
        case ("end",):
            return Text("the publisher ends the session")
        case ("commit",):
            return Text("commit")
        case ("write", statement):
            return request_text(statement)  # type: ignore[arg-type]
    if step[0] == FILL:
        return _fill_text(plain, step)
    if step[1:2] == ("read",):
        return Text("read {row}", {"row": row_text(step[2:])})
    match step:
        case ("publish", version):
            return Text("publish v{version}", {"version": str(version)})
        case ("drain", version):
            return Text("drain v{version}", {"version": str(version)})
        case (act,):
            return ACTS[str(act)]
    raise AssertionError(f"a step without a label: {step}")


ACTS = {
    "clear": Text("clear the tombstones"),
    "close": Text("close the run"),
    "verify": Text("verify"),
    "delete": Text("delete the pairs"),
    "purge": Text("purge the tombstones"),
    "remove": Text("remove the storage"),
    "cancel": Text("cancel the change"),
}


def _range_text(plain: Plain, read: Step) -> Text:
    _, _, number, attempt = read
    assert isinstance(number, int)
    values = {"rows": names_listed(rows_of_range(plain.model, number - 1))}
    return Text("fill row {rows}", values) if attempt == 1 else Text("second worker: fill row {rows}", values)


def _fill_text(plain: Plain, step: Step) -> Text:
    if step[1] == "purge":
        return Text("remove tombstones")
    number = step[2]
    assert isinstance(number, int)
    rows = names_listed(rows_of_range(plain.model, number - 1))
    if step[1] == "again":
        return Text("give up the worker of row {rows}: another takes over", {"rows": rows})
    is_second = step[3] != 1
    values = {"rows": rows}
    if step[1] == "put":
        return Text("second worker: put row {rows}", values) if is_second else Text("put row {rows}", values)
    return Text("second worker: read row {rows}", values) if is_second else Text("read row {rows}", values)
