"""The first messages of a connection: encryption refused, a cancel, or startup parameters and a password.

Until a client has signed in, little is read of what it sends, and nothing is executed.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from expressions.errors import FEATURE_NOT_SUPPORTED, INVALID_AUTHORIZATION, PROTOCOL_VIOLATION, FatalError
from nodes import messages
from nodes.channel import Channel
from nodes.messages import Reader
from nodes.scram import MECHANISM, Exchange

if TYPE_CHECKING:
    from nodes.clients import Clients

SASL, SASL_CONTINUE, SASL_FINAL = 10, 11, 12


@dataclass(frozen=True, slots=True)
class Startup:
    """One connection that has not signed in yet. Without a `password` nobody is asked for one."""

    clients: "Clients"
    channel: Channel
    password: str

    async def parameters(self) -> dict[str, str] | None:
        """The startup parameters of an authenticated client; None when the connection was only for a cancel."""
        for _ in range(3):  # at most one request for each kind of encryption, then the real thing
            code, body = await self.channel.startup_packet()
            if code in (messages.SSL_REQUEST, messages.GSSENC_REQUEST):
                self.channel.send(b"N")
                await self.channel.flush()
                continue
            if code == messages.CANCEL_REQUEST:
                reader = Reader(body)
                self.clients.cancel(reader.int32(), reader.int32() & 0xFFFFFFFF)
                return None
            return await self._admit(code, body)
        raise FatalError(PROTOCOL_VIOLATION, "expected a startup packet after the answers to encryption requests")

    async def _admit(self, code: int, body: bytes) -> dict[str, str]:
        major, minor = code >> 16, code & 0xFFFF
        if major != messages.PROTOCOL_3:
            raise FatalError(
                FEATURE_NOT_SUPPORTED, f"unsupported frontend protocol {major}.{minor}: this node speaks 3.0"
            )
        parameters = messages.read_startup(body)
        self.clients.refuse_too_many()
        unknown = [name for name in parameters if name.startswith("_pq_.")]
        if minor > 0 or unknown:
            self.channel.send(messages.negotiate_version(0, unknown))
        if not parameters.get("user"):
            raise FatalError(INVALID_AUTHORIZATION, "no PostgreSQL user name specified in startup packet")
        if self.password:
            await self._authenticate(parameters["user"])
        self.channel.send(messages.AUTHENTICATION_OK)
        return parameters

    async def _authenticate(self, user: str) -> None:
        exchange = Exchange(self.password, user)
        self.channel.send(messages.authentication(SASL, messages.cstring(MECHANISM) + b"\x00"))
        reader = Reader(await self._password_message())
        mechanism = reader.text()
        if mechanism != MECHANISM:
            raise FatalError(PROTOCOL_VIOLATION, f"authentication by {mechanism} is not supported, only {MECHANISM}")
        first = reader.take(reader.int32()).decode("ascii", "replace")
        self.channel.send(messages.authentication(SASL_CONTINUE, exchange.challenge(first).encode()))
        final = (await self._password_message()).decode("ascii", "replace")
        self.channel.send(messages.authentication(SASL_FINAL, exchange.verify(final).encode()))

    async def _password_message(self) -> bytes:
        """The body of a password message; one that is too long is refused before it is taken in."""
        await self.channel.flush()
        messages.check_password_head(await self.channel._peek(messages.HEAD_BYTES))
        _, body = await self.channel.message()
        return body
