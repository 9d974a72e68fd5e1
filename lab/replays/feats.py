"""Feats that a chapter asks for on the real cluster; `lab.live.feats` checks them against rows."""

from collections.abc import Mapping
from dataclasses import dataclass

from catalog.text.message import Text
from lab.replays.actions import PUBLIC, ROLLED_BACK
from lab.sessions.session import Session
from lab.sessions.short_steps import in_full


@dataclass(frozen=True, slots=True)
class Feat:
    """Something to be done on a sandbox. Of a replay: its session, and the clauses that the cluster must break."""

    name: str
    text: Text
    replay: Session | None = None
    clauses: frozenset[str] = frozenset()
    ends: str = ""
    step: str = ""
    by_operators: bool = False


BOTH = ("n1.acquire", "n2.acquire")
TO_THE_FILL = ("publish.2", *BOTH, "publish.3", *BOTH, "drain.3")
FILLED = ("clear", "fill.read.1.1", "fill.put.1.1", "close")
BACK = ("verify", "publish.4", *BOTH, "drain.4", "delete", "publish.5")
ALL = (
    Feat(
        "missing-entry",
        Text("replay: a row that the table has and the index lacks, because n1 still used v1"),
        Session("one-jump", steps=in_full(("publish.2", "n2.acquire", "n1.insert.1.1"))),
        frozenset({"C4"}),
    ),
    Feat(
        "orphan",
        Text("replay: an entry without a row, because n1 hears no news and deletes under v1"),
        Session("one-jump", steps=in_full(("publish.2", "n2.acquire", "n2.insert.1.1", "n1.delete.1"))),
        frozenset({"C5"}),
    ),
    Feat(
        "missing-entry-delete-only",
        Text("replay: delete-only in between, and still a row that the index lacks"),
        Session(
            "delete-only",
            left_out=frozenset({"skipped"}),
            steps=in_full(("publish.2", *BOTH, "publish.3", "n2.acquire", "n1.insert.1.1")),
        ),
        frozenset({"C4"}),
    ),
    Feat(
        "correct-run",
        Text("replay: the correct run, as a real change, with a writer under the old version before its fill"),
        Session(
            "fill",
            steps=in_full(
                [
                    *("publish.2", *BOTH, "publish.3", "n2.acquire", "n1.update.1.2", "n1.acquire"),
                    *("drain.3", *FILLED, "publish.4", "n2.acquire", "n2.update.1.1"),
                ]
            ),
        ),
        ends=PUBLIC,
    ),
    Feat(
        "violated",
        Text("replay: rows 1 and 2 have the same value, the verification fails, and the change is rolled back"),
        Session("unique-index", steps=(*TO_THE_FILL, *FILLED[:3], "fill.read.2.1", "fill.put.2.1", "close", *BACK)),
        ends=ROLLED_BACK,
    ),
    Feat(
        "lost-news",
        Text("replay: all news of the table is lost, and the change only waits until the nodes renew their leases"),
        Session("news", steps=("lose news", "step", "n1: insert t (1, 1)", "tick 10 s", "step", "step")),
        ends=PUBLIC,
        step="lose news",
    ),
    Feat("full-ladder", Text("create an index on a sandbox of yours with rows, then audit it: every clause holds")),
    Feat("filled", Text("insert rows first, then create the index: its fill puts their entries; audit it")),
    Feat("held-back", Text("block a change of your sandbox for ten seconds: leave a transaction open on a node")),
    Feat("rolled-back", Text("create a unique index on your sandbox with duplicates: it fails, and is rolled back")),
    Feat(
        "killed",
        Text("kill a node that leases your sandbox: a change of it waits until the lease expires"),
        by_operators=True,
    ),
    Feat(
        "thawed",
        Text(
            "freeze a node that leases your sandbox, thaw it once a change no longer waits for it, and audit the"
            " sandbox: every clause holds"
        ),
        by_operators=True,
    ),
)
FEATS: Mapping[str, Feat] = {one.name: one for one in ALL}
