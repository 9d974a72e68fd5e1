"""Bounds the size and time of a request's body before Django reads it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from django.conf import settings

BODY_S_MAX = 30.0

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]


class BodyRefused(Exception):
    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


def bounded(application: Application) -> Application:
    """The application for bodies of at most DATA_UPLOAD_MAX_MEMORY_SIZE bytes within BODY_S_MAX."""

    async def serve(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        body = Body(receive, settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
        try:
            body.check_announced(scope["headers"])
            await application(scope, await body.taken_in(), send)
        except BodyRefused as refusal:
            await refuse(send, refusal)

    return serve


class Body:
    def __init__(self, receive: Receive, bytes_max: int) -> None:
        self._receive, self._bytes_max = receive, bytes_max

    def check_announced(self, headers: list[tuple[bytes, bytes]]) -> None:
        announced = dict(headers).get(b"content-length", b"0")
        if not announced.isdigit() or int(announced[:20]) > self._bytes_max:
            raise self._too_long()

    async def taken_in(self) -> Receive:
        messages: list[Message] = []
        try:
            async with asyncio.timeout(BODY_S_MAX):
                size = 0
                while True:
                    message = await self._receive()
                    messages.append(message)
                    size += len(message.get("body", b""))
                    if size > self._bytes_max:
                        raise self._too_long()
                    if not message.get("more_body"):
                        break
        except TimeoutError:
            raise BodyRefused(408, f"the body did not arrive within {BODY_S_MAX:g} s") from None
        messages.reverse()

        async def receive() -> Message:
            return messages.pop() if messages else await self._receive()

        return receive

    def _too_long(self) -> BodyRefused:
        return BodyRefused(413, f"the body is longer than {self._bytes_max} bytes")


async def refuse(send: Send, refusal: BodyRefused) -> None:
    text = f"{refusal}\n".encode()
    headers = [(b"content-type", b"text/plain"), (b"content-length", b"%d" % len(text)), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": text})
