"""A model without a set-up of its own is called by its element, its states and the rules that it is without."""

from lab.explorer.variants import all_variants
from lab.sessions.model.setups import PROTECTS
from lab.sessions.session import Session
from lab.sessions.titles import details_of, title_of


def test_every_built_in_model_says_what_it_is() -> None:
    for name, variant in all_variants().items():
        session = Session("variant", {"name": name})
        title, details = str(title_of(session)), [str(one) for one in details_of(session)]
        assert title.count(" -> ") + title.count(" beside ") == len(variant.model.stages) - 1, title
        assert f"{variant.model.nodes} nodes" in details[0]
        broken = [rule.value for rule in variant.model.broken]
        assert [rule for rule in broken if rule not in title] == []
        assert [rule for rule in broken if f"left out: {PROTECTS[rule]}" not in details] == []


def test_a_rule_that_the_session_leaves_out_is_not_the_models() -> None:
    session = Session("variant", {"name": "add-index"}, frozenset({"blind"}))
    assert "blind" not in str(title_of(session))


def test_other_set_ups_keep_their_own() -> None:
    assert str(title_of(Session("one-jump"))) == "One jump"
    assert details_of(Session("one-jump")) == ()
