"""All connections of a node: admission, look-up for a cancel, and their end. A connection that has not signed in takes
no other's place: only a few may, and one more ends the one that has waited longest. Signed in, all users share
`CLIENTS_MAX` places and none may have more than its share."""

import asyncio
import secrets
from dataclasses import dataclass, field

from expressions.errors import CANNOT_CONNECT_NOW, QUERY_CANCELED, TOO_MANY_CONNECTIONS, FatalError, SqlError
from nodes.clients import protocols
from nodes.clients.channel import Channel
from nodes.clients.connection import Client
from nodes.clients.startup import CLIENTS_MAX, Greeting
from nodes.people.rights import Person

UNKNOWN_MAX = 200
"""Connections that have not signed in yet: as many as may come at once and be signed in."""


@dataclass(eq=False)
class Clients:
    greeting: Greeting
    clients: dict[int, Client] = field(default_factory=dict)
    refusal: FatalError | None = None
    _unknown: dict[int, Client] = field(default_factory=dict)
    _last_pid: int = 0

    def channel(self) -> Channel:
        def leave(channel: Channel) -> None:
            for client in list(self.clients.values()):
                if client.channel is channel:
                    client.abandon()

        return Channel(self._arrive, leave)

    def _arrive(self, channel: Channel) -> None:
        self._last_pid += 1
        client = Client(self, channel, self._last_pid, self.greeting)
        self.clients[client.pid] = self._unknown[client.pid] = client
        client.task = asyncio.get_running_loop().create_task(client.serve())
        if len(self._unknown) > UNKNOWN_MAX:
            longest = self._unknown.pop(next(iter(self._unknown)))
            message = f"{UNKNOWN_MAX} connections to this node have not signed in, and this one was the first of them"
            longest.end_now(FatalError(TOO_MANY_CONNECTIONS, message))

    def refuse_too_many(self) -> None:
        """Admit no more: the node is going, or has enough."""
        if self.refusal is not None:
            raise self.refusal
        if len(self.clients) - len(self._unknown) >= CLIENTS_MAX:
            raise FatalError(TOO_MANY_CONNECTIONS, f"this node has {CLIENTS_MAX} clients already")

    def admit(self, client: protocols.Client, person: Person) -> None:
        """The client has signed in as `person`. Raises 53300 when all places, or all of theirs, are taken."""
        self.refuse_too_many()
        self._unknown.pop(client.pid, None)
        theirs = 1 + sum(1 for other in self.clients.values() if other is not client and other.person is person)
        if theirs > self.greeting.sessions_max_each:
            message = f'user "{person.name}" has {self.greeting.sessions_max_each} sessions on this node already'
            raise FatalError(
                TOO_MANY_CONNECTIONS, message, hint="close some, use another node, or set NODE_SESSIONS_PER_USER"
            )

    def signed_in(self) -> list[protocols.Connection]:
        return [client for client in self.clients.values() if client.session is not None]

    def forget(self, client: protocols.Client) -> None:
        self.clients.pop(client.pid, None)
        self._unknown.pop(client.pid, None)

    def cancel(self, pid: int, secret: int) -> None:
        client = self.clients.get(pid)
        if client is not None and secrets.compare_digest(str(client.secret), str(secret)):
            client.cancel(SqlError(QUERY_CANCELED, "canceling statement due to user request"))

    def end_of(self, person: Person, why: FatalError) -> None:
        for client in list(self.clients.values()):
            if client.person is person:
                client.end_now(why)

    async def end_all(self, why: FatalError, grace_s: float, undo_s: float, in_block: FatalError | None = None) -> None:
        """Admits no more; ends idle connections now, the others when their transaction ends or `grace_s` is over; what
        is left has `undo_s` to be rolled back. `in_block` is what a client gets instead whose block was open: nothing
        of it is kept, COMMIT included, so it may be tried again."""
        self.refusal = FatalError(CANNOT_CONNECT_NOW, "this node is shutting down")
        for client in list(self.clients.values()):
            client.say_goodbye(why)
        tasks = [c.task for c in self.clients.values() if c.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=grace_s)
        for client in list(self.clients.values()):
            client.end_now(why, in_block)
        tasks = [c.task for c in self.clients.values() if c.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=undo_s)
