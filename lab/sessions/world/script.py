"""A session on the lab's cluster as a golden script for `manage.py script`."""

from lab.scripts import golden
from lab.sessions.session import Session, check_steps
from lab.sessions.setups import setup_named
from lab.sessions.world import session as world_session
from lab.sessions.world.setups import SCENERY


def script_of(session: Session, why: str) -> str:
    """The lines and their output, up to a refused step; `why` is the first comment. Raises `BadSession`."""
    setup = setup_named(session.setup)
    check_steps(session.steps)
    taken = session.steps[: world_session.taken(setup, session)]
    left_out = [f"without {rule}" for rule in sorted(session.left_out)]
    blocks = ((f"# {why}", *left_out, *SCENERY[session.setup].prologue), *((step,) for step in taken))
    return golden.recorded(blocks)
