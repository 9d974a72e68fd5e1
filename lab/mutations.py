"""Which rule is noticed by what, when it is left out: the check of our own tests.

A rule that the lab can leave out (`lab.control.Without`) is left out in a run of the simulator whose seed is
known to need it, or in a golden script; a rule that lives in PostgreSQL or in a shell has a test that
is named here. `BEHIND` are rules whose loss is not noticed because another one stands behind them: for
each, what holds instead.
"""

from dataclasses import dataclass

from lab.control import Without
from lab.simulator.faults import ALL, Fault


@dataclass(frozen=True, slots=True)
class InSimulator:
    """Left out, the run of `seed` breaks one of `breaks` (clauses, or ids of rules)."""

    rules: str
    without: tuple[Without, ...]
    seed: int
    breaks: str
    faults: frozenset[Fault] = ALL


@dataclass(frozen=True, slots=True)
class InScript:
    """Left out, a golden script (under tests/scripts) says something else; or it shows the loss itself."""

    rules: str
    without: tuple[Without, ...]
    script: str


@dataclass(frozen=True, slots=True)
class InTest:
    """A rule of the store or of a shell, and the tests (under tests/) that fail without it."""

    rules: str
    what: str
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Behind:
    """Left out alone it is not noticed by the simulator: `holds` says what stands behind it."""

    rules: str
    without: tuple[Without, ...]
    holds: str


IN_SIMULATOR = (
    InSimulator("L2, L7", (Without.TWO_VERSIONS,), 5, "L2"),
    InSimulator("T2, L7", (Without.FENCE,), 5, "C3"),
    InSimulator("T2", (Without.ENTRY,), 5, "C3"),
    InSimulator("L7, L9", (Without.LOCK,), 1002, "C4"),
    InSimulator("L9", (Without.DRAIN,), 51, "C7"),
    InSimulator("R2", (Without.CAREFUL_FILL,), 45, "C5"),
    InSimulator("R2, R5", (Without.TOMBSTONE_CHECK,), 45, "C5"),
    InSimulator("R4, R5", (Without.TOMBSTONES,), 45, "C5"),
    InSimulator("R5", (Without.BLIND_TOMBSTONES,), 45, "C5"),
    InSimulator("R7", (Without.TOKEN,), 1018, "C3"),
    InSimulator("R8 purge", (Without.PURGE,), 28, "C7"),
    InSimulator("R8 deletion, X4", (Without.DELETION,), 1, "C3"),
    InSimulator("T1", (Without.CONFLICTS,), 30, "lost"),
    InSimulator("T3", (Without.SNAPSHOT,), 571, "read"),
    InSimulator("T7", (Without.CREATION,), 1, "lost"),
    InSimulator("L1", (Without.ASKING_TIME,), 27, "L1"),
    InSimulator("R6", (Without.CLEAR,), 1348, "R10"),
    InSimulator("R6, R10", (Without.CLEAR, Without.VERIFICATION), 1348, "C4"),
    InSimulator("X2", (Without.EXECUTOR,), 39, "X4", frozenset({Fault.ZOMBIE, Fault.OPERATOR, Fault.CRASH})),
)
"""Seeds of `manage.py simulate --seed N --without RULE`; found by running seeds until one noticed."""

IN_SCRIPTS = (
    InScript("R3", (Without.ONCE,), "changes/range_twice"),
    InScript("R6", (Without.CLEAR,), "changes/tombstones_not_cleared"),
    InScript("R10", (Without.VERIFICATION,), "changes/verification_fails"),
    InScript("L8", (Without.GRACE,), "changes/lock_without_lease"),
    InScript("T4", (Without.DEADLINE,), "leases/frozen_node"),
)

IN_TESTS = (
    InTest(
        "L3",
        "lock and reading of the newest version are two statements",
        (
            "leases/test_acquire_against_publish.py::test_no_publish_gets_in_between_the_lock_and_the_reading_of_the_newest_version",
        ),
    ),
    InTest(
        "L5",
        "an expired lease is never extended",
        ("leases/test_lease_functions.py::test_an_expired_lease_is_never_extended",),
    ),
    InTest(
        "L10",
        "a new incarnation ends the sessions of the former ones",
        ("leases/test_nodes_and_revocation.py::test_a_new_incarnation_ends_the_former_ones_sessions_and_leases",),
    ),
    InTest(
        "T2",
        "the fence is read as of now, not of the snapshot",
        ("storage/test_enter.py::test_the_fence_is_read_as_of_now_not_of_the_snapshot",),
    ),
    InTest(
        "T2 order",
        "lock before fence",
        ("storage/test_enter.py::test_either_the_publisher_waits_or_the_writer_is_refused",),
    ),
    InTest(
        "T4",
        "the database ends a transaction at its deadline",
        ("storage/test_enter.py::test_the_deadline_ends_an_idle_transaction",),
    ),
    InTest(
        "T5",
        "enter again after a rollback to a savepoint",
        (
            "storage/test_enter.py::test_a_rollback_to_a_savepoint_loses_lock_and_deadline_until_enter_is_called_again",
            "nodes/test_transactions.py::test_savepoints_enter_again",
        ),
    ),
    InTest(
        "R5",
        "a tombstone that is found is written again",
        ("storage/test_postgres.py::test_a_tombstone_found_is_written_again_so_that_a_concurrent_put_is_refused",),
    ),
    InTest(
        "R3",
        "a finished range is not done again",
        ("spark_tasks/test_backfill.py::test_a_range_done_twice_is_not_written_twice",),
    ),
    InTest(
        "R6", "cleared once", ("spark_tasks/test_backfill.py::test_tombstones_of_before_the_drain_are_cleared_once",)
    ),
    InTest(
        "R7",
        "closing waits for a chunk",
        ("spark_tasks/test_backfill.py::test_closing_waits_for_a_chunk_and_ends_a_session_that_holds_on",),
    ),
    InTest(
        "R8", "the purge waits for the close", ("spark_tasks/test_backfill.py::test_the_purge_waits_for_the_close",)
    ),
    InTest(
        "X2",
        "a worker that was replaced changes nothing more",
        ("changes/test_driving.py::test_x2_a_worker_that_was_replaced_changes_nothing_more",),
    ),
    InTest(
        "X6",
        "a cancel and a publish: one wins",
        ("changes/test_driving.py::test_x6_a_cancel_at_any_moment_wins_or_is_refused",),
    ),
)

BEHIND = (
    Behind("R3", (Without.ONCE,), "the token (R7) while the run is open or closed, tombstones (R5) until it is"),
    Behind("R10", (Without.VERIFICATION,), "nothing is wrong with an index as long as R2 to R7 are kept"),
    Behind("L8", (Without.GRACE,), "the node hears at its next renewal that its lease is gone; T4 ends the session"),
    Behind("T4", (Without.DEADLINE,), "lock and fence (T2): the deadline only makes stragglers end early"),
)
