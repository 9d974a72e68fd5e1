"""A run as a golden script, with a reason and its output."""

from lab.cluster.control_plane import Without
from lab.scripts.commands_of import Lab, Refusal, perform
from lab.scripts.golden import SEPARATOR, play
from lab.simulator.events import CLOSING_ROUNDS_MAX, Event, calm, ending
from lab.simulator.simulation import Outcome


def script_of(outcome: Outcome, without: frozenset[Without]) -> str:
    """The events of a run, refused ones marked, then the clauses; with today's output."""
    lab = Lab()
    lines = [_performed(lab, line) for line in without_lines(without)]
    lines += [_performed(lab, event.line) for event in outcome.happened]
    if outcome.at_end:
        lines += [_performed(lab, event.line) for event in calm(lab)]
        for _ in range(CLOSING_ROUNDS_MAX):
            lines += [_performed(lab, event.line) for event in ending(lab)]
    names = dict.fromkeys(versions[-1].name for versions in lab.world.control.published.values())
    lines += [_performed(lab, f"{what} {name}") for name in names for what in ("pairs", "check")]
    seed = "" if outcome.seed is None else f"Seed {outcome.seed}. "
    text = "\n".join([f"# {seed}{outcome.finding or 'Nothing was found.'}", *lines, SEPARATOR, ""])
    return play(text).text


def without_lines(without: frozenset[Without]) -> list[str]:
    return [f"without {rule.value}" for rule in Without if rule in without]


def _performed(lab: Lab, line: str) -> str:
    try:
        perform(lab, line)
    except Refusal:
        return f"!{line}"
    return line


def lines_of(events: tuple[Event, ...]) -> list[str]:
    return [event.line for event in events]
