"""Serves pages over HTTP, live state over WebSockets from our own origin."""

import os
from importlib import import_module
from importlib.util import find_spec
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "schemalab.settings")

import django

django.setup(set_prefix=False)  # loads the apps: consumers may be imported only after this

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator

from catalog.live.snapshot import load_streams
from schemalab.http.pages import Pages
from schemalab.http.request_bounds import bounded

load_streams()  # before the first request, which would wait for it


def websocket_routes() -> list:
    return import_module("catalog.live.routing").websocket_urlpatterns if find_spec("catalog.live.routing") else []


live = AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(websocket_routes())))


async def alive(scope: Any, receive: Any, send: Any) -> None:
    """Answers for the event loop alone, whatever the database or a page does."""
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


limited_pages = bounded(Pages())


async def over_http(scope: Any, receive: Any, send: Any) -> None:
    await (alive if scope["path"] == "/alive" else limited_pages)(scope, receive, send)


application = ProtocolTypeRouter({"http": over_http, "websocket": live})
