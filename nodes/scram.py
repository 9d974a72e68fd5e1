"""SCRAM-SHA-256: a node learns that a client knows the password without being sent it (RFC 5802, 7677).

    client: n,,n=,r=CNONCE           node: r=CNONCE+SNONCE,s=SALT,i=ITERATIONS
    client: c=biws,r=..,p=PROOF      node: v=SIGNATURE

`c` repeats the beginning of the client's first message, so nobody between can have changed it (section 7).
The node has one password for all users (NODE_PASSWORD); the salt is made afresh for each exchange.
"""

import base64
import binascii
import hashlib
import hmac
import secrets
from dataclasses import dataclass, field

from expressions.errors import PROTOCOL_VIOLATION, WRONG_PASSWORD, FatalError

MECHANISM = "SCRAM-SHA-256"
ITERATIONS = 4096


@dataclass(slots=True)
class Exchange:
    """One authentication, from the client's first message to its proof."""

    password: str
    user: str
    salt: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    nonce: str = field(default_factory=lambda: base64.b64encode(secrets.token_bytes(18)).decode())
    gs2_header: str = ""
    first_bare: str = ""
    server_first: str = ""

    def challenge(self, client_first: str) -> str:
        """The answer to the client's first message."""
        channel, _, rest = client_first.partition(",")
        _, _, self.first_bare = rest.partition(",")
        self.gs2_header = client_first.removesuffix(self.first_bare)
        if channel.startswith("p"):
            raise FatalError(PROTOCOL_VIOLATION, "SCRAM channel binding is not supported: the node speaks no TLS")
        if channel not in ("n", "y"):
            raise _malformed()
        client_nonce = _attributes(self.first_bare).get("r")
        if not client_nonce:
            raise _malformed()
        self.nonce = client_nonce + self.nonce
        self.server_first = f"r={self.nonce},s={base64.b64encode(self.salt).decode()},i={ITERATIONS}"
        return self.server_first

    def verify(self, client_final: str) -> str:
        """The node's own proof, when the client's is right; else the connection ends."""
        without_proof, _, proof = client_final.rpartition(",p=")
        said = _attributes(without_proof)
        if said.get("r") != self.nonce:
            raise _malformed()
        if said.get("c") != base64.b64encode(self.gs2_header.encode()).decode():
            text = "SCRAM channel binding: the client's last message does not repeat what its first one said"
            raise FatalError(PROTOCOL_VIOLATION, text)
        salted = hashlib.pbkdf2_hmac("sha256", self.password.encode(), self.salt, ITERATIONS)
        message = f"{self.first_bare},{self.server_first},{without_proof}".encode()
        client_key = _hmac(salted, b"Client Key")
        signature = _hmac(hashlib.sha256(client_key).digest(), message)
        expected = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        if not hmac.compare_digest(expected, _unbase64(proof)):
            raise FatalError(WRONG_PASSWORD, f'password authentication failed for user "{self.user}"')
        return "v=" + base64.b64encode(_hmac(_hmac(salted, b"Server Key"), message)).decode()


def _hmac(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha256")


def _unbase64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise _malformed() from None


def _attributes(message: str) -> dict[str, str]:
    return dict(part.split("=", 1) for part in message.split(",") if "=" in part)


def _malformed() -> FatalError:
    return FatalError(PROTOCOL_VIOLATION, "malformed SCRAM message")
