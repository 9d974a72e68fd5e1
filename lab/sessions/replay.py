"""Everything that a session shows at a position, whichever machine it runs on.

    show(session)         its end
    show(session, 3)      after three steps; those that follow stay in the trace

A step that cannot be taken ends the trace: `Shown.refused` says which, and why.
"""

from collections.abc import Mapping
from dataclasses import replace

from lab.sessions import handbooks
from lab.sessions.fold import folded
from lab.sessions.kinds import Show, added_kind
from lab.sessions.model import session as model_session
from lab.sessions.session import BadSession as BadSession
from lab.sessions.session import Session, Value, check_steps
from lab.sessions.setup import HANDBOOKS, MODEL, WORLD
from lab.sessions.setups import setup_named
from lab.sessions.shown import Shown
from lab.sessions.world import session as world_session

MACHINES: Mapping[str, Show] = {
    MODEL: model_session.show,
    WORLD: world_session.show,
    HANDBOOKS: handbooks.show,
}


def show(session: Session, at: int | None = None, *, single_steps: bool | None = None) -> Shown:
    """Position `at` of a session (None: its end; beyond it, too). Raises `BadSession`.

    `single_steps`: statements in single steps, as the set-up says by default.
    """
    setup = setup_named(session.setup)
    check_steps(session.steps)
    single = setup.single_steps if single_steps is None else single_steps
    shows = MACHINES.get(setup.kind) or added_kind(setup.kind).show
    return shows(setup, session, at, single_steps=single)


def show_in_lines(session: Session, at: int | None = None) -> Shown:
    """The same with the trace in lines, of statements or single steps as the set-up says. Raises `BadSession`."""
    return folded(show(session, at), single_steps=setup_named(session.setup).single_steps)


def new_session(
    name: str, parameters: Mapping[str, Value] | None = None, left_out: frozenset[str] = frozenset()
) -> Session:
    """A session of a set-up as it begins: of its first steps, those that can be taken. Raises `BadSession`."""
    session = Session(name, {} if parameters is None else parameters, left_out)
    begun = replace(session, steps=setup_named(name).begins)
    if show(begun, single_steps=True).refused is None:
        return begun
    for step in begun.steps:
        longer = Session(name, session.parameters, left_out, (*session.steps, step))
        if show(longer, single_steps=True).refused is None:
            session = longer
    return session
