"""A counterexample of a plan's proof, as a session in the names of the plan's schema."""

from collections.abc import Mapping
from typing import Any

from changes.plan.model import Plan
from lab.explorer.model import BadModel
from lab.explorer.planned import Part, parts_of
from lab.own.naming import names_for
from lab.sessions.model.setups import NAMES, model_parameter
from lab.sessions.replay import show
from lab.sessions.session import BadSession, Session


def session_of(plan: Plan, answer: Mapping[str, Any]) -> Session | None:
    """None if the stage cannot take the steps, such as a fill left out of a plan written by hand."""
    part = _part(plan, answer["model"])
    if part is None:
        return None
    parameters = {"model": model_parameter(part.model), NAMES: names_for(plan, part).to_json()}
    steps = tuple(step["id"] for step in answer["counterexample"])
    session = Session("model", parameters, frozenset(), steps)
    try:
        shown = show(session)
    except BadSession:
        return None
    return None if shown.refused is not None or not shown.verdicts else session


def _part(plan: Plan, model: Mapping[str, Any]) -> Part | None:
    try:
        parts = parts_of(plan, nodes=model["nodes"])
    except BadModel:
        return None
    return next((one for one in parts.explored if one.model.to_json() == model), None)
