"""The database of a lab cluster: catalog, lease rows, fences, locks. Decisions are those of `leases.rules`; the checks
of `enter` (T2, T3) are here because the fence is. A rule can be left out (`Without`), to see why it is needed."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from catalog.descriptor import Descriptor
from catalog.elements import NodeId, State, TableId
from catalog.text.sentence import Sentence
from lab.cluster.lines import version_of
from leases import rules
from leases.rules import Hindrance, Lease, Refusal


class LabError(Exception):
    """A command is refused."""


class Without(Enum):
    """Rules that a lab may leave out, each with its sentence."""

    TWO_VERSIONS = "two versions"
    """publish although somebody leases an older version than the last (L7)"""
    FENCE = "fence"
    """accept versions below the fence, and let no lock hold back a publish (T2, L7)"""
    LOCK = "lock"
    """let no lock hold back a publish or a drain (L7, L9)"""
    ENTRY = "entry"
    """accept versions below the fence (T2)"""
    CLEAR = "clear"
    """keep tombstones of before the drain (R6)"""
    CAREFUL_FILL = "careful fill"
    """put blindly what was read (R2)"""
    TOMBSTONE_CHECK = "tombstone check"
    """fill a key whose row still exists, tombstone or not (R2)"""
    TOKEN = "token"  # noqa: S105 - a rule's name
    """accept chunks of a closed run (R7)"""
    ONCE = "once"
    """attempt a finished range again (R3)"""
    DRAIN = "drain"
    """begin a reorganisation while older versions are leased (L9)"""
    TOMBSTONES = "tombstones"
    """remove under filling without a trace (R5)"""
    BLIND_TOMBSTONES = "blind tombstones"
    """write a tombstone only where the transaction sees a pair (R5)"""
    PURGE = "purge"
    """leave the tombstones of a fill (R8)"""
    DELETION = "deletion"
    """leave the entries of a dropped index (R8, X4)"""
    EXECUTOR = "executor"
    """let a worker that was replaced act (X2)"""
    SNAPSHOT = "snapshot"
    """use a version newer than the transaction's snapshot (T3)"""
    DEADLINE = "deadline"
    """let a transaction run on past its deadline (T4)"""
    REENTRY = "reentry"
    """let a transaction that has only read write after its lease has expired (T4)"""
    EXISTENCE = "existence"
    """take a row for one that exists though its existence pair is a tombstone (R8)"""
    CONFLICTS = "conflicts"
    """commit although what was read or written has changed (T1)"""
    LIFE = "life"
    """believe that a lost COMMIT succeeded although the store has crashed since (T7)"""
    CREATION = "creation"
    """put a row over one that is there (T7)"""
    GRACE = "grace"
    """wait forever for a lock without a lease (L8)"""
    ASKING_TIME = "asking time"
    """count a lease from when the answer arrives (L1)"""
    VERIFICATION = "verification"
    """make an index or a constraint public whatever there is (R10)"""
    PARTNERS = "partners"
    """keep a foreign key in its own table only (L11)"""
    EVERY_TABLE = "every table"
    """of several tables ask only the first one who is in the way (L11)"""
    CHILD_CHECKS = "child checks"
    """write a row without asking whether what it refers to is there (C6)"""
    PARENT_CHECKS = "parent checks"
    """remove a row without asking whether another one refers to it (C6)"""
    HIDDEN_VALUES = "hidden values"
    """carry only the columns that the version can name when a key changes"""
    FILL_VALUE = "fill value"
    """fill an index as if a missing value were NULL, not the column's fill value"""


NO_LOCK = frozenset({Without.FENCE, Without.LOCK})

Hindrances = dict[TableId, Hindrance]
"""The blockers, by table; empty: none."""
Locked = Mapping[TableId, Collection[int]]
"""The versions of each table whose lock a running transaction holds."""


@dataclass
class Control:
    """The database's knowledge. `published` holds every version of a table, oldest first."""

    lease_s: float = 30.0
    published: dict[TableId, list[Descriptor]] = field(default_factory=dict)
    leases: list[Lease] = field(default_factory=list)
    incarnations: dict[NodeId, int] = field(default_factory=dict)
    fences: dict[TableId, int] = field(default_factory=dict)
    row_ids: dict[TableId, int] = field(default_factory=dict)
    without: set[Without] = field(default_factory=set)

    def newest(self, table: TableId) -> Descriptor:
        return self.published[table][-1]

    def version(self, table: TableId, version: int) -> Descriptor:
        return next(one for one in self.published[table] if one.version == version)

    def find(self, name: str) -> TableId:
        """The table of this name; an absent one only without another."""
        named = [table for table in self.published if self.newest(table).name == name]
        alive = [table for table in named if self.newest(table).state is not State.ABSENT]
        if not named:
            raise LabError(f"there is no table {name}")
        return (alive or named)[-1]

    def next_row_id(self, table: TableId) -> int:
        """A new number for a row without a primary key, even if its transaction ends."""
        self.row_ids[table] = self.row_ids.get(table, 0) + 1
        return self.row_ids[table]

    # Leases (L3, L4, L5)

    def acquire(self, table: TableId, node: NodeId, now: float) -> Lease | None:
        """A lease on the newest version; None if the table cannot be leased (L13), or has no leases."""
        newest = self.newest(table)
        if not rules.may_acquire(newest.state, internal=True):
            return None
        if not newest.coordination.has_leases:
            return Lease(table, newest.version, node, self.incarnations[node], now + self.lease_s)
        return self._grant(table, newest.version, node, now)

    def _grant(self, table: TableId, version: int, node: NodeId, now: float) -> Lease:
        self.release(table, version, node)
        lease = Lease(table, version, node, self.incarnations[node], now + self.lease_s)
        self.leases.append(lease)
        return lease

    def renew(self, table: TableId, node: NodeId, now: float) -> Lease | None:
        """The lease on the newest version, extended; None if the node has no live one (L5)."""
        newest = self.newest(table).version
        held = (lease for lease in self.leases_of(node) if (lease.table, lease.version) == (table, newest))
        if not any(lease.is_live(now) for lease in held):
            return None
        return self._grant(table, newest, node, now)

    def release(self, table: TableId, version: int, node: NodeId) -> None:
        self.leases = [
            lease for lease in self.leases if (lease.table, lease.version, lease.node) != (table, version, node)
        ]

    def leases_of(self, node: NodeId) -> list[Lease]:
        return [lease for lease in self.leases if lease.node == node]

    def start_node(self, node: NodeId) -> int:
        """A new incarnation; the leases of the former one end (L10)."""
        self.leases = [lease for lease in self.leases if lease.node != node]
        self.incarnations[node] = self.incarnations.get(node, 0) + 1
        return self.incarnations[node]

    # Versions (L7, L9)

    def publish(self, descriptors: Sequence[Descriptor], now: float, locked: Locked) -> Hindrances:
        """Publishes the next versions of several tables at once, or of none: then the blockers of each (L11)."""
        found = self._publish_hindrances(descriptors, now, locked)
        if not found:
            for one in descriptors:
                versions = self.published.setdefault(one.table_id, [])
                assert not versions or one.version == versions[-1].version + 1, "versions follow each other"
                versions.append(one)
                self.raise_fence(one.table_id, rules.accepted_from(one.version, one.coordination))
        return found

    def _publish_hindrances(self, descriptors: Sequence[Descriptor], now: float, locked: Locked) -> Hindrances:
        if Without.TWO_VERSIONS in self.without:
            return {}
        asked = descriptors[:1] if Without.EVERY_TABLE in self.without else descriptors
        found = {
            one.table_id: rules.publish_hindrance(
                self.leases,
                table=one.table_id,
                next_version=one.version,
                now=now,
                locked=self._locks(one.table_id, locked),
            )
            for one in asked
        }
        return {table: hindrance for table, hindrance in found.items() if hindrance is not None}

    def drain(self, versions: Mapping[TableId, int], now: float, locked: Locked) -> Hindrances:
        """Proves that older versions of the tables are not in use; otherwise the blockers (L9, L11)."""
        if Without.DRAIN in self.without:
            return {}
        asked = list(versions.items())[:1] if Without.EVERY_TABLE in self.without else versions.items()
        found = {
            table: rules.drain_hindrance(
                self.leases, table=table, version=version, now=now, locked=self._locks(table, locked)
            )
            for table, version in asked
        }
        hindered = {table: hindrance for table, hindrance in found.items() if hindrance is not None}
        if not hindered:
            for table, version in asked:
                self.raise_fence(table, version)
        return hindered

    def _locks(self, table: TableId, locked: Locked) -> Collection[int]:
        return () if self.without & NO_LOCK else locked.get(table, ())

    def raise_fence(self, table: TableId, version: int) -> None:
        self.fences[table] = max(version, self.fences.get(table, 0))

    # Transactions (T2, T3)

    def why_not_enter(self, descriptor: Descriptor, newest_in_snapshot: int) -> str | None:
        """Why a transaction may not use a version: below the fence, or newer than its snapshot."""
        fence = 0 if self.without & {Without.FENCE, Without.ENTRY} else self.fences.get(descriptor.table_id, 0)
        visible = descriptor.version if Without.SNAPSHOT in self.without else newest_in_snapshot
        match rules.why_not_enter(descriptor.version, fence=fence, newest_visible=visible):
            case Refusal.BELOW_FENCE:
                below = "{what} is below the fence: version {fence} is the oldest accepted (40001)"
                return Sentence(below, what=version_of(descriptor), fence=fence)
            case Refusal.NOT_VISIBLE:
                newer = "{what} is newer than the transaction's snapshot (40001)"
                return Sentence(newer, what=version_of(descriptor))
        return None

    def live(self, table: TableId, now: float) -> list[Lease]:
        return rules.live_leases(self.leases, table=table, now=now)

    def versions_in_force(self, table: TableId, now: float, locked: Locked) -> list[Descriptor]:
        """The newest version and every older one that is leased, or used by a transaction without a lease. Each must
        find the pairs consistent."""
        used = set(rules.versions_in_use(self.leases, table=table, now=now)) | {self.newest(table).version}
        return [one for one in self.published[table] if one.version in used or self._is_used_unleased(one, locked)]

    def accepted_versions(self, table: TableId, now: float, locked: Locked) -> list[Descriptor]:
        """The versions that the fence lets in, and others still in use."""
        fence = self.fences.get(table, 0)
        leased = {lease.version for lease in self.live(table, now)}
        return [
            one
            for one in self.published[table][-4:]
            if one.version >= fence or one.version in leased or self._is_used_unleased(one, locked)
        ]

    @staticmethod
    def _is_used_unleased(version: Descriptor, locked: Locked) -> bool:
        return not version.coordination.has_leases and version.version in locked.get(version.table_id, ())

    def used_outside_two_versions(self, locked: Locked) -> Iterable[Descriptor]:
        """Versions in use although there are two newer ones, leased or not (L2)."""
        for table, versions in locked.items():
            newest = self.newest(table).version
            yield from (self.version(table, version) for version in versions if version < newest - 1)

    def outside_two_versions(self, now: float) -> Iterable[Lease]:
        """Leases that break the two-version invariant (L2)."""
        for table in self.published:
            newest = self.newest(table).version
            yield from rules.outside_two_versions(self.leases, table=table, newest=newest, now=now)
