"""What a connection keeps between messages is counted, refused by name when it is too much, and given back."""

import asyncio
from collections.abc import Callable, Iterator
from sys import getsizeof
from types import SimpleNamespace

import pytest

from expressions.errors import FatalError, SqlError
from nodes.clients import portals
from nodes.clients.channel import WRITE_BEHIND_BYTES, Channel
from nodes.clients.connection import Client
from nodes.clients.portals import ENTRY_BYTES, Kept, Portal, Prepared, send_rows
from nodes.execution.held_rows import CONNECTION_BYTES_MAX, NODE_BYTES_MAX, HeldRows, KeptByConnection, NodeRows
from nodes.wire import messages
from nodes.wire.messages import Field
from nodes.wire.results import Result, Row
from tests.nodes.raw_client import SYNC, Raw, ask, bind, execute, fields, kinds, message, parse, query

LONG = "SELECT 1 -- " + "x" * 900_000
"""Two of these are more than a connection may keep."""


@pytest.fixture
def node() -> NodeRows:
    return NodeRows()


def test_a_statement_counts_until_it_is_closed_or_replaced(node: NodeRows) -> None:
    kept = Kept[Prepared](KeptByConnection(node))
    one = ENTRY_BYTES + portals.TREE_FACTOR * len("SELECT 1") + getsizeof("a")
    kept["a"], kept["b"] = Prepared("SELECT 1", None), Prepared("SELECT 1", None)
    assert node.held == 2 * one
    kept["a"] = Prepared("", None)
    assert node.held == one + ENTRY_BYTES + getsizeof("a")
    kept.pop("b")
    assert kept.pop("b", None) is None
    kept.clear()
    assert (node.held, kept) == (0, {})


def test_one_that_is_too_much_is_not_kept(node: NodeRows) -> None:
    kept = Kept[Prepared](KeptByConnection(node))
    kept["a"] = Prepared(LONG, None)
    with pytest.raises(SqlError, match=f"one connection may keep at most {CONNECTION_BYTES_MAX} bytes") as caught:
        kept["b"] = Prepared(LONG, None)
    assert (caught.value.sqlstate, list(kept)) == ("54000", ["a"])
    kept.clear()
    assert node.held == 0


def test_connections_and_statements_share_what_a_node_has(node: NodeRows) -> None:
    HeldRows(node).take(50 * 2**20)
    node.held = NODE_BYTES_MAX
    with pytest.raises(SqlError, match=f"this node hold {NODE_BYTES_MAX} bytes already") as caught:
        Kept[Prepared](KeptByConnection(node))["a"] = Prepared("SELECT 1", None)
    assert caught.value.sqlstate == "53200"


def test_giving_back_is_never_too_much(node: NodeRows) -> None:
    """Of a portal that is done less is kept, even while a node holds more than it should."""
    kept = Kept[Portal](KeptByConnection(node))
    kept[""] = portal = Portal(Prepared("", None), (), ())
    portal.result = Result("SELECT", (), [(b"first",), (b"second",)])
    fetch(kept, portal, 1)
    node.held += NODE_BYTES_MAX
    fetch(kept, portal, 0)
    kept._held.bytes_max = 0
    kept.recount(portal)
    kept.clear()
    assert node.held == NODE_BYTES_MAX


def test_a_portal_that_keeps_too_much_is_refused_and_not_suspended(node: NodeRows) -> None:
    kept = KeptByConnection(node)
    client = Client(None, Channel(lambda _: None, lambda _: None), 1, None)  # type: ignore[arg-type]
    session = SimpleNamespace(kept=kept, status=lambda: b"T", has_implicit_block=lambda: False)
    client.session = session  # type: ignore[assignment]
    client.statements.begin(session)  # type: ignore[arg-type]
    rows: list[Row] = [(b"first",), (b"x" * CONNECTION_BYTES_MAX,)]
    client.statements.portals[""] = portal = Portal(Prepared("", None), (), (), Result("SELECT", (), rows))
    with pytest.raises(SqlError, match="one connection may keep"):
        asyncio.run(client.statements.answer(portal, 1))
    assert messages.PORTAL_SUSPENDED not in client.channel._out


class Counted(tuple[bytes | None, ...]):
    """A row that counts how often somebody walks over it."""

    walks = 0

    def __iter__(self) -> Iterator[bytes | None]:
        Counted.walks += 1
        return super().__iter__()


def fetch(kept: Kept[Portal], portal: Portal, rows_max: int) -> None:
    """One Execute, to nobody."""
    channel = Channel(lambda _: None, lambda _: None)
    asyncio.run(send_rows(portal, rows_max, channel, lambda: asyncio.sleep(0)))
    kept.recount(portal)


def test_a_suspended_portal_counts_the_rows_it_has_still_to_send(node: NodeRows) -> None:
    kept = Kept[Portal](KeptByConnection(node))
    kept[""] = portal = Portal(Prepared("", None), (b"12345", None), ())
    bound = node.held
    portal.result = Result("SELECT", (), [(b"first",), (b"x" * 1000,), (None,)])
    fetch(kept, portal, 1)
    assert node.held == bound + 1000 + 2 * 64
    fetch(kept, portal, 1)
    assert node.held == bound + 64
    fetch(kept, portal, 1)
    assert node.held == bound
    kept.clear()
    assert node.held == 0


def test_rows_are_counted_once_and_not_with_each_fetch(node: NodeRows) -> None:
    """200,000 rows of RETURNING, fetched by hundreds, took most of a second of the event loop each time."""
    kept = Kept[Portal](KeptByConnection(node))
    kept["p"] = portal = Portal(Prepared("", None), (), ())
    portal.result = Result("INSERT 0 2000", (), [Counted((b"value",)) for _ in range(2000)])
    Counted.walks = 0
    while not portal.is_done:
        fetch(kept, portal, 10)
    assert Counted.walks <= 3 * 2000, "sent, counted, and given back"


@pytest.mark.parametrize(("rows", "length", "held"), [
    pytest.param(1000, 1000, 1_064_000, id="many rows"),
    pytest.param(60, 100_000, 6_003_840, id="a few large rows"),
])  # fmt: skip
@pytest.mark.parametrize("tag", ["UPDATE 7", "SELECT"])
def test_an_answer_counts_until_its_client_has_taken_it(
    node: NodeRows, monkeypatch: pytest.MonkeyPatch, rows: int, length: int, held: int, tag: str
) -> None:
    """Statements have given back what they held by then: some of 64 MB each would end a node."""
    seen: list[int] = []
    written: list[int] = []
    client = Client(None, Channel(lambda _: None, lambda _: None), 1, None)  # type: ignore[arg-type]
    session = SimpleNamespace(kept=KeptByConnection(node), status=lambda: b"T", has_implicit_block=lambda: False)
    client.session = session  # type: ignore[assignment]
    client.statements.begin(session)  # type: ignore[arg-type]

    async def flush() -> None:
        seen.append(node.held)
        written.append(client.channel._out_bytes)
        client.channel._out.clear()
        client.channel._out_bytes = 0

    async def answer() -> None:
        values: list[Row] = [(b"x" * length,)] * rows
        result = Result(tag, (), values, bytes_held=held if tag != "SELECT" else 0)
        await client.statements.answer(Portal(Prepared("", None), (), (), result), 0)

    monkeypatch.setattr(client, "flush", flush)
    asyncio.run(answer())
    assert max(seen) >= held - length - 64, "but for what the channel had taken"
    assert set(seen) <= {held, held - length - 64}
    assert sum(written) + client.channel._out_bytes > rows * length
    assert max(written) < WRITE_BEHIND_BYTES + 2 * (length + 100)
    assert node.held == 0


@pytest.mark.parametrize(("tag", "has_written", "kind"), [
    pytest.param("SHOW", False, SqlError, id="one that only answers is cancelled"),
    pytest.param("INSERT 0 200", True, FatalError, id="what is done cannot be, and is not denied"),
])  # fmt: skip
def test_a_cancel_of_a_long_answer(
    node: NodeRows, monkeypatch: pytest.MonkeyPatch, tag: str, has_written: bool, kind: type[SqlError]
) -> None:
    client = Client(None, Channel(lambda _: None, lambda _: None), 1, None)  # type: ignore[arg-type]
    session = SimpleNamespace(kept=KeptByConnection(node), status=lambda: b"I", has_implicit_block=lambda: False)
    client.session = session  # type: ignore[assignment]
    client.statements.begin(session)  # type: ignore[arg-type]

    async def flush() -> None:
        raise SqlError("57014", "canceling statement due to user request")

    monkeypatch.setattr(client, "flush", flush)
    result = Result(tag, (), [(b"x" * 1000,)] * 200, has_written=has_written)
    with pytest.raises(SqlError) as caught:
        asyncio.run(client.statements.answer(Portal(Prepared("", None), (), (), result), 0))
    assert (type(caught.value), caught.value.sqlstate) == (kind, "57014")
    assert node.held == 0


def test_prepared_texts_of_a_connection_have_a_limit(raw: Raw) -> None:
    assert kinds(ask(raw, parse(LONG, "a"), SYNC)) == "1Z"
    error, ready = ask(raw, parse(LONG, "b"), SYNC)
    assert fields(error[1])["C"] == "54000"
    assert fields(error[1])["M"].startswith("one connection may keep at most")
    assert ready == (b"Z", b"I")
    assert kinds(ask(raw, message(b"C", b"Sa\0"), parse(LONG, "b"), SYNC)) == "31Z"


@pytest.mark.parametrize("kept", [
    pytest.param(lambda name: parse("SELECT 1", name), id="statements"),
    pytest.param(lambda name: parse("SELECT 1") + bind(portal=name), id="portals"),
])  # fmt: skip
def test_names_count(raw: Raw, kept: Callable[[str], bytes]) -> None:
    """A message may have 16 MB, and all of it may be a name."""
    ask(raw, query("BEGIN"))
    answers = [kinds(ask(raw, kept(str(number) * 15_000_000), SYNC))[-2:] for number in range(5)]
    assert [answer[:-1] for answer in answers] == [answers[0][0]] * 4 + ["E"]
    ask(raw, query("ROLLBACK"))
    assert kinds(ask(raw, query("SELECT 1"))) == "TDCZ"


@pytest.mark.soak
def test_types_of_parameters_count(raw: Raw) -> None:
    """A short message may have many."""
    answers = [kinds(ask(raw, parse("SELECT 1", str(number), (23,) * 32_767), SYNC)) for number in range(60)]
    assert answers[:40] == ["1Z"] * 40
    assert answers[-1] == "EZ"


def test_columns_count(node: NodeRows) -> None:
    """Of a star there may be many, with names from the statement or from the table."""
    Kept[Prepared](KeptByConnection(node))["a"] = Prepared("SELECT x.* FROM x", None, (), (Field("name", 23),) * 1600)
    assert node.held > 1600 * 100


def test_rows_of_suspended_portals_have_a_limit(raw: Raw) -> None:
    """Each of these has 1.5 MB that are read and not sent yet: the rest of its first portion."""
    ask(raw, query("BEGIN"))
    ask(raw, parse("SELECT repeat('x', 100000) FROM generate_series(1, 60)", "rows"), SYNC)
    for number in range(80):
        answers = ask(raw, bind(name="rows", portal=f"p{number}"), execute(1, f"p{number}"), SYNC)
        if kinds(answers) != "2DsZ":
            break
    assert 8 <= number < 79
    assert kinds(answers).endswith("EZ")
    assert fields(next(body for kind, body in answers if kind == b"E"))["C"] == "54000"
    ask(raw, query("ROLLBACK"))
    assert kinds(ask(raw, query("SELECT 1"))) == "TDCZ"
