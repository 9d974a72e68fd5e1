"""Sentences about requests. Each moves a request one step; the router decides which (`lab.cluster.requests`)."""

import re
from collections.abc import Iterator

from catalog.elements import NodeId, TableId
from catalog.text.sentence import Sentence
from lab.cluster import node_statements
from lab.cluster.control_plane import LabError
from lab.cluster.lines import version_of
from lab.cluster.requests import LabRequest, Routers, RowRequest, Stage, Write
from lab.scripts.commands import Lab, Match, command
from lab.scripts.text import key_text, literals, op_text, value_text
from nodes.router.batches import Ending
from storage.pairs import encoded_value

VALUE = re.compile(r"(\w+)\s*=\s*('(?:[^']|'')*'|[^\s,()]+)")


@command(
    "NODE: request VERB TABLE (C = V, ..)",
    r"(\w+): request (insert|replace|delete|get) (\w+) \((.+)\)",
    "a client asks to insert, replace, delete or get a row; the node plans it",
)
def _request(lab: Lab, match: Match) -> None:
    lab.world.control.find(match[3])
    values = {name: literals(f"({value})")[0] for name, value in VALUE.findall(match[4])}
    _say_stage(lab, _routers(lab).begin(match[1], match[3], RowRequest(match[2], values)))


@command("NODE: send request", r"(\w+): send request", "its oldest request that is planned goes to the storages")
def _send(lab: Lab, match: Match) -> None:
    routers, node = _routers(lab), node_statements.serving(lab.world, match[1]).name
    request = _oldest(routers, node, Stage.PLANNED, "{node} has no request that is planned")
    descriptor = request.descriptor
    assert descriptor is not None
    refusal = routers.refusal(descriptor)
    is_loading = (node, request.table) in routers.loading
    routers.send(request)
    if refusal is None:
        _say(lab, request, "the storages accept {what}", what=version_of(descriptor))
        for line in _written(lab, request):
            lab.world.say(Sentence("  {pair}", pair=line))
        return
    _say(lab, request, "refused, and nothing is written: {why}", why=Sentence(refusal.value))
    if request.stage is Stage.WAITING and is_loading:
        _say(lab, request, "joins the reload of {table}", table=request.table)
    else:
        _say_stage(lab, request)


@command("NODE: commit request", r"(\w+): commit request", "the oldest that the storages have accepted is committed")
def _commit(lab: Lab, match: Match) -> None:
    routers, node = _routers(lab), node_statements.serving(lab.world, match[1]).name
    request = _oldest(routers, node, Stage.OPEN, "{node} has no request that the storages have accepted")
    read = [one for one in request.written if one.verb == "get"]
    routers.commit(request)
    for one in read:
        _say(lab, request, "finds {row}", row=_found(request, one))
    _say_stage(lab, request)


@command("NODE: reload TABLE", r"(\w+): reload (\w+)", "its reload reads the newest version, and is answered")
def _reload(lab: Lab, match: Match) -> None:
    routers, node = _routers(lab), node_statements.serving(lab.world, match[1]).name
    if (node, match[2]) not in routers.loading:
        raise LabError(Sentence("{node} reloads nothing", node=node))
    waiting = [one for one in routers.at(Stage.WAITING) if (one.node, one.table) == (node, match[2])]
    routers.read_catalog(node, match[2])
    found = routers.loading[node, match[2]]
    assert found is not None
    what = lab.world.table_name(TableId(found.table_id), found.version)
    lab.world.say(Sentence("{node}: reloads {what}", node=node, what=what))
    routers.answer_reload(node, match[2])
    for request in waiting:
        _say_stage(lab, request)


def _routers(lab: Lab) -> Routers:
    if lab.routers is None:
        lab.routers = Routers(lab.world)
    return lab.routers


def _oldest(routers: Routers, node: NodeId, stage: Stage, none: str) -> LabRequest:
    found = next((one for one in routers.at(stage) if one.node == node), None)
    if found is None:
        raise LabError(Sentence(none, node=node))
    return found


def _say_stage(lab: Lab, request: LabRequest) -> None:
    match request.stage:
        case Stage.PLANNED:
            assert request.descriptor is not None
            _say(lab, request, "planned with {what}", what=version_of(request.descriptor))
        case Stage.WAITING:
            _say(lab, request, "waits for a reload of {table}", table=request.table)
        case Stage.OVER:
            for outcome in request.batch.outcomes.values():
                ended = "done" if outcome.ending is Ending.DONE else f"{outcome.ending.value}: {{why}}"
                _say(lab, request, ended, why=outcome.error)


def _say(lab: Lab, request: LabRequest, template: str, **values: object) -> None:
    who = {"node": request.node, "number": request.number}
    lab.world.say(Sentence("{node}: request {number}: " + template, **who, **values))


def _written(lab: Lab, request: LabRequest) -> Iterator[Sentence]:
    assert request.descriptor is not None
    for op in lab.world.transactions[request.actor].store.ops:
        yield op_text(request.descriptor, op)


def _found(request: LabRequest, one: Write) -> str:
    descriptor = request.descriptor
    assert descriptor is not None
    if one.row is None:
        return "no row"
    values = [
        f"{column.name} = {value_text(column, encoded_value(descriptor, one.row, column.id))}"
        for column in descriptor.public_columns
        if column.id not in descriptor.primary_key
    ]
    return f"row {key_text(descriptor, one.row.key)}: {', '.join(values)}"
