"""SCRAM-SHA-256: a node learns that a client knows the password without being sent it (RFC 5802, 7677).

    client: n,,n=,r=CNONCE           node: r=CNONCE+SNONCE,s=SALT,i=ITERATIONS
    client: c=biws,r=..,p=PROOF      node: v=SIGNATURE

`c` repeats the beginning of the client's first message, so that a change on the way shows (section 7). A `Verifier`
checks a proof and cannot make one: who reads the database cannot sign in with it.
"""

import base64
import binascii
import hashlib
import hmac
import secrets
import stringprep
import unicodedata
from dataclasses import dataclass, field

from expressions.errors import PROTOCOL_VIOLATION, WRONG_PASSWORD, FatalError

MECHANISM = "SCRAM-SHA-256"
ITERATIONS = 4096
SALT_BYTES, KEY_BYTES = 16, 32
PROHIBITED = (
    stringprep.in_table_c12, stringprep.in_table_c21_c22, stringprep.in_table_c3, stringprep.in_table_c4,
    stringprep.in_table_c5, stringprep.in_table_c6, stringprep.in_table_c7, stringprep.in_table_c8,
    stringprep.in_table_c9, stringprep.in_table_a1,
)  # fmt: skip


@dataclass(frozen=True, slots=True, repr=False)
class Verifier:
    """The part of a password that is kept; as text it has PostgreSQL's form."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int = ITERATIONS

    def __str__(self) -> str:
        return (
            f"{MECHANISM}${self.iterations}:{_base64(self.salt)}${_base64(self.stored_key)}:{_base64(self.server_key)}"
        )


def verifier_of(password: str, *, iterations: int = ITERATIONS, salt: bytes | None = None) -> Verifier:
    """A verifier of this password, with a salt of its own. A random key needs only one iteration."""
    salt = salt or secrets.token_bytes(SALT_BYTES)
    salted = hashlib.pbkdf2_hmac("sha256", prepared(password).encode(), salt, iterations)
    client_key = _hmac(salted, b"Client Key")
    return Verifier(salt, hashlib.sha256(client_key).digest(), _hmac(salted, b"Server Key"), iterations)


def verifier_from(text: str) -> Verifier:
    mechanism, salted, keys = text.split("$")
    iterations, salt = salted.split(":")
    stored_key, server_key = (base64.b64decode(key, validate=True) for key in keys.split(":"))
    if mechanism != MECHANISM or len(stored_key) != KEY_BYTES or len(server_key) != KEY_BYTES:
        raise ValueError("not a verifier of SCRAM-SHA-256")
    return Verifier(base64.b64decode(salt, validate=True), stored_key, server_key, int(iterations))


def is_password_of(verifier: Verifier, password: str) -> bool:
    again = verifier_of(password, iterations=verifier.iterations, salt=verifier.salt)
    return hmac.compare_digest(again.stored_key, verifier.stored_key)


def verifier_of_nobody(key: str, name: str) -> Verifier:
    """For a name without a password: its salt stays the same, so that nobody learns who has one; no proof fits."""
    salt = _hmac(key.encode(), b"salt " + name.encode())[:SALT_BYTES]
    return Verifier(salt, secrets.token_bytes(KEY_BYTES), secrets.token_bytes(KEY_BYTES))


def prepared(password: str) -> str:
    """The password as clients hash it (SASLprep, RFC 4013); one that it forbids is taken as it is, as libpq does."""
    mapped = "".join(
        " " if stringprep.in_table_c12(char) else char for char in password if not stringprep.in_table_b1(char)
    )
    normal = unicodedata.normalize("NFKC", mapped)
    is_prohibited = any(is_in(char) for char in normal for is_in in PROHIBITED)
    return password if not normal or is_prohibited else normal


@dataclass(slots=True)
class Exchange:
    """One authentication, from the client's first message to its proof."""

    verifier: Verifier
    user: str
    nonce: str = field(default_factory=lambda: base64.b64encode(secrets.token_bytes(18)).decode())
    gs2_header: str = ""
    first_bare: str = ""
    server_first: str = ""

    def challenge(self, client_first: str) -> str:
        channel, _, rest = client_first.partition(",")
        _, _, self.first_bare = rest.partition(",")
        self.gs2_header = client_first.removesuffix(self.first_bare)
        if channel.startswith("p"):
            raise FatalError(PROTOCOL_VIOLATION, "SCRAM channel binding is not supported")
        if channel not in ("n", "y"):
            raise _malformed()
        client_nonce = _attributes(self.first_bare).get("r")
        if not client_nonce:
            raise _malformed()
        self.nonce = client_nonce + self.nonce
        self.server_first = f"r={self.nonce},s={_base64(self.verifier.salt)},i={self.verifier.iterations}"
        return self.server_first

    def verify(self, client_final: str) -> str:
        """The node's own proof, when the client's is right; else the connection ends."""
        without_proof, _, proof = client_final.rpartition(",p=")
        attributes = _attributes(without_proof)
        if attributes.get("r") != self.nonce:
            raise _malformed()
        if attributes.get("c") != _base64(self.gs2_header.encode()):
            text = "SCRAM channel binding: the client's last message does not repeat what its first one said"
            raise FatalError(PROTOCOL_VIOLATION, text)
        message = f"{self.first_bare},{self.server_first},{without_proof}".encode()
        signature = _hmac(self.verifier.stored_key, message)
        try:
            given = base64.b64decode(proof, validate=True)
        except (binascii.Error, ValueError):
            raise _malformed() from None
        if len(given) != KEY_BYTES:
            raise _malformed()
        client_key = bytes(a ^ b for a, b in zip(given, signature, strict=True))
        if not hmac.compare_digest(hashlib.sha256(client_key).digest(), self.verifier.stored_key):
            raise FatalError(WRONG_PASSWORD, f'password authentication failed for user "{self.user}"')
        return "v=" + _base64(_hmac(self.verifier.server_key, message))


def _hmac(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha256")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _attributes(message: str) -> dict[str, str]:
    return dict(part.split("=", 1) for part in message.split(",") if "=" in part)


def _malformed() -> FatalError:
    return FatalError(PROTOCOL_VIOLATION, "malformed SCRAM message")
