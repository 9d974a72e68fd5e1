"""The first messages of a connection: encryption, a cancel, or startup parameters and a password. Before a client has
signed in, little is read of what it sends, and nothing is executed."""

from collections.abc import Callable
from dataclasses import dataclass, field
from ssl import SSLContext

from expressions import errors
from nodes.clients.channel import Channel
from nodes.clients.protocols import Client, Registry, Session
from nodes.people.rights import Person
from nodes.people.sign_in import Admission
from nodes.people.vouching import is_vouched
from nodes.settings.options import options_of
from nodes.wire import messages
from nodes.wire.messages import Reader
from nodes.wire.scram import MECHANISM, Exchange, Verifier

SASL, SASL_CONTINUE, SASL_FINAL = 10, 11, 12
CLIENTS_MAX = 200


@dataclass(slots=True)
class Greeting:
    open_session: Callable[[Client, Person, dict[str, str]], Session]
    admission: Admission = field(default_factory=Admission)
    sessions_max_each: int = CLIENTS_MAX
    """How many sessions one user may have."""
    tls: SSLContext | None = None
    """Offered to clients that ask for encryption, when there is one."""


@dataclass(frozen=True, slots=True)
class Startup:
    clients: Registry
    channel: Channel
    admission: Admission
    tls: SSLContext | None = None

    async def signed_in(self) -> tuple[Person, dict[str, str]] | None:
        """The person who has signed in, with the startup parameters; None when the connection was only for a cancel."""
        for _ in range(3):  # at most one request for each kind of encryption, then the real thing
            code, body = await self.channel.startup_packet()
            if code in (messages.SSL_REQUEST, messages.GSSENC_REQUEST):
                if code != messages.SSL_REQUEST or self.tls is None or self.channel.is_encrypted:
                    self.channel.send(b"N")  # the client goes on without, or not at all
                    await self.channel.flush()
                    continue
                self.channel.refuse_unread()  # somebody between could have put it there
                self.channel.send(b"S")
                await self.channel.flush()
                await self.channel.encrypt(self.tls)
                continue
            if code == messages.CANCEL_REQUEST:
                reader = Reader(body)
                self.clients.cancel(reader.int32(), reader.int32() & 0xFFFFFFFF)
                return None
            return await self._admit(code, body)
        raise errors.FatalError(
            errors.PROTOCOL_VIOLATION, "expected a startup packet after the answers to encryption requests"
        )

    async def _admit(self, code: int, body: bytes) -> tuple[Person, dict[str, str]]:
        major, minor = code >> 16, code & 0xFFFF
        if major != messages.PROTOCOL_3:
            raise errors.FatalError(
                errors.FEATURE_NOT_SUPPORTED, f"unsupported frontend protocol {major}.{minor}: this node speaks 3.0"
            )
        parameters = messages.read_startup(body)
        self.clients.refuse_too_many()
        unknown = [name for name in parameters if name.startswith("_pq_.")]
        if minor > 0 or unknown:
            self.channel.send(messages.negotiate_version(unknown))
        if not parameters.get("user"):
            raise errors.FatalError(errors.INVALID_AUTHORIZATION, "no PostgreSQL user name specified in startup packet")
        person = await self.admission.person(parameters["user"])
        vouched = is_vouched(options_of(parameters))
        verifier = self.admission.verifier(person, is_vouched=vouched)
        if verifier is not None:
            await self._check_password(person.name, verifier, vouched=vouched)
        if (closed := person.why_not_served()) is not None:
            raise closed
        self.channel.send(messages.AUTHENTICATION_OK)
        return person, parameters

    async def _check_password(self, user: str, verifier: Verifier, *, vouched: bool) -> None:
        """Asks for the password. The cluster's own processes never wait for what others have tried. Others may try
        before the exchange and right before its proof counts: many could have begun at once."""
        address = self.channel.address

        def check_may_try() -> None:
            if not vouched:
                self.admission.check_may_try(user, address)

        check_may_try()
        exchange = Exchange(verifier, user)
        try:
            self.channel.send(messages.authentication(SASL, messages.cstring(MECHANISM) + b"\x00"))
            reader = Reader(await self._password_message())
            mechanism = reader.text()
            if mechanism != MECHANISM:
                message = f"authentication by {mechanism} is not supported, only {MECHANISM}"
                raise errors.FatalError(errors.PROTOCOL_VIOLATION, message)
            first = reader.take(reader.int32()).decode("ascii", "replace")
            self.channel.send(messages.authentication(SASL_CONTINUE, exchange.challenge(first).encode()))
            final = (await self._password_message()).decode("ascii", "replace")
            check_may_try()
            self.channel.send(messages.authentication(SASL_FINAL, exchange.verify(final).encode()))
        except errors.FatalError as error:
            if error.sqlstate == errors.WRONG_PASSWORD:
                await self.admission.failed(user, address, is_vouched=vouched)
            raise
        if not vouched:
            self.admission.succeeded(user, address)

    async def _password_message(self) -> bytes:
        """The body of a password message; one that is too long is refused before it is taken in."""
        await self.channel.flush()
        messages.check_password_head(await self.channel._peek(messages.HEAD_BYTES))
        _, body = await self.channel.message()
        return body
