"""A rolling publish: the storages get the next version one after the other, then the catalog. It begins when L7's
condition is met, and sets every fence; at its end each storage knows the version that nodes will lease."""

from dataclasses import dataclass, field

from catalog.descriptor import Descriptor
from catalog.elements import TableId
from lab.cluster.control_plane import LabError
from lab.cluster.world import World
from leases import rules


@dataclass
class RollingPublish:
    """`new` on its way; the storages in `aware` know it."""

    new: Descriptor
    aware: set[int] = field(default_factory=set)

    def unaware(self, table: TableId, newest: int, storages: int) -> dict[int, int]:
        """The newest version that a storage knows, if the catalog knows a newer one: this never happens."""
        if table != self.new.table_id or newest < self.new.version:
            return {}
        return {storage: self.new.version - 1 for storage in range(1, storages + 1) if storage not in self.aware}


def begin(world: World, new: Descriptor) -> RollingPublish:
    """Shuts out versions older than the predecessor, if none is in use. Raises `LabError`."""
    hindrance = rules.publish_hindrance(
        world.control.leases,
        table=new.table_id,
        next_version=new.version,
        now=world.now,
        locked=world.locked().get(new.table_id, ()),
    )
    if hindrance is not None:
        words = world.hindered_by({new.table_id: hindrance}, of=1)
        raise LabError(f"cannot begin to publish {new}: {words}")
    world.control.raise_fence(new.table_id, new.version - 1)
    return RollingPublish(new)


def finish(world: World, rolling: RollingPublish) -> None:
    missing = set(range(1, len(world.store.pairs) + 1)) - rolling.aware
    if missing:
        raise LabError(f"storage {min(missing)} does not know {rolling.new} yet")
    world.publish(rolling.new)
