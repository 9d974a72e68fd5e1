"""Limits for trying passwords: the first failures are free, then each makes the next try wait longer.

Failures are counted for a name from one address, for an address, and for a name. The last two let much more through,
because many people share an address and anybody can say a name; they do not hold up a name from an address from which
it has signed in before. Refused tries do not count, so a wait ends whatever others do.
"""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple

DOUBLED_MAX = 20


@dataclass(frozen=True, slots=True)
class Allowance:
    """`free` failures less one cost nothing; the next makes a try wait `first_s`, each further one twice as long."""

    free: int
    first_s: float
    longest_s: float

    def wait_s(self, failures: int) -> float:
        over = failures - self.free
        return 0.0 if over < 0 else min(self.longest_s, self.first_s * 2.0 ** min(over, DOUBLED_MAX))


NAME_AT_ADDRESS = Allowance(free=3, first_s=1.0, longest_s=60.0)
ADDRESS = Allowance(free=30, first_s=1.0, longest_s=10.0)
NAME = Allowance(free=30, first_s=1.0, longest_s=10.0)
FORGOTTEN_S = 3600.0
KNOWN_S = 30 * 86400.0
NAME_CHARS_MAX = 150


@dataclass(frozen=True, slots=True)
class Tally:
    """Tries of one subject. `is_known`: the name has signed in from this address."""

    failures: int = 0
    last_at: float = 0.0
    is_known: bool = False


class Subjects(NamedTuple):
    pair: str
    address: str
    name: str


def subjects_of(name: str, address: str) -> Subjects:
    name, place = name[:NAME_CHARS_MAX], network_of(address)
    return Subjects(f"{place} {name}", place, f"name {name}")


@lru_cache(2000)
def network_of(address: str) -> str:
    """The address itself; of IPv6 the network that one customer is given."""
    try:
        known = ip_address(address.partition("%")[0])
    except ValueError:
        return address[:NAME_CHARS_MAX]
    if isinstance(known, IPv6Address):
        return str(known.ipv4_mapped) if known.ipv4_mapped else f"{IPv6Address(int(known) >> 64 << 64)}/64"
    return str(known)


def wait_s(subjects: Subjects, tallies: dict[str, Tally], now: float) -> float:
    """Seconds this try has to wait yet; 0 when it may be made."""
    pair = tallies.get(subjects.pair, Tally())
    waits = [_left(NAME_AT_ADDRESS, pair, now)]
    if not pair.is_known:
        waits.append(_left(ADDRESS, tallies.get(subjects.address, Tally()), now))
        waits.append(_left(NAME, tallies.get(subjects.name, Tally()), now))
    return max(waits)


def _left(allowance: Allowance, tally: Tally, now: float) -> float:
    return max(0.0, tally.last_at + allowance.wait_s(tally.failures) - now)


def is_forgotten(tally: Tally, now: float) -> bool:
    return now - tally.last_at > (KNOWN_S if tally.is_known else FORGOTTEN_S)


@dataclass(slots=True)
class Attempts:
    """The tallies of one process, at most `size_max`: the one that was touched longest ago is forgotten first."""

    size_max: int = 3000
    _tallies: OrderedDict[str, Tally] = field(default_factory=OrderedDict)

    def wait_s(self, subjects: Subjects, now: float) -> float:
        return wait_s(subjects, self._known(subjects, now), now)

    def failed(self, subjects: Subjects, now: float) -> int:
        for key, tally in self._known(subjects, now).items():
            self._keep(key, Tally(tally.failures + 1, now, tally.is_known))
        return self._tallies[subjects.pair].failures

    def succeeded(self, subjects: Subjects, now: float) -> None:
        self._keep(subjects.pair, Tally(0, now, is_known=True))

    def _known(self, keys: Iterable[str], now: float) -> dict[str, Tally]:
        found = {key: self._tallies.get(key, Tally()) for key in keys}
        return {key: Tally() if is_forgotten(tally, now) else tally for key, tally in found.items()}

    def _keep(self, key: str, tally: Tally) -> None:
        self._tallies[key] = tally
        self._tallies.move_to_end(key)
        while len(self._tallies) > self.size_max:
            self._tallies.popitem(last=False)
