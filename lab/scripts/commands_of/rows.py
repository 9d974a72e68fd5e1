"""Sentences about rows: transactions and statements of a session."""

import re

from catalog.descriptor import Descriptor
from catalog.text.sentence import Sentence
from lab.cluster import node_statements
from lab.cluster.control_plane import LabError
from lab.cluster.lines import version_of
from lab.scripts.commands import Lab, Match, command
from lab.scripts.text import literals
from storage.commit_outcomes import Outcome

COMMIT_ANSWERS = {
    Outcome.COMMITTED: "it has committed",
    Outcome.ABORTED: "nothing was committed (40001)",
    Outcome.UNKNOWN: "nobody knows (08007)",
    Outcome.IN_PROGRESS: "in progress: ask again",
}
TRIED_AGAIN = "its session was ended; the query is tried again"
ASSIGNMENT = re.compile(r"(\w+)\s*=\s*('(?:[^']|'')*'|[^\s,]+)")


@command("SESSION: begin | commit | rollback", r"([\w.]+): (begin|commit|rollback)", "a transaction")
def _transaction(lab: Lab, match: Match) -> None:
    if match[2] == "begin":
        node_statements.begin(lab.world, match[1])
    elif match[2] == "commit":
        node_statements.commit(lab.world, match[1])
    else:
        node_statements.rollback(lab.world, match[1])


@command("SESSION: pin TABLE", r"([\w.]+): pin (\w+)", "its transaction gets a version, and has not entered yet")
def _pin(lab: Lab, match: Match) -> None:
    descriptor = node_statements.pin_only(lab.world, match[1], lab.world.control.find(match[2]))
    lab.world.say(f"{match[1]}: pinned {descriptor}")


@command("SESSION: enter TABLE", r"([\w.]+): enter (\w+)", "its transaction begins to use a version (T2)")
def _enter(lab: Lab, match: Match) -> None:
    descriptor = node_statements.enter_now(lab.world, match[1], lab.world.control.find(match[2]))
    lab.world.say(f"{match[1]}: uses {descriptor} from here on")


@command("SESSION: late commit", r"([\w.]+): late commit", "the last message of a frozen process arrives")
def _late_commit(lab: Lab, match: Match) -> None:
    node_statements.commit(lab.world, match[1], late=True)
    lab.world.say(Sentence("{node}: committed", node=match[1]))


@command("SESSION: send commit", r"([\w.]+): send commit", "COMMIT is on its way; `commit` brings the answer")
def _send_commit(lab: Lab, match: Match) -> None:
    one = lab.world.transactions.get(match[1])
    if one is not None and not one.store.ops:
        raise LabError(f"{match[1]} has written nothing: there is nothing to wait for")
    node_statements.send_commit(lab.world, match[1])


@command("SESSION: ask", r"([\w.]+): ask", "no answer to COMMIT came: what does the store say of its id? (T7)")
def _ask(lab: Lab, match: Match) -> None:
    outcome = node_statements.ask_outcome(lab.world, match[1])
    lab.world.say(f"{match[1]}: {COMMIT_ANSWERS[outcome]}")


@command("SESSION: insert TABLE (..)", r"([\w.]+): insert (\w+) (\(.*\))", "insert a row")
def _insert(lab: Lab, match: Match) -> None:
    table = lab.world.control.find(match[2])
    _say_done(lab, match[1], node_statements.insert(lab.world, match[1], table, literals(match[3])))


@command("SESSION: update TABLE (KEY) set C = V", r"([\w.]+): update (\w+) (\([^)]*\)) set (.+)", "update a row")
def _update(lab: Lab, match: Match) -> None:
    table = lab.world.control.find(match[2])
    to = [(name, literals(f"({value})")[0]) for name, value in ASSIGNMENT.findall(match[4])]
    _say_done(lab, match[1], node_statements.update(lab.world, match[1], table, literals(match[3]), to))


@command("SESSION: delete TABLE (KEY)", r"([\w.]+): delete (\w+) (\(.*\))", "delete a row")
def _delete_row(lab: Lab, match: Match) -> None:
    table = lab.world.control.find(match[2])
    _say_done(lab, match[1], node_statements.delete(lab.world, match[1], table, literals(match[3])))


@command("SESSION: select TABLE [by INDEX]", r"([\w.]+): select (\w+)(?: by (\w+))?", "what a query sees")
def _select(lab: Lab, match: Match) -> None:
    table = lab.world.control.find(match[2])
    _say_rows(lab, match[1], *node_statements.select(lab.world, match[1], table, match[3]))


@command("SESSION: start select TABLE [by INDEX]", r"([\w.]+): start select (\w+)(?: by (\w+))?", "a query reads on")
def _start_select(lab: Lab, match: Match) -> None:
    table = lab.world.control.find(match[2])
    lab.world.say(f"{match[1]}: reads {node_statements.start_select(lab.world, match[1], table, match[3])}")


@command("SESSION: finish select", r"([\w.]+): finish select", "the query that reads on returns its rows")
def _finish_select(lab: Lab, match: Match) -> None:
    descriptor, rows, is_again = node_statements.finish_select(lab.world, match[1])
    if is_again:
        lab.world.say(f"{match[1]}: {TRIED_AGAIN}")
    _say_rows(lab, match[1], descriptor, rows)


@command(
    "SESSION: start commit holding TABLE",
    r"([\w.]+): start commit holding (\w+)",
    "COMMIT computes the rows of a cursor WITH HOLD",
)
def _start_hold(lab: Lab, match: Match) -> None:
    table = lab.world.control.find(match[2])
    lab.world.say(f"{match[1]}: reads {node_statements.start_hold(lab.world, match[1], table)}")


@command("SESSION: finish commit", r"([\w.]+): finish commit", "it is committed, and the cursor has its rows")
def _finish_hold(lab: Lab, match: Match) -> None:
    _say_rows(lab, match[1], *node_statements.finish_hold(lab.world, match[1]))


def _say_rows(lab: Lab, actor: str, descriptor: Descriptor, rows: list[str]) -> None:
    found = "{node}: {what}: {rows}" if rows else "{node}: {what}: no row"
    lab.world.say(Sentence(found, node=actor, what=version_of(descriptor), rows=", ".join(rows)))


def _say_done(lab: Lab, actor: str, done: node_statements.StatementResult) -> None:
    lab.world.say(Sentence("{node}: under {what}", node=actor, what=version_of(done.descriptor)))
    for line in done.written:
        lab.world.say(Sentence("  {pair}", pair=line))


@command(
    "store crashes [keeping N]",
    r"store crashes(?: keeping (\d+))?",
    "commits on their way are lost but the first N (T7)",
)
def _store_crashes(lab: Lab, match: Match) -> None:
    before = len(lab.world.store.flushing)
    kept = min(int(match[1] or 0), before)
    lab.world.crash_store(kept)
    lab.world.say(f"the store has recovered: {kept} of {before} commits on their way are there")


@command("store flushes", r"store flushes", "commits on their way are durable now, and seen")
def _store_flushes(lab: Lab, match: Match) -> None:
    lab.world.store.flush()
