"""Sentences about nodes: the leases they take and give, what happens to their processes and their messages."""

from catalog.elements import NodeId
from catalog.text.sentence import Sentence
from lab.cluster import node_statements
from lab.cluster.control_plane import LabError
from lab.cluster.parts import Message
from lab.scripts.commands import Lab, Match, command
from leases.gossip import News
from leases.node import vocabulary


@command("NODE: take TABLE [fresh] [as CALLER]", r"(\w+): take (\w+)( fresh)?(?: as (\w+))?", "use the table")
def _take(lab: Lab, match: Match) -> None:
    node = node_statements.serving(lab.world, match[1])
    table = lab.world.control.find(match[2])
    request = node_statements.ask_for(lab.world, node, table, fresh=bool(match[3]))
    lab.callers[request] = (node.name, table, match[4] or "")
    lab.world.settle()
    if request in lab.world.refused:
        del lab.callers[request]
        raise LabError(lab.world.refused.pop(request))
    if request not in lab.world.granted:
        caller = f"{match[4]} " if match[4] else ""
        waits = "{node}: {caller}waits for a lease on {table}"
        lab.world.say(Sentence(waits, node=node.name, caller=caller, table=match[2]))


@command("NODE: give TABLE [as CALLER]", r"(\w+): give (\w+)(?: as (\w+))?", "stop using it, or waiting for it")
def _give(lab: Lab, match: Match) -> None:
    place = (NodeId(match[1]), lab.world.control.find(match[2]), match[3] or "")
    request = next((r for r, caller in lab.callers.items() if caller == place), None)
    if request is None:
        raise LabError(f"{match[1]} has not taken {match[2]}")
    del lab.callers[request]
    node_statements.unpin(lab.world, place[0], place[1], request)


@command("revoke TABLE NODE", r"revoke (\w+) (\w+)", "an operator takes a node's leases on a table away (L10)")
def _revoke(lab: Lab, match: Match) -> None:
    control, node, table = lab.world.control, NodeId(match[2]), lab.world.control.find(match[1])
    for lease in [lease for lease in control.leases_of(node) if lease.table == table]:
        control.release(table, lease.version, node)
        lab.world.say(f"revoked {lab.world.table_name(table, lease.version)} from {node}")
        for one in lab.world.transactions.values():
            if one.node == node and one.uses(table, lease.version):
                lab.world.end_transaction(one, Sentence("its lease was revoked"))
        if lab.world.nodes[node].is_frozen:
            lab.world.messages.append(Message(node, vocabulary.Revoked(table, lease.version)))
        elif lab.world.nodes[node].is_running:
            lab.world.hears(node, vocabulary.Revoked(table, lease.version))


@command("release TABLE NODE", r"release (\w+) (\w+)", "an operator deletes a node's leases; its sessions run on (L8)")
def _release(lab: Lab, match: Match) -> None:
    control, node, table = lab.world.control, NodeId(match[2]), lab.world.control.find(match[1])
    for lease in [lease for lease in control.leases_of(node) if lease.table == table]:
        control.release(table, lease.version, node)
        lab.world.say(f"released {lab.world.table_name(table, lease.version)} of {node}")


@command("NODE: drain | undrain", r"(\w+): (drain|undrain)", "no new leases; serve again (L10)")
def _drain_node(lab: Lab, match: Match) -> None:
    node = node_statements.serving(lab.world, match[1])
    lab.world.hears(node.name, vocabulary.Drain() if match[2] == "drain" else vocabulary.Undrain())


@command("NODE: crash | start", r"(\w+): (crash|start)", "the process dies; a new incarnation begins")
def _crash(lab: Lab, match: Match) -> None:
    node = lab.world.node(match[1])
    if match[2] == "crash":
        lab.world.stop_node(node.name)
    else:
        lab.world.start_node(node.name)


@command("NODE: freeze | thaw", r"(\w+): (freeze|thaw)", "the process stands still; goes on")
def _freeze(lab: Lab, match: Match) -> None:
    node = lab.world.node(match[1])
    node.is_frozen = match[2] == "freeze"
    if node.is_running and not node.is_frozen:
        lab.world.hears(node.name, vocabulary.Tick())


@command("NODE: cut off | mend", r"(\w+): (cut off|mend)", "it reaches the database no more; again")
def _cut_off(lab: Lab, match: Match) -> None:
    lab.world.node(match[1]).is_cut_off = match[2] == "cut off"


@command("NODE: hold | flush", r"(\w+): (hold|flush)", "its messages wait; are all delivered")
def _hold(lab: Lab, match: Match) -> None:
    lab.world.node(match[1]).holds_messages = match[2] == "hold"


@command("NODE: deliver [last]", r"(\w+): deliver( last)?", "one of its messages arrives, the oldest or the last")
def _deliver(lab: Lab, match: Match) -> None:
    at = _place_of(lab, match)
    message = lab.world.messages[at]
    if lab.world.nodes[message.node].is_frozen and not message.is_request:
        raise LabError(Sentence("{node} is frozen: it hears nothing", node=message.node))
    if message.is_request:
        lab.world.say(Sentence("{node}: its request arrives", node=match[1]))
    elif isinstance(message.content, News):
        news = message.content
        what = lab.world.table_name(news.table, news.version)
        lab.world.say(Sentence("{node}: hears of {what}", node=match[1], what=what))
    lab.world.deliver(at)


@command("NODE: lose [last]", r"(\w+): lose( last)?", "a message is lost; of a request it hears that it failed")
def _lose(lab: Lab, match: Match) -> None:
    lab.world.lose(_place_of(lab, match))


def _place_of(lab: Lab, match: Match) -> int:
    places = [at for at, message in enumerate(lab.world.messages) if message.node == match[1]]
    if not places:
        raise LabError(Sentence("there is no message of {node}", node=match[1]))
    return places[-1 if match[2] else 0]


@command("NODE: clock N s", r"(\w+): clock (-?\d+(?:\.\d+)?) ?s", "its monotonic clock is so far from the database's")
def _clock(lab: Lab, match: Match) -> None:
    node = lab.world.node(match[1])
    if node.leases.tables:
        raise LabError(f"the clock of {node.name} is monotonic: set it before it has leases")
    node.clock_ahead_s = float(match[2])


@command("lose news | spread news", r"(lose|spread) news", "gossip is lost; is spread again (L6)")
def _news(lab: Lab, match: Match) -> None:
    lab.world.loses_news = match[1] == "lose"
