"""What the web process serves: pages over HTTP, live state over WebSockets from our own origin."""

import os
from importlib import import_module
from importlib.util import find_spec

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "schemalab.settings")

from django.core.asgi import get_asgi_application

pages = get_asgi_application()  # loads the apps: consumers may be imported only after this

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator

from schemalab.request_bounds import bounded


def websocket_routes() -> list:
    return import_module("catalog.routing").websocket_urlpatterns if find_spec("catalog.routing") else []


live = AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(websocket_routes())))
application = ProtocolTypeRouter({"http": bounded(pages), "websocket": live})
