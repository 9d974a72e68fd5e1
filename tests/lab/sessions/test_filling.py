"""A version is reorganising from when its fill may begin, not because it will be filled."""

import pytest

from lab.sessions.replay import show
from lab.sessions.session import Session

OUT = ("publish.2", "n1.acquire", "n2.acquire", "publish.3", "n1.acquire", "n2.acquire")


@pytest.mark.parametrize(("more", "is_filling"), [((), False), (("drain.3",), True)], ids=["published", "drained"])
def test_a_version_is_reorganising_once_older_ones_are_drained(more: tuple[str, ...], is_filling: bool) -> None:
    newest = show(Session("full-ladder", steps=(*OUT, *more))).cluster.versions[-1]
    assert [(one.state, one.is_filling) for one in newest.elements] == [("write-only", is_filling)]
