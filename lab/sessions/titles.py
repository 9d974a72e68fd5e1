"""The title of a session, and facts about its model. A built-in or own model is titled by its states."""

import re
from collections.abc import Iterator, Mapping

from catalog.elements import FOREIGN_KEY, Kind
from catalog.text.message import STATES, Text, added, beside, followed, names_listed
from lab.explorer.model import SELF_REFERENCE, TWINS, Model
from lab.explorer.plans.small_tables import elements_of
from lab.explorer.rules_left_out import Broken
from lab.sessions.model.setups import CHAPTER, FENCE, PROTECTS, TWO_VERSIONS, names_of, own_model_of
from lab.sessions.names import MODEL_NAMES, Names
from lab.sessions.session import Session
from lab.sessions.setup import Setup
from lab.sessions.setups import setup_named

KINDS: Mapping[str, Text] = {
    Kind.TABLE.value: Text("table"),
    Kind.OPTIONAL_COLUMN.value: Text("optional column"),
    Kind.REQUIRED_COLUMN.value: Text("required column"),
    Kind.DERIVED_COLUMN.value: Text("column of another type"),
    Kind.INDEX.value: Text("index"),
    Kind.UNIQUE_INDEX.value: Text("unique index"),
    Kind.CONSTRAINT.value: Text("NOT NULL"),
    Kind.PLACEMENT.value: Text("placement"),
    FOREIGN_KEY: Text("foreign key"),
    SELF_REFERENCE: Text("foreign key of a table to itself"),
}

CHAPTER_ID = re.compile(r"\d\d-[a-z0-9-]{1,60}")

UNNAMED = frozenset({"variant", "model"})


def title_of(session: Session) -> Text:
    setup = setup_named(session.setup)
    return title_of_model(own_model_of(setup, session), names_of(setup, session)) if _is_unnamed(setup) else setup.title


def chapter_of(session: Session) -> str:
    """The id of the chapter that explains a session, or "". Raises `BadSession`."""
    setup = setup_named(session.setup)
    named = str(setup.values(session).get(CHAPTER, setup.chapter))
    return named if CHAPTER_ID.fullmatch(named) else ""


def details_of(session: Session) -> tuple[Text, ...]:
    """The sizes of a model without a set-up of its own, and the rules left out. Raises `BadSession`."""
    setup = setup_named(session.setup)
    if not _is_unnamed(setup):
        return ()
    model = own_model_of(setup, session)
    return model.bounds, *(Text("left out: {rule}", {"rule": PROTECTS[one]}) for one in _left_out(model))


def title_of_model(model: Model, names: Names = MODEL_NAMES) -> Text:
    stages = [added([STATES[state] for state in stage]) for stage in model.stages]
    states = beside(stages) if model.pair else followed(stages)
    found = Text("{element}: {states}", {"element": _elements(model, names), "states": states})
    left_out = list(_left_out(model))
    return Text("{name}, left out: {rules}", {"name": found, "rules": names_listed(left_out)}) if left_out else found


def _is_unnamed(setup: Setup) -> bool:
    return setup.name in UNNAMED


def _left_out(model: Model) -> Iterator[str]:
    yield from (rule.value for rule in Broken if rule in model.broken)
    if not model.fence:
        yield FENCE
    if model.versions > 2:
        yield TWO_VERSIONS


def _elements(model: Model, names: Names) -> Text:
    kinds = [kind.value for kind in model.kinds]
    if model.foreign_key or model.refers_to_itself:
        kinds[-1] = FOREIGN_KEY if model.foreign_key else SELF_REFERENCE
    if model.check:
        kinds[kinds.index(Kind.CONSTRAINT.value)] = "CHECK"
    found = [KINDS.get(kind, Text("{kind}", {"kind": kind})) for kind in kinds]
    if model.kinds == TWINS:
        found = found[:1]
    if model.has_placements:
        return Text("placement, spread by value") if model.by_value else Text("placement, spread by key")
    if model.partial:
        found[-1] = Text("partial {element}", {"element": found[-1]})
    if names.words and len(found) == len(elements_of(model)):
        words = [names.word(element.name) for element in elements_of(model)]
        found = [
            Text("{element} {name}", {"element": one, "name": name}) for one, name in zip(found, words, strict=True)
        ]
    return added(found)
