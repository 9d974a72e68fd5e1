"""The commands that a process obeys in its state.

       up    frozen   down   starting   ended
kill   yes   yes      -      -          -
freeze yes   -        -      -          -
thaw   -     yes      -      -          -
start  -     -        yes    -          -
"""

from catalog.text.sentence import Sentence

FITS = {"kill": ("up", "frozen"), "freeze": ("up",), "thaw": ("frozen",), "start": ("down",)}
PAGE_NEEDS = ("web", "postgres")
UNDO = {"kill": "start", "freeze": "thaw"}


def fitting(state: str) -> tuple[str, ...]:
    return tuple(command for command, states in FITS.items() if state in states)


def why_not(command: str, name: str, state: str) -> str | None:
    """Why the process cannot obey; None when it can."""
    if state in FITS[command]:
        return None
    if command == "thaw" and state == "up":
        return Sentence("{name} is not frozen", name=name)
    if command == "freeze" and state == "frozen":
        return Sentence("{name} is frozen already", name=name)
    if command == "start":
        frozen, up = "{name} is frozen already: thaw it", "{name} is up already"
        known = {"frozen": frozen, "up": up}
        return Sentence(known[state], name=name) if state in known else f"{name} is {state} already"
    if state == "down":
        return Sentence("{name} is down already: it stays down until it is started", name=name)
    if state == "starting":
        return Sentence("{name} is starting: it can be reached in a moment", name=name)
    return f"{name} is {state}, not running"


def why_not_from_page(command: str, name: str) -> str | None:
    """Refuses what would keep the page from answering."""
    if name not in PAGE_NEEDS or command not in UNDO:
        return None
    return (
        f"without {name} this page could not {UNDO[command]} it again:"
        f" in a terminal, manage.py processes {command} {name}"
    )
