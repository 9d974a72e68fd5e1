"""Notifications on their way through the store: what goes in comes out, whatever its length, in pieces it takes."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from expressions.errors import SqlError
from nodes.execution.held_rows import KeptByConnection, NodeRows
from nodes.notifications.listening import ALL, WAITING_BYTES_MAX, Listening, size_of
from nodes.notifications.pieces import Assembler, Notification, pieces_of

STORE_BYTES_MAX = 7999
SENDER = ("n1", 12, 345)
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)))


@given(st.lists(st.tuples(TEXTS.filter(bool), TEXTS, st.integers(1, 1200))))
@example([("c", "ä", 3999), ("c", "ä", 3998), (" 1/2 ", " x", 3999)])
def test_what_is_sent_is_what_is_heard(said: list[tuple[str, str, int]]) -> None:
    assembler, heard, sent = Assembler(), [], []
    for channel, word, times in said:
        notification = Notification(*SENDER, channel[:15], (word * times)[:1999] + word)
        sent.append(notification)
        for piece in pieces_of(notification):
            assert len(piece.encode()) <= STORE_BYTES_MAX
            assert "\0" not in piece
            complete = assembler.take(piece)
            if complete is not None:
                heard.append(complete)
    assert heard == sent


def test_long_ones_that_begin_alike_are_not_taken_for_the_same() -> None:
    """The store leaves out what a transaction has said before, piece by piece."""
    one, other = (pieces_of(Notification(*SENDER, "c", "x" * 7990 + end)) for end in "ab")
    assert len(one) == len(other) == 2
    assert not set(one) & set(other)


def test_what_no_node_has_sent_is_refused() -> None:
    assembler = Assembler()
    first, second = pieces_of(Notification(*SENDER, "c", "x" * 7990))
    for piece in ("hello", "", second):
        with pytest.raises(ValueError):
            assembler.take(piece)
    assert assembler.take(first) is None
    assert assembler.take(second) is not None


@pytest.mark.parametrize(("channel", "payload", "says"), [
    ("", "", "channel name cannot be empty"),
    ("c" * 64, "", "channel name too long"),
    ("ä" * 32, "", "channel name too long"),
    ("c", "x" * 8000, "payload string too long"),
    ("c", "ä" * 4000, "payload string too long"),
])  # fmt: skip
def test_what_postgresql_does_not_take_is_refused(channel: str, payload: str, says: str) -> None:
    with pytest.raises(SqlError, match=says) as caught:
        pieces_of(Notification(*SENDER, channel, payload))
    assert caught.value.sqlstate == "22023"


def test_a_session_elsewhere_is_never_taken_for_the_same() -> None:
    """Clients leave out what they have said themselves, by the number of the session."""
    sent = Notification(*SENDER, "c", "")
    assert sent.sender_for("n1", 12) == 345
    for node, incarnation in (("n2", 12), ("n1", 13)):
        seen = sent.sender_for(node, incarnation)
        assert 2**30 <= seen < 2**31


def test_a_session_hears_its_channels_as_its_transactions_leave_them() -> None:
    listening = Listening(KeptByConnection(NodeRows()))
    listening.ask("a", listens=True, savepoint=0)
    listening.ask("b", listens=True, savepoint=1)
    listening.ask("c", listens=True, savepoint=2)
    listening.return_to(2)
    assert not listening.channels
    listening.end(committed=True)
    assert list(listening.channels) == ["a", "b"]
    listening.ask(ALL, listens=False, savepoint=0)
    listening.end(committed=False)
    assert list(listening.channels) == ["a", "b"]
    listening.receive(Notification(*SENDER, "a", "1"))
    listening.receive(Notification(*SENDER, "b", "2"))
    listening.receive(Notification(*SENDER, "c", "3"))
    listening.ask("a", listens=False, savepoint=0)
    listening.end(committed=True)
    heard = listening.next()
    assert heard is not None
    assert heard.payload == "2"
    assert listening.next() is None


def test_what_waits_is_bounded() -> None:
    node = NodeRows()
    listening = Listening(KeptByConnection(node))
    listening.ask("a", listens=True, savepoint=0)
    listening.end(committed=True)
    one = Notification(*SENDER, "a", "x" * 1000)
    for _ in range(WAITING_BYTES_MAX // size_of(one)):
        listening.receive(one)
    with pytest.raises(SqlError, match="its notifications were not taken") as caught:
        listening.receive(one)
    assert (caught.value.severity, caught.value.sqlstate) == ("FATAL", "53200")
    assert 0 < node.held <= WAITING_BYTES_MAX
    listening.close()
    assert node.held == 0
