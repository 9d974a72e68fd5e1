"""Every word of a plan is a sentence, which a page puts into another language by its template."""

from collections.abc import Iterator

import pytest

from catalog.text.sentence import Sentence, in_other_words
from changes.executor.interventions import CANNOT_CANCEL
from changes.pages.plan_json import plan_json
from changes.plan.model import Plan, why_no_return
from lab.own.statements import planned
from tests.lab.own.kinds import KINDS, TABLES

MORE = {
    "a default": "ALTER TABLE flights ALTER seats SET DEFAULT 5",
    "no default": "ALTER TABLE crews ALTER size DROP DEFAULT",
    "another name": "ALTER TABLE flights RENAME COLUMN dest TO goal",
    "a comment": "COMMENT ON COLUMN flights.dest IS 'where to'",
    "a type that is rewritten": "ALTER TABLE flights ALTER dest TYPE bigint USING dest::bigint",
    "a type that is cut": "ALTER TABLE flights ALTER dest TYPE varchar(3) USING dest::varchar(3)",
    "a type that rounds": "ALTER TABLE flights ALTER dest TYPE timestamp(3) USING dest::timestamp(3)",
    "no leases": "ALTER TABLE crews SET (coordination = 'hash')",
    "a placement": "ALTER TABLE crews SET (sharding_func = 'mpcrc32')",
    "several": "ALTER TABLE flights ADD COLUMN gate text NOT NULL DEFAULT 'A1', DROP COLUMN dest, ADD UNIQUE (seats)",
    "a table that refers dropped": "DROP TABLE flights",
}


def words(plan: Plan) -> Iterator[str]:
    shown = plan_json(plan)
    yield from (plan.headline, shown["waits"], shown["rollback"]["summary"], *plan.dangers, *shown["rollback"]["steps"])
    yield from (step["text"] for step in shown["steps"])
    yield from (cell["element"] for version in shown["versions"] for cell in version["states"])
    yield from (edit for version in shown["versions"] for edit in version["edits"])


def marked(text: str) -> str:
    """A translation that is told from its text."""
    return f"⟦{text}⟧"


@pytest.mark.parametrize("kind", [*KINDS, *MORE])
def test_a_page_can_say_all_of_a_plan_in_another_language(kind: str) -> None:
    plan = planned(TABLES + (KINDS | MORE)[kind])[-1].plan
    assert plan is not None
    assert [text for text in words(plan) if in_other_words(text, marked) == text] == []


@pytest.mark.parametrize("kind", [*KINDS, *MORE])
def test_a_page_can_say_in_another_language_why_a_change_cannot_be_cancelled(kind: str) -> None:
    """All of it: a list of states once stayed English around its translated words."""
    plan = planned(TABLES + (KINDS | MORE)[kind])[-1].plan
    assert plan is not None
    reason = why_no_return(plan)
    (what,) = (one for one in reason.values.values() if isinstance(one, Sentence))
    said = in_other_words(Sentence(CANNOT_CANCEL[reason.template], n=7, **reason.values), marked)
    assert said == marked(f"change 7 can't be cancelled any more: {reason.replace(what, in_other_words(what, marked))}")
    assert in_other_words(what, marked) != what
