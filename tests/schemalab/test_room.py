"""The cluster for a class in a room."""

import pytest

from schemalab.environment import parse_settings
from schemalab.launch.room import NO_TLS, NoRoom, invitation, own_address, room_settings

ADDRESS = "192.168.1.20"


def test_the_page_is_reached_from_the_room_and_the_nodes_are_not() -> None:
    chosen = parse_settings(room_settings({}, ADDRESS))
    assert chosen["HOST"] == "0.0.0.0"
    assert ADDRESS in chosen["ALLOWED_HOSTS"]
    assert "localhost" in chosen["ALLOWED_HOSTS"]
    assert chosen["NODE_HOST"] == "127.0.0.1"


def test_what_is_set_stays() -> None:
    made = room_settings({"HOST": "10.0.0.5", "ALLOWED_HOSTS": "lab.example.org"}, ADDRESS)
    assert made == {"HOST": "10.0.0.5", "ALLOWED_HOSTS": f"lab.example.org,{ADDRESS}"}


@pytest.mark.parametrize("host", ["127.0.0.1", "10.0.0.5"])
def test_learners_are_told_the_address_that_is_set(host: str) -> None:
    assert own_address({"HOST": host}) == host


def test_debug_is_not_shown_to_a_room() -> None:
    with pytest.raises(NoRoom, match="DEBUG"):
        room_settings({"DEBUG": "1"}, ADDRESS)


def test_the_invitation_has_address_qr_code_and_a_warning() -> None:
    first, *code, last = invitation(ADDRESS, 8000)
    assert f"http://{ADDRESS}:8000/lab/" in first
    assert len(code) > 10
    assert len({len(line) for line in code}) == 1
    assert last == NO_TLS
