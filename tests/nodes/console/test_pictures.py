"""A request's trace as a diagram, in words, and as an address that nobody can forge."""

from typing import Any
from xml.etree import ElementTree as ET

import pytest

from nodes.console import pictures

LEASE = {"do": "lease", "ms": 0.4, "table": "customers", "version": 3, "until": "x", "was_held": True, "fresh": False}
REQUEST = {"do": "request", "ms": 0.5, "table": "customers", "version": 3, "hashes": ["schema"],
           "sent": {"schema": "189110aabbccdd00"}}  # fmt: skip
PLAN = {"do": "plan", "ms": 5.0, "versions": [["customers", 3]]}
REFUSED = {"do": "refused", "ms": 9.0, "table": "customers", "version": 3,
           "message": "version 3 of table 7 is below the fence: storage_1 accepts version 4 and newer"}  # fmt: skip
RELOAD = {"do": "reload", "ms": 12.0, "sqlstate": "40001", "message": "m", "took_ms": 2.5, "found": 4}
WRITE, ACCEPTED = {"do": "write", "ms": 30.0, "operations": 3}, {"do": "accepted", "ms": 31.0, "table": "customers"}
RETRIED = [LEASE, REQUEST, PLAN, REFUSED, RELOAD, LEASE, REQUEST, PLAN, WRITE, ACCEPTED | {"version": 4}]
TRACE: dict[str, Any] = {"kind": "insert", "sql": "SELECT crud.insert(..)", "ms": 31.5, "steps": RETRIED}


def test_a_request_that_was_refused_is_drawn_from_its_plan_to_its_second_attempt():
    shown = pictures.shown(TRACE, "n1")
    drawn = ET.fromstring(shown["picture"])  # noqa: S314 - our own
    lines = ["".join(line.itertext()) for line in drawn.iterfind(".//*[@class='event']")]
    assert len(lines) == len(shown["steps"]) == len(RETRIED) + 1
    words = " | ".join(step["words"] for step in shown["steps"])
    for expected in ("customers v3; hashes that go along: schema 189110", "Sent to the storages", "storage_1 accepts",
                     "Reloaded in 2.5 ms: the newest version is v4", "accepted customers v4"):  # fmt: skip
        assert expected in words
    assert [line for line in lines if "✗" in line] == [line for line in lines if "Refused" in line]
    assert "+3.0 ms" in lines[5]


@pytest.mark.parametrize(("steps", "sent_at"), [
    pytest.param([REQUEST, PLAN, ACCEPTED], [2], id="a read is sent before it is accepted"),
    pytest.param([REQUEST, PLAN, WRITE, ACCEPTED], [], id="a write is in the trace itself"),
    pytest.param([REQUEST, REFUSED, REQUEST, PLAN, WRITE, ACCEPTED], [1], id="each attempt for itself"),
])  # fmt: skip
def test_what_was_sent_is_shown_once_for_each_attempt(steps: list[Any], sent_at: list[int]):
    found = pictures.with_sending(steps)
    assert [at for at, step in enumerate(found) if step["do"] == "sent"] == sent_at


def test_the_trace_of_a_statement_has_no_picture():
    assert "picture" not in pictures.shown(TRACE | {"steps": [LEASE, PLAN]}, "n1")


def test_an_address_shows_the_trace_that_it_was_made_of_and_no_other():
    text = pictures.address(TRACE, "n1")
    assert pictures.read(text) == {"node": "n1", "sql": TRACE["sql"], "ms": 31.5, "steps": RETRIED}
    for wrong in ("", "x", text[:-1], text[1:], "x" + text, text + "x" * 9000, "a:b:c"):
        with pytest.raises(pictures.NoTrace):
            pictures.read(wrong)
    long = TRACE | {"steps": [REFUSED | {"message": f"{number}" * 900} for number in range(40)]}
    noise = [REFUSED | {"message": pictures.address(TRACE | {"ms": number}, "n1")} for number in range(40)]
    assert pictures.address(long, "n1")
    assert pictures.address(TRACE | {"steps": noise}, "n1") == ""
