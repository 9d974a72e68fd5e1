"""SCRAM-SHA-256 between the node and a client that may lie."""

import base64
import hashlib
import hmac

import pytest

from expressions.errors import FatalError
from nodes.wire.scram import Exchange, prepared, verifier_from, verifier_of, verifier_of_nobody


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
    exchange = Exchange(verifier_of("sesame"), "me")
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


@pytest.mark.parametrize("proof", ["", "YQ==", "not base64", "é"])
def test_a_proof_that_cannot_be_one_is_malformed(proof: str) -> None:
    exchange = Exchange(verifier_of("sesame"), "me")
    server_first = exchange.challenge("n,,n=me,r=abc")
    said = final_message(exchange, server_first, password="sesame", bound=b"n,,").rpartition("p=")[0]
    with pytest.raises(FatalError, match="malformed SCRAM message"):
        exchange.verify(f"{said}p={proof}")


def test_a_verifier_has_the_form_postgresql_keeps_it_in() -> None:
    kept = verifier_of("sesame")
    assert str(kept).startswith("SCRAM-SHA-256$4096:")
    assert verifier_from(str(kept)) == kept


@pytest.mark.parametrize("text", ["", "md5abc", "SCRAM-SHA-256$4096:c2FsdA==$YQ==:YQ==", "SCRAM-SHA-256$x:y$z:w"])
def test_another_text_is_no_verifier(text: str) -> None:
    with pytest.raises(ValueError):
        verifier_from(text)


def test_a_verifier_reveals_no_password() -> None:
    """Whoever reads the database cannot sign in with what is there."""
    kept = verifier_of("sesame")
    for known in (str(kept), kept.stored_key.hex(), kept.server_key.hex()):
        exchange = Exchange(kept, "me")
        final = final_message(exchange, exchange.challenge("n,,n=me,r=abc"), password=known, bound=b"n,,")
        with pytest.raises(FatalError, match="password authentication failed"):
            exchange.verify(final)


def test_a_name_without_a_password_looks_like_one_with() -> None:
    first, again, other = (verifier_of_nobody("key", name) for name in ("lea", "lea", "sam"))
    assert first.salt == again.salt != other.salt
    assert first.iterations == verifier_of("sesame").iterations


@pytest.mark.parametrize(("typed", "hashed"), [
    pytest.param("sesame", "sesame", id="ascii as it is"),
    pytest.param("se\u0301same", "s\u00e9same", id="composed"),
    pytest.param("a\u00a0b", "a b", id="another space is a space"),
    pytest.param("I\u00adX", "IX", id="a soft hyphen is nothing"),
    pytest.param("bell\u0007", "bell\u0007", id="one that is forbidden is taken as it is"),
])  # fmt: skip
def test_passwords_are_prepared_as_clients_do(typed: str, hashed: str) -> None:
    assert prepared(typed) == hashed
