"""The counterexample of a plan's proof in the plan's names, with a link to the stage: for pages and the command."""

from changes.plan.model import Plan
from changes.proofs import Json
from lab.own.counterexample import session_of
from lab.pages.addresses import address_of
from lab.pages.words import say
from lab.sessions.replay import show_in_lines


def in_names_of(plan: Plan, answer: Json) -> Json:
    session = session_of(plan, answer)
    if session is None:
        return {}
    shown = show_in_lines(session)
    return {
        "counterexample": [{"sentence": say(line.text)} for line in shown.trace],
        "broken": [{"clause": one.clause, "version": one.version, "why": say(one.why)} for one in shown.verdicts],
        "is_in_its_names": True,
        "stage": address_of("stage", session),
    }
