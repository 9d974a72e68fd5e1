"""All set-ups by their names, of each kind of machine."""

from collections.abc import Mapping

from lab.sessions import handbooks
from lab.sessions.kinds import added_setups
from lab.sessions.model.setups import MODEL_SETUPS
from lab.sessions.session import BadSession
from lab.sessions.setup import Setup
from lab.sessions.world.setups import WORLD_SETUPS

SETUPS: Mapping[str, Setup] = {handbooks.SETUP.name: handbooks.SETUP, **MODEL_SETUPS, **WORLD_SETUPS}


def setup_named(name: str) -> Setup:
    found = SETUPS.get(name) or added_setups().get(name)
    if found is None:
        raise BadSession(f"there is no set-up {name[:60]}; set-ups are: {', '.join(every_setup())}")
    return found


def every_setup() -> Mapping[str, Setup]:
    return {**SETUPS, **added_setups()}
