"""Sentences about tables and versions made by hand, rules left out, time, and inspection."""

from catalog.descriptor import Descriptor
from catalog.elements import TableId
from catalog.text.sentence import Sentence
from changes.ddl.actions import CreateTable
from changes.ddl.statements import parse
from lab.cluster import consistency
from lab.cluster.control_plane import LabError, Without
from lab.cluster.driver import note_filling
from lab.cluster.lines import version_of
from lab.scripts.commands import Lab, Match, command
from lab.scripts.hand_made_versions import edited, first_version
from lab.scripts.text import pair_text


@command("table NAME (COLUMN TYPE ..) [with (..)]", r"table (\w+) (\(.*\))", "make a table, public at once")
def _table(lab: Lab, match: Match) -> None:
    action = parse(f"create table {match[1]} {match[2]}").action
    assert isinstance(action, CreateTable), "CREATE TABLE is read as such"
    descriptor = first_version(action, TableId(len(lab.world.control.published) + 1))
    lab.world.publish(descriptor)
    lab.world.say(f"published {descriptor}")


@command("lose storage N", r"lose storage (\d+)", "a storage goes with all that lies there, whoever uses it")
def _lose_storage(lab: Lab, match: Match) -> None:
    number, store = int(match[1]), lab.world.store
    if not 1 <= number <= len(store.pairs):
        raise LabError(f"there is no storage {number}")
    lab.world.say(f"storage {number} is gone: {store.wipe(number)} pairs")


@command("add storage", "add storage", "one more storage, for placements that name so many")
def _add_storage(lab: Lab, match: Match) -> None:
    lab.world.say(f"storage {lab.world.store.add_storage()} is there")


@command("publish TABLE [EDIT]", r"publish (\w+)(?: (.*))?", "publish the next version by hand")
def _publish(lab: Lab, match: Match) -> None:
    newest = lab.world.control.newest(lab.world.control.find(match[1]))
    descriptor = edited(newest, match[2] or "")
    lab.world.publish(descriptor)
    note_filling(lab.world, descriptor)
    lab.world.say(_published(descriptor, match[2] or ""))


def _published(descriptor: Descriptor, edit: str) -> Sentence:
    what = version_of(descriptor)
    match edit.split():
        case []:
            return Sentence("published {what}", what=what)
        case ["swap", one, other]:
            return Sentence("published {what}: swap {one} {other}", what=what, one=one, other=other)
    return Sentence("published {what}: {edit}", what=what, edit=edit)


@command("drain TABLE", r"drain (\w+)", "prove that no version before the newest is in use (L9)")
def _drain(lab: Lab, match: Match) -> None:
    world = lab.world
    table = world.control.find(match[1])
    newest = world.control.newest(table)
    hindrances = world.control.drain({table: newest.version}, world.now, world.locked())
    if hindrances:
        raise LabError(f"{newest} is not drained: {world.hindered_by(hindrances, of=1)}")
    world.say(Sentence("drained {what}", what=version_of(newest)))


@command("without RULE", r"without (.+)", "leave out a rule, to see what it is for")
def _without(lab: Lab, match: Match) -> None:
    lab.world.control.without.add(_rule(match[1]))


@command("with RULE", r"with (.+)", "keep the rule again")
def _with(lab: Lab, match: Match) -> None:
    lab.world.control.without.discard(_rule(match[1]))


def _rule(name: str) -> Without:
    try:
        return Without(name)
    except ValueError:
        raise LabError(f"there is no rule {name!r}; there are: {', '.join(r.value for r in Without)}") from None


@command("by hand | by itself", r"by (hand|itself)", "reorganisation goes in single steps; all at once")
def _by_hand(lab: Lab, match: Match) -> None:
    lab.world.by_hand = match[1] == "hand"


@command("tick N s", r"tick (\d+(?:\.\d+)?) ?s", "time passes")
def _tick(lab: Lab, match: Match) -> None:
    whoever_waits = lab.world if lab.routers is None else lab.routers
    whoever_waits.pass_time(float(match[1]))


@command("lease N s", r"lease (\d+(?:\.\d+)?) ?s", "how long leases are granted for")
def _lease_s(lab: Lab, match: Match) -> None:
    lab.world.control.lease_s = float(match[1])


@command("leases", r"leases", "who may use what until when; L2 is checked")
def _leases(lab: Lab, match: Match) -> None:
    world = lab.world
    for table in world.control.published:
        for one in world.control.live(table, world.now):
            left = f"expires in {one.expires_at - world.now:g} s"
            world.say(f"{one.node}: {world.table_name(table, one.version)} ({left})")
    for lease in world.control.outside_two_versions(world.now):
        world.say(f"L2 is broken: {lease.node} leases {world.table_name(lease.table, lease.version)}")


@command("pairs TABLE", r"pairs (\w+)", "everything the store holds of a table")
def _pairs(lab: Lab, match: Match) -> None:
    table = lab.world.control.find(match[1])
    newest = lab.world.control.newest(table)
    found = (pair for pairs in lab.world.pairs(table) for pair in pairs)
    for pair in sorted(found, key=lambda pair: (pair[0], pair[1] is not None)):
        lab.world.say(pair_text(newest, pair))


@command(
    "check TABLE [accepted]",
    r"check (\w+)( accepted)?",
    "the seven clauses, under every version in force; accepted: under all that the fence lets in",
)
def _check(lab: Lab, match: Match) -> None:
    world = lab.world
    versions = world.control.accepted_versions if match[2] else world.control.versions_in_force
    for descriptor in versions(world.control.find(match[1]), world.now, world.locked()):
        violations = consistency.violations(world, descriptor.table_id, descriptor)
        world.say(f"{descriptor}: {'consistent' if not violations else '; '.join(map(str, violations))}")
