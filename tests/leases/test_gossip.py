"""News of versions (L6): only the highest counts, whatever the order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.elements import TableId
from leases.gossip import Look, MalformedNews, News, from_text, highest, is_news, to_text

NEWS = st.builds(News, st.integers(1, 3).map(TableId), st.integers(1, 9))


@given(st.lists(NEWS, max_size=12).flatmap(lambda told: st.tuples(st.just(told), st.permutations(told))))
def test_order_and_repetition_of_news_change_nothing(told: tuple[list[News], list[News]]) -> None:
    sent, heard = told
    one: dict[TableId, int] = {}
    other: dict[TableId, int] = {}
    for known, messages in ((one, sent), (other, (*heard, *heard))):
        for news in messages:
            known[news.table] = highest(known.get(news.table, 0), news.version)
    assert one == other


def test_only_a_higher_version_is_news() -> None:
    assert is_news(3, 4)
    assert not is_news(4, 4)
    assert not is_news(4, 3)


@given(NEWS | st.sampled_from(["n1", "a-node_2"]).map(Look))
def test_news_and_calls_survive_the_wire(news: News | Look) -> None:
    assert from_text(to_text(news)) == news


@pytest.mark.parametrize("text", ["", "7", "7:", ":4", "7:x", "7:-1", "٧:4"])
def test_a_malformed_message_is_named(text: str) -> None:
    with pytest.raises(MalformedNews, match="not of the form table:version"):
        from_text(text)
