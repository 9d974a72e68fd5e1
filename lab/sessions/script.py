"""A session on the lab's cluster as a golden script: `manage.py script` runs it, and it can be kept as a test."""

from lab.scripts import golden
from lab.sessions.replay import show
from lab.sessions.session import BadSession, Session
from lab.sessions.setup import WORLD
from lab.sessions.setups import setup_named
from lab.sessions.world_setups import SCENERY


def script_of(session: Session, why: str) -> str:
    """The lines of a session with what they say, up to a step that is refused; `why` is the script's first comment.

    Raises `BadSession` for a session on another machine.
    """
    if setup_named(session.setup).kind != WORLD:
        raise BadSession("a golden script is made of sessions on the lab's cluster; this one is on an explorer's model")
    taken = session.steps[: show(session).at]
    left_out = [f"without {rule}" for rule in sorted(session.left_out)]
    blocks = ((f"# {why}", *left_out, *SCENERY[session.setup].prologue), *((step,) for step in taken))
    return golden.play("\n\n".join("\n".join(block) for block in blocks)).text
