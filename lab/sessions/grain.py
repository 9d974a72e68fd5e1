"""Offers: what each actor may do, a statement as one button or in its single steps.

    statement       n1.insert.1.1   takes n1.begin, n1.read.1, n1.write.insert.1.1, n1.commit
    single steps    n1.begin        takes itself

An offer that may not be taken says why. A statement whose transaction is open already takes the steps that are left.
"""

from collections.abc import Iterator

from lab.explorer.contents.statements import INSERT, Statement, inserted, row_of
from lab.explorer.lanes import actor_of
from lab.explorer.narration import statement_words
from lab.explorer.spaces.fill import UNREAD, Step
from lab.explorer.spaces.full_space import BEGUN, HAS_READ, Config, Plain, step_id
from lab.sessions.shown import NOTHING, Offer, Text


def offers(plain: Plain, config: Config, *, single_steps: bool) -> tuple[Offer, ...]:
    """The offers at a state, by actor: nodes, executor, fill."""
    found = list(_single(plain, config) if single_steps else _statements(plain, config))
    order = {name: at for at, name in enumerate((*map(str, plain.names), "executor", "fill"))}
    return tuple(sorted(found, key=lambda offer: order[offer.actor]))


def _single(plain: Plain, config: Config) -> Iterator[Offer]:
    for step in plain.candidates(config):
        if not _is_hopeless(plain, step):
            yield _offer(plain, config, (step,))


def _statements(plain: Plain, config: Config) -> Iterator[Offer]:
    for step in plain.candidates(config):
        match step:
            case (str(name), "begin"):
                for statement in plain.statements:
                    yield from _statement(plain, config, name, statement, BEGUN - 1)
            case (str(name), "read", *_):
                continue
            case (str(name), "write", statement):
                yield from _statement(plain, config, name, statement, HAS_READ)
            case ("fill", "read", number, attempt):
                yield _offer(plain, config, (step, ("fill", "put", number, attempt)), f"fill.{number}.{attempt}")
            case _:
                yield _offer(plain, config, (step,))
    for name, node in zip(plain.names, config.nodes, strict=True):
        if node.transaction is not None and node.transaction.phase == BEGUN:
            for statement in plain.statements:
                yield from _statement(plain, config, name, statement, BEGUN)


def _statement(plain: Plain, config: Config, name: str, statement: Statement, phase: int) -> Iterator[Offer]:
    """The steps of a statement that are left after `phase`."""
    write: Step = (name, "write", statement)
    if _is_hopeless(plain, write):
        return
    steps: tuple[Step, ...] = ((name, "begin"), (name, "read", *row_of(statement)), write, (name, "commit"))
    yield _offer(plain, config, steps[phase + 1 :], f"{name}.{'.'.join(map(str, statement))}", _label(statement))


def _is_hopeless(plain: Plain, step: Step) -> bool:
    """True for an insert that no version of the model can be given."""
    if step[1:2] != ("write",):
        return False
    statement: Statement = step[2]  # type: ignore[assignment]
    what, _, value = statement
    return what == INSERT and all(inserted(one, value) is None for one in plain.effects.program.descriptors)


def _label(statement: Statement) -> Text:
    return Text("{what}", {"what": statement_words(statement)})


def _offer(plain: Plain, config: Config, steps: tuple[Step, ...], name: str = "", label: Text = NOTHING) -> Offer:
    takes = tuple(map(step_id, steps))
    actor = actor_of(steps[0])
    now, why = config, ""
    for step in steps:
        why = plain.hindrance(now, step)
        if why:
            break
        now = plain.after(now, step)[0]
    return Offer(
        name or takes[0],
        actor,
        label or Text("{step}", {"step": takes[0].removeprefix(f"{actor}.")}),
        takes,
        Text("{why}", {"why": why}) if why else NOTHING,
        is_statement=len(takes) > 1,
        changes_nothing=not why and _looks(plain, now) == _looks(plain, config),
    )


def _looks(plain: Plain, config: Config) -> tuple[object, ...]:
    """All of a state that people see but where the executor stands."""
    tables = tuple((table.newest, table.fence) for table in plain.stops[config.stop].tables)
    in_hand = tuple(chunk for _, *attempts in config.ranges for chunk in attempts if chunk > UNREAD)
    return tables, config.contents, config.nodes, in_hand
