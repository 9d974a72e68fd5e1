"""The code that replays sessions of kinds that packages above the lab add (`lab.explorer.fingerprint`)."""

ADDED: dict[str, tuple[str, ...]] = {}


def added_places() -> tuple[str, ...]:
    return tuple(place for kind in sorted(ADDED) for place in ADDED[kind])
