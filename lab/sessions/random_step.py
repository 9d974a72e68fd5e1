"""A step for "let it run": an actor at random, then one of its steps, the same for the same seed and position.

Steps that change nothing are left out: a run should get somewhere.
"""

import random

from lab.sessions.shown import Offer, Shown


def random_step(shown: Shown, seed: int) -> Offer | None:
    """A step that may be taken at the position shown; nothing when there is none."""
    open_steps = [offer for offer in shown.offers if not offer.why_not.template and not offer.changes_nothing]
    actors = [actor for actor in shown.actors if any(offer.actor == actor for offer in open_steps)]
    if not actors:
        return None
    choice = random.Random(f"{seed}/{shown.at}").choice
    actor = choice(actors)
    return choice([offer for offer in open_steps if offer.actor == actor])
