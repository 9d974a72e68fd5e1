"""Do to a process of the cluster what accidents do, and tell the story of it with who did it."""

from django.conf import settings
from django.db import transaction

from catalog.services import tell
from catalog.story import CLUSTER
from schemalab.control import send

KINDS = {
    "kill": "process killed",
    "freeze": "process frozen",
    "thaw": "process thawed",
    "start": "process restarted",
}


def control_process(command: str, name: str, *, who: str) -> str:
    """What the supervisor answered. Raises NotRunning or CommandRefused."""
    text = str(send(settings.LOCATIONS.control_socket, command, name)["text"])
    with transaction.atomic():
        tell(KINDS[command], name, {"process": name, "who": who}, [CLUSTER])
    return text
