"""SCRAM-SHA-256 between the node and a client that may lie."""

import base64
import hashlib
import hmac

import pytest

from expressions.errors import FatalError
from nodes.scram import Exchange


def final_message(exchange: Exchange, server_first: str, *, password: str, bound: bytes) -> str:
    """The client's last message, by the book (RFC 5802, section 3), with `bound` as its channel binding."""
    parts = dict(part.split("=", 1) for part in server_first.split(","))
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), base64.b64decode(parts["s"]), int(parts["i"]))
    without_proof = f"c={base64.b64encode(bound).decode()},r={parts['r']}"
    key = hmac.digest(salted, b"Client Key", "sha256")
    signed = f"{exchange.first_bare},{server_first},{without_proof}".encode()
    signature = hmac.digest(hashlib.sha256(key).digest(), signed, "sha256")
    proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
    return f"{without_proof},p={base64.b64encode(proof).decode()}"


def signed_in(header: str, bound: bytes, *, knows: str = "sesame") -> str:
    exchange = Exchange("sesame", "me")
    server_first = exchange.challenge(f"{header}n=me,r=abc")
    return exchange.verify(final_message(exchange, server_first, password=knows, bound=bound))


@pytest.mark.parametrize("header", ["n,,", "y,,", "n,a=other,"])
def test_a_client_that_knows_the_password_gets_a_proof(header: str) -> None:
    assert signed_in(header, header.encode()).startswith("v=")


@pytest.mark.parametrize("bound", [b"y,,", b"", b"p=tls-server-end-point,,"])
def test_a_first_message_that_was_changed_on_the_way_is_noticed(bound: bytes) -> None:
    with pytest.raises(FatalError, match="does not repeat what its first one said") as caught:
        signed_in("n,,", bound)
    assert caught.value.sqlstate == "08P01"


def test_a_wrong_password_is_refused() -> None:
    with pytest.raises(FatalError, match='password authentication failed for user "me"'):
        signed_in("n,,", b"n,,", knows="wrong")
