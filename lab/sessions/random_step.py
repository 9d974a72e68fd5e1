"""A step for "let it run": a random actor and step, the same for the same seed, that changes something."""

import random

from lab.sessions.shown import Offer, SessionView


def random_step(shown: SessionView, seed: int) -> Offer | None:
    open_steps = [offer for offer in shown.offers if not offer.why_not.template and not offer.changes_nothing]
    actors = [actor for actor in shown.actors if any(offer.actor == actor for offer in open_steps)]
    if not actors:
        return None
    choice = random.Random(f"{seed}/{shown.at}").choice
    actor = choice(actors)
    return choice([offer for offer in open_steps if offer.actor == actor])
