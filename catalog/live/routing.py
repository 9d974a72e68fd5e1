"""Where WebSockets arrive."""

from django.urls import path

from catalog.live.consumers import LiveConsumer

websocket_urlpatterns = [path("live/", LiveConsumer.as_asgi())]
