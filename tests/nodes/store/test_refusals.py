"""The hint that a client gets with a conflict that the store has found."""

import pytest

from nodes.store.pipeline import StoreError
from nodes.store.refusals import Retry, translated


@pytest.mark.parametrize(("reason", "is_beside_an_old_one"), [
    ("Canceled on conflict out to old pivot.", True),
    ("Canceled on conflict out to old pivot 1234.", True),
    ("Canceled on identification as a pivot, with conflict out to old committed transaction 1234.", True),
    ("Canceled on identification as a pivot, during write.", False),
    ("", False),
])  # fmt: skip
def test_what_a_retry_does_not_help_names_what_has_to_end(reason: str, is_beside_an_old_one: bool) -> None:
    detail = f"Reason code: {reason}" if reason else ""
    error = translated(StoreError("40001", "could not serialize access", detail), ())
    assert isinstance(error, Retry)
    assert ("schemalab.leases" in (error.hint or "")) is is_beside_an_old_one
