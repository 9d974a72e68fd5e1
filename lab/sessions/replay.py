"""A session at a position, on any machine. A step that cannot be taken ends the trace (`SessionView.refused`)."""

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
from lab.sessions.shown import SessionView
from lab.sessions.world import session as world_session

MACHINES: Mapping[str, Show] = {MODEL: model_session.show, WORLD: world_session.show, HANDBOOKS: handbooks.show}


def show(session: Session, at: int | None = None, *, single_steps: bool | None = None) -> SessionView:
    """Position `at` (None, or beyond it: the end). `single_steps`: None means the set-up's. Raises `BadSession`."""
    setup = setup_named(session.setup)
    check_steps(session.steps)
    single = setup.single_steps if single_steps is None else single_steps
    shows = MACHINES.get(setup.kind) or added_kind(setup.kind).show
    return shows(setup, session, at, single_steps=single)


def show_in_lines(session: Session, at: int | None = None) -> SessionView:
    return folded(show(session, at), single_steps=setup_named(session.setup).single_steps)


def new_session(
    name: str, parameters: Mapping[str, Value] | None = None, left_out: frozenset[str] = frozenset()
) -> Session:
    """A new session of a set-up, with those of its first steps that can be taken. Raises `BadSession`."""
    session = Session(name, {} if parameters is None else parameters, left_out)
    begun = replace(session, steps=setup_named(name).begins)
    if show(begun, single_steps=True).refused is None:
        return begun
    for step in begun.steps:
        longer = Session(name, session.parameters, left_out, (*session.steps, step))
        if show(longer, single_steps=True).refused is None:
            session = longer
    return session
