"""The rules that can be left out, and what notices the loss of each: the check of our own tests.

A rule that the lab can leave out (`lab.cluster.control_plane.Without`) is left out in a run of the simulator whose seed
needs it, or in a golden script; a rule of PostgreSQL or of a shell is switched off in production code (`SWITCHES`)
under a test named here. `BEHIND` are rules whose loss is not noticed because another rule stands behind them.
"""

from dataclasses import dataclass

from lab.cluster.control_plane import Without
from lab.simulator.faults import ALL, Fault

AT_ONCE = ALL - {Fault.READS}
LEASED = AT_ONCE - {Fault.UNLEASED}
REMEMBERS = LEASED - {Fault.FORGET}


@dataclass(frozen=True, slots=True)
class InSimulator:
    """Left out, the run of `seed` breaks one of `breaks` (clauses, or ids of rules)."""

    rules: str
    without: tuple[Without, ...]
    seed: int
    breaks: str
    faults: frozenset[Fault] = REMEMBERS


@dataclass(frozen=True, slots=True)
class InScript:
    """Left out, a golden script (under tests/scripts) says something else; or it shows the loss itself."""

    rules: str
    without: tuple[Without, ...]
    script: str


@dataclass(frozen=True, slots=True)
class Switch:
    """A rule in production code, off when `old` is replaced by `new` at `place` (`tests.lab.mutations.edits`). `test`
    (under tests/) fails without it; `given` are arguments of that test."""

    rules: str
    what: str
    place: str
    old: str
    new: str
    test: str
    given: tuple[tuple[str, str], ...] = ()

    @property
    def module(self) -> str:
        """The tests that notice it."""
        return self.test.partition("::")[0]


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
    InSimulator("L2, L7", (Without.TWO_VERSIONS,), 1, "L2"),
    InSimulator("T2, L7", (Without.FENCE,), 287, "L2"),
    InSimulator("T2", (Without.ENTRY,), 411, "C5"),
    InSimulator("L7, L9", (Without.LOCK,), 68, "L2"),
    InSimulator("L7, L9", (Without.LOCK,), 11, "L2", AT_ONCE),
    InSimulator("L9", (Without.DRAIN,), 9, "C7"),
    InSimulator("L11", (Without.PARTNERS,), 96, "C6"),
    InSimulator("L11, L2", (Without.EVERY_TABLE,), 10, "L2"),
    InSimulator("L11", (Without.CHILD_CHECKS,), 29, "C6"),
    InSimulator("L11", (Without.PARENT_CHECKS,), 90, "C6"),
    InSimulator("R2", (Without.CAREFUL_FILL,), 63, "C5"),
    InSimulator("R2, R5", (Without.TOMBSTONE_CHECK,), 63, "C5"),
    InSimulator("R4, R5", (Without.TOMBSTONES,), 63, "C5"),
    InSimulator("R5", (Without.BLIND_TOMBSTONES,), 63, "C5"),
    InSimulator("R7", (Without.TOKEN,), 319, "C3"),
    InSimulator("R8 purge", (Without.PURGE,), 0, "C7"),
    InSimulator("R8 deletion, X4", (Without.DELETION,), 6, "C3"),
    InSimulator("T1", (Without.CONFLICTS,), 4, "lost"),
    InSimulator("T3", (Without.SNAPSHOT,), 1951, "read"),
    InSimulator("T7", (Without.CREATION,), 2, "lost"),
    InSimulator("T7", (Without.LIFE,), 40, "lost", LEASED),
    InSimulator("L1", (Without.ASKING_TIME,), 73, "L1"),
    InSimulator("R6", (Without.CLEAR,), 150, "R10"),
    InSimulator("R10", (Without.VERIFICATION,), 54, "C6"),
    InSimulator("R6, R10", (Without.CLEAR, Without.VERIFICATION), 313, "C4"),
    InSimulator("X2", (Without.EXECUTOR,), 503, "X4", frozenset({Fault.ZOMBIE, Fault.OPERATOR, Fault.CRASH})),
)
"""Seeds of `manage.py simulate --seed N --without RULE`, found by running seeds until one noticed. A fault that is left
out draws nothing, so seeds keep their meaning when a fault is added."""

IN_SCRIPTS = (
    InScript("T1", (Without.HIDDEN_VALUES,), "changes/key_moves_what_is_not_read"),
    InScript("T7", (Without.LIFE,), "transactions/commit_forgotten"),
    InScript("R2", (Without.FILL_VALUE,), "changes/missing_value_read_as_null"),
    InScript("R3", (Without.ONCE,), "changes/range_twice"),
    InScript("R6", (Without.CLEAR,), "changes/tombstones_not_cleared"),
    InScript("R10", (Without.VERIFICATION,), "changes/verification_fails"),
    InScript("R8", (Without.EXISTENCE,), "changes/tombstone_read_as_row"),
    InScript("L7, L9, T4", (Without.LOCK, Without.REENTRY), "leases/lease_alone"),
    InScript("L8", (Without.GRACE,), "changes/lock_without_lease"),
    InScript("T4", (Without.DEADLINE,), "leases/frozen_node"),
    InScript("L11", (Without.PARTNERS,), "changes/foreign_key_in_one_table"),
    InScript("L11, L9", (Without.EVERY_TABLE,), "changes/foreign_key_asks_one_table"),
    InScript("L7", (Without.LOCK,), "transactions/hash_without_lock"),
)

ENTER = "sql:storage_*.enter"
FILL_TESTS = "spark_tasks/test_backfill.py::"
INTERRUPTED_TESTS = "spark_tasks/test_interrupted.py::"
ENTER_TESTS = "storage/test_enter.py::"
LEASE_TESTS = "leases/test_lease_functions.py::"
READING_TESTS = "nodes/store/test_reading.py::"
RACE_TESTS = "leases/test_acquire_against_publish.py::"
PUBLISH_TESTS = "changes/driver/test_publish.py::"
COMES_BETWEEN = f"{FILL_TESTS}test_a_writer_that_comes_between_reading_and_writing_wins"

SWITCHES = (
    Switch(
        "R2",
        "a fill puts only where there is neither pair nor tombstone",
        "spark_tasks.reorganise.backfill:put_where_free",
        "DO NOTHING",
        "DO UPDATE SET v = excluded.v",
        COMES_BETWEEN,
        (("between", "_delete"),),
    ),
    Switch(
        "R5",
        "a tombstone is put whether or not a pair is there",
        "storage.statements:SQL[TOMBSTONE]",
        "INSERT INTO {kv} AS kv (k, c) SELECT * FROM unnest(%b::bytea[], %b::int2[])"
        " ON CONFLICT (k, c) DO UPDATE SET v = NULL",
        "UPDATE {kv} SET v = NULL WHERE (k, c) IN (SELECT * FROM unnest(%b::bytea[], %b::int2[]))",
        COMES_BETWEEN,
        (("between", "_delete"),),
    ),
    Switch(
        "R5",
        "a tombstone that is found is written again",
        "storage.statements:SQL[TOMBSTONE]",
        "DO UPDATE SET v = NULL",
        "DO UPDATE SET v = NULL WHERE kv.v IS NOT NULL",
        "storage/test_postgres.py::test_a_tombstone_found_is_written_again_so_that_a_concurrent_put_is_refused",
        (("which", "STORES[postgres]"),),
    ),
    Switch(
        "R4",
        "a version that fills writes tombstones",
        "storage.mutations:_removal",
        "return Act.TOMBSTONE",
        "return Act.REMOVE",
        COMES_BETWEEN,
        (("between", "_delete"),),
    ),
    Switch(
        "R6",
        "tombstones of before the drain are cleared",
        "spark_tasks.reorganise.tombstones:clear_tombstones",
        "v IS NULL",
        "v IS NULL AND false",
        f"{FILL_TESTS}test_tombstones_of_before_the_drain_are_cleared_once",
    ),
    Switch(
        "R7",
        "closing moves the run's token",
        "spark_tasks.services:CLOSED",
        "token = token + 1",
        "token = token",
        f"{FILL_TESTS}test_an_attempt_that_outlived_its_close_writes_nothing",
    ),
    Switch(
        "R7",
        "a chunk asks for the token first",
        "spark_tasks.chunks.chunk:BEGIN",
        " AND token = {token}",
        "",
        f"{FILL_TESTS}test_a_chunk_of_a_range_begun_before_the_close_writes_nothing",
    ),
    Switch(
        "R3",
        "another attempt leads on behind the last mark",
        "spark_tasks.chunks.chunk:progress_of",
        "None if key is None else Reached(storage, key)",
        "None",
        f"{INTERRUPTED_TESTS}test_two_pauses_in_one_range_put_no_pair_twice",
    ),
    Switch(
        "R3",
        "a chunk follows the last one, or is none",
        "spark_tasks.chunks.chunk:_require_open",
        "if row[1] != progress.chunks:",
        "if False:",
        f"{INTERRUPTED_TESTS}test_a_worker_that_is_run_twice_under_one_token_does_no_chunk_twice",
    ),
    Switch(
        "R7, R11",
        "pausing moves the run's token",
        "spark_tasks.services:PAUSED",
        "token = token + 1",
        "token = token",
        f"{INTERRUPTED_TESTS}test_a_paused_run_commits_no_further_chunk",
    ),
    Switch(
        "R7, R8",
        "the purge waits for the close",
        "spark_tasks.jobs.phases:purge",
        "if fills.exists():",
        "if False:",
        f"{FILL_TESTS}test_the_purge_waits_for_the_close",
    ),
    Switch(
        "T2",
        "a version below the fence is refused",
        ENTER,
        "IF p_version < fence THEN",
        "IF false THEN",
        f"{ENTER_TESTS}test_the_fence_is_read_as_of_now_not_of_the_snapshot",
    ),
    Switch(
        "T2",
        "the lock comes first",
        ENTER,
        "CASE WHEN pg_advisory_xact_lock_shared(p_table, p_version) IS NOT NULL",
        "CASE WHEN true",
        f"{ENTER_TESTS}test_enter_waits_for_a_publisher_and_then_sees_its_fence",
    ),
    Switch(
        "T3",
        "a version that the snapshot does not show is refused",
        ENTER,
        "IF NOT FOUND OR fence IS NULL THEN",
        "IF false THEN",
        f"{ENTER_TESTS}test_a_version_newer_than_the_snapshot_cannot_be_used",
    ),
    Switch(
        "T2",
        "another hash than the storage's is refused",
        ENTER,
        "IF p_schema_hash <> known.schema_hash THEN",
        "IF false THEN",
        f"{ENTER_TESTS}test_another_hash_is_refused_and_the_storages_own_named",
        (("which", "schema_hash"),),
    ),
    Switch(
        "T4",
        "the deadline's timer is stopped before it starts",
        ENTER,
        "armed := set_config('transaction_timeout', '0', true);",
        "",
        f"{ENTER_TESTS}test_a_deadline_is_not_that_of_a_transaction_before_in_the_session",
    ),
    Switch(
        "T4",
        "the deadline is armed",
        ENTER,
        "armed := set_config('transaction_timeout', least(left_ms, 2147483647)::bigint::text, true);",
        "",
        f"{ENTER_TESTS}test_a_rollback_to_a_savepoint_loses_lock_and_deadline_until_enter_is_called_again",
    ),
    Switch(
        "T4",
        "before its first write a transaction enters every table again",
        "nodes.store.transaction:Transaction._prologue",
        "if armed is None and self._entered:",
        "if False:",
        f"{READING_TESTS}test_before_its_first_write_every_table_is_entered_again_with_the_earliest_expiration",
    ),
    Switch(
        "T1",
        "what another transaction wrote since the snapshot is not overwritten",
        "storage.postgres:session_options",
        "SESSION_SETTINGS | settings",
        'SESSION_SETTINGS | settings | {"default_transaction_isolation": "read committed"}',
        "storage/test_postgres.py::test_of_two_transactions_that_write_one_key_the_later_is_refused",
        (("which", "STORES[postgres]"),),
    ),
    Switch(
        "T7",
        "a row that is there is not created again",
        "storage.statements:SQL[CREATE]",
        " WHERE kv.v IS NULL RETURNING",
        " RETURNING",
        "storage/test_postgres.py::test_a_row_that_is_there_is_not_created_again",
        (("which", "STORES[postgres]"),),
    ),
    Switch(
        "L3",
        "an acquisition waits for a publisher that is committing",
        "sql:lease_acquire",
        "PERFORM FROM catalog_table t WHERE t.id = p_table FOR SHARE;",
        "",
        f"{RACE_TESTS}test_a_publish_that_commits_while_acquire_waits_for_it_is_what_gets_leased",
    ),
    Switch(
        "L5",
        "an expired lease is never extended",
        "sql:lease_renew",
        "AND l.incarnation = p_incarnation AND l.expires_at > clock_timestamp()",
        "AND l.incarnation = p_incarnation",
        f"{LEASE_TESTS}test_an_expired_lease_is_never_extended",
    ),
    Switch(
        "L5",
        "only the newest version is renewed",
        "sql:lease_renew",
        "AND l.version = newest.version AND",
        "AND",
        f"{LEASE_TESTS}test_an_older_version_runs_to_its_end_and_the_renewal_reports_the_newer",
    ),
    Switch(
        "L10",
        "a new incarnation ends the sessions of the former ones",
        "sql:node_register",
        "sessions_ended := lease_end_sessions(v_pids);",
        "sessions_ended := 1;",
        "leases/test_nodes_and_revocation.py::test_a_new_incarnation_ends_the_former_ones_sessions_and_leases",
    ),
    Switch(
        "L10",
        "a revocation ends the sessions first",
        "sql:lease_revoke",
        "sessions_ended := lease_end_sessions(v_pids);",
        "sessions_ended := 1;",
        "leases/test_nodes_and_revocation.py::"
        "test_revoking_ends_the_sessions_that_use_the_version_and_deletes_the_lease",
    ),
    Switch(
        "L10",
        "only the current incarnation is granted a lease",
        "sql:lease_acquire",
        "WHERE n.name = p_node AND n.incarnation = p_incarnation FOR KEY SHARE",
        "WHERE n.name = p_node FOR KEY SHARE",
        f"{RACE_TESTS}test_an_acquisition_of_a_former_incarnation_that_waits_for_its_successor_is_refused",
    ),
    Switch(
        "L2, L7",
        "a publish waits for the leases on the last version but one",
        "changes.driver.publish:_publish_hindrance",
        "publish_hindrance(leases,",
        "publish_hindrance((),",
        f"{PUBLISH_TESTS}test_l7_a_third_version_waits_for_the_leases_on_the_first",
    ),
    Switch(
        "L7",
        "a publish waits for the transactions of the last version but one",
        "changes.driver.publish:_publish_hindrance",
        "now=now, locked=locked)",
        "now=now)",
        f"{PUBLISH_TESTS}test_l7_a_transaction_that_outlives_its_lease_holds_the_publish_back",
    ),
    Switch(
        "T2, L7",
        "a publish moves the fence",
        "changes.driver.publish:close_last_but_one",
        "store.set_fence(cur, storages, new.table_id, max(new.version - 1, 1))",
        "pass",
        f"{PUBLISH_TESTS}test_t2_after_a_publish_no_transaction_of_the_last_but_one_gets_in",
    ),
    Switch(
        "L9",
        "drained means no lease on an older version",
        "changes.driver.publish:_drain_hindrance",
        "leases, now = leases_as_of_now(cur, table)",
        "leases, now = [], 0.0",
        f"{PUBLISH_TESTS}test_l9_drained_means_no_lease_and_no_transaction_of_any_older_version",
    ),
    Switch(
        "L9",
        "drained means no transaction of an older version",
        "changes.driver.publish:_drain_hindrance",
        "if not store.try_exclusive(cur, table, older):",
        "if False:",
        f"{PUBLISH_TESTS}test_l9_drained_means_no_lease_and_no_transaction_of_any_older_version",
    ),
    Switch(
        "L9",
        "a drain moves the fence",
        "changes.driver.publish:drain",
        "store.set_fence(cur, storages, table_id, version)",
        "pass",
        f"{PUBLISH_TESTS}test_l9_drained_means_no_lease_and_no_transaction_of_any_older_version",
    ),
    Switch(
        "L11",
        "a publish asks who uses any of its tables",
        "changes.driver.publish:hindrance_to",
        "_publish_hindrance(cur, new) for new in news})",
        "_publish_hindrance(cur, new) for new in news[:1]})",
        f"{PUBLISH_TESTS}test_l11_a_lease_on_either_table_holds_both_back",
    ),
    Switch(
        "L11",
        "a publish writes the versions of all its tables",
        "changes.driver.publish:publish",
        "        for new in news:\n            _write_version",
        "        for new in news[:1]:\n            _write_version",
        f"{PUBLISH_TESTS}test_l11_two_tables_are_published_at_once_and_again_without_a_change",
    ),
    Switch(
        "L11, L9",
        "drained means that of all the tables",
        "changes.driver.publish:drain",
        "for table, version in tables})",
        "for table, version in tables[:1]})",
        f"{PUBLISH_TESTS}test_l11_all_tables_are_drained_or_none",
    ),
    Switch(
        "L8",
        "a session that outlives every lease is ended",
        "changes.driver.publish:end_holders",
        "return seen if store.end_sessions(cur, sessions, wait_ms=0) else ()",
        "return seen",
        f"{PUBLISH_TESTS}test_l8_a_session_that_outlives_every_lease_is_ended",
    ),
    Switch(
        "L7",
        "a publisher takes the table's row",
        "changes.driver.publish:_lock_table",
        " FOR UPDATE SKIP LOCKED",
        "",
        f"{PUBLISH_TESTS}test_l7_a_row_that_somebody_looks_at_blocks_without_waiting",
    ),
    Switch(
        "X6",
        "a cancel that comes before the point of no return is heard before the publish",
        "changes.driver.versions:Versions.publish",
        "if now.feed_requests():",
        "if False:",
        "changes/driver/test_driver.py::test_x6_a_cancel_at_any_moment_wins_or_is_refused",
        (("every", "1"),),
    ),
)
"""Rules of the store and of the shells, each switched off in production code. The test that is named fails then."""

IN_TESTS = (
    InTest(
        "T2",
        "the lock comes before the fence",
        (f"{ENTER_TESTS}test_either_the_publisher_waits_or_the_writer_is_refused",),
    ),
    InTest(
        "T7",
        "a commit is proved within one life of the server only",
        (
            "storage/test_commit_outcomes.py::test_what_an_answer_proves",
            "lab/explorer/test_commits.py::"
            "test_without_the_sign_of_a_life_a_lost_write_is_acknowledged_and_the_lab_agrees",
            "nodes/store/test_lost_commits.py::test_no_acknowledged_write_is_lost",
        ),
    ),
    InTest(
        "L4",
        "an older version goes with its last reference",
        ("leases/node/test_machine.py::test_an_older_version_goes_with_its_last_reference",),
    ),
    InTest(
        "L6",
        "news only accelerates",
        (
            "leases/test_gossip.py::test_order_and_repetition_of_news_change_nothing",
            "changes/driver/test_waiting_for_nodes.py::test_l6_without_news_a_change_waits_for_renewal_and_nothing_worse",
        ),
    ),
    InTest(
        "L12",
        "a name given up is free again when the change is complete",
        ("changes/driver/test_driver.py::test_l12_a_dropped_table_frees_its_name_when_the_change_is_complete",),
    ),
    InTest("L13", "which tables may be leased", (f"{LEASE_TESTS}test_which_tables_may_be_leased",)),
    InTest("L14", "a lease writes no counter row", (f"{LEASE_TESTS}test_no_lease_function_writes_a_counter_row",)),
    InTest(
        "T3",
        "an older snapshot uses the version that its node still leases",
        (
            "leases/node/test_machine.py::test_an_older_snapshot_gets_the_older_version_while_that_is_leased",
            f"{READING_TESTS}test_an_older_snapshot_uses_the_version_that_its_node_still_leases",
        ),
    ),
    InTest(
        "T4",
        "the lock of a reader without a lease blocks the publish after next and every reorganisation",
        (
            "lab/explorer/test_readers.py::"
            "test_the_publish_after_next_and_every_reorganisation_wait_for_a_reader_without_a_lease",
            f"{READING_TESTS}test_a_query_outlives_its_lease_and_the_publish_after_next_waits_for_it",
        ),
    ),
    InTest(
        "T4",
        "nothing begins in a transaction whose lease has expired",
        (
            f"{READING_TESTS}test_in_a_block_nothing_begins_after_it",
            f"{READING_TESTS}test_an_idle_reader_ends_with_its_lease",
        ),
    ),
    InTest(
        "T4",
        "the query of a killed node releases its lock",
        (f"{READING_TESTS}test_a_node_that_is_killed_in_a_long_query_releases_its_lock",),
    ),
    InTest(
        "L8",
        "a read alone that the publisher ends is tried again once",
        (f"{READING_TESTS}test_a_read_alone_whose_session_is_ended_is_tried_again_once",),
    ),
    InTest(
        "L10",
        "COMMIT on a node that thaws after its lease is 40001",
        ("nodes/session/test_transactions.py::test_a_frozen_node_that_thaws_cannot_commit",),
    ),
    InTest(
        "T5",
        "enter again after a rollback to a savepoint",
        (
            f"{ENTER_TESTS}test_a_rollback_to_a_savepoint_loses_lock_and_deadline_until_enter_is_called_again",
            "nodes/session/test_transactions.py::test_savepoints_enter_again",
        ),
    ),
    InTest(
        "T6",
        "ranges are locked, rows that are not there yet included",
        ("nodes/session/test_transactions.py::test_a_phantom_is_noticed",),
    ),
    InTest("T8", "the three cases of a statement that meets a change", (COMES_BETWEEN,)),
    InTest(
        "T9",
        "a table made in a transaction is unknown to others until its commit",
        (
            "changes/planning/test_table_in_transaction.py::test_t9_the_table_is_public_from_the_commit_on",
            "nodes/session/test_transactions.py::test_a_table_made_inside_is_unknown_to_others_until_commit",
        ),
    ),
    InTest("R1", "a range is read in a snapshot of its own", (COMES_BETWEEN,)),
    InTest(
        "R7",
        "closing waits for a chunk",
        (f"{FILL_TESTS}test_closing_waits_for_a_chunk_and_ends_a_session_that_holds_on",),
    ),
    InTest("R9", "a dropped table is deleted row by row", (f"{FILL_TESTS}test_a_dropped_table_goes_row_by_row",)),
    InTest(
        "R10",
        "verification by content, both directions, by name",
        (f"{FILL_TESTS}test_verification_names_what_is_missing_and_what_is_stale",),
    ),
    InTest("R11", "a throttle is kept", (f"{FILL_TESTS}test_a_throttled_fill_takes_its_time",)),
    InTest(
        "X1",
        "changes of one table queue in order",
        ("changes/driver/test_driver.py::test_x1_changes_of_one_table_queue_in_order",),
    ),
    InTest(
        "X2",
        "a worker that was replaced changes nothing more",
        ("changes/driver/test_driver.py::test_x2_a_worker_that_was_replaced_changes_nothing_more",),
    ),
    InTest(
        "X3",
        "all is in the database",
        (
            "changes/driver/test_driver.py::test_x3_the_beat_finds_what_nobody_drives",
            "changes/driver/test_driver.py::test_x3_a_submission_without_a_broker_is_stored_all_the_same",
        ),
    ),
    InTest(
        "X4",
        "a cancelled change rolls back to the table as it was",
        ("changes/driver/test_driver.py::test_x4_a_cancelled_change_rolls_back_to_the_table_as_it_was",),
    ),
    InTest(
        "X5",
        "a bad statement stores nothing",
        ("changes/driver/test_driver.py::test_x5_a_bad_statement_stores_nothing",),
    ),
    InTest(
        "X7",
        "each step is kept with its times",
        ("changes/driver/test_driver.py::test_x7_each_step_keeps_when_it_ran",),
    ),
)

UNSWITCHED = {"L15": "data as of an older time is not kept: there is nothing to switch off"}
"""Rules that nothing can be left out of, and why."""

BEHIND = (
    Behind("R3", (Without.ONCE,), "the token (R7) while the run is open or closed, tombstones (R5) until it is"),
    Behind("L8", (Without.GRACE,), "the node hears at its next renewal that its lease has ended; T4 ends the session"),
    Behind("T4", (Without.REENTRY,), "the lock (L7, L9), which a transaction holds from `enter` on"),
    Behind("T4", (Without.DEADLINE,), "lock and fence (T2): the deadline only makes stragglers end early"),
)

RULES = (
    *(f"L{number}" for number in range(1, 16)),
    *(f"T{number}" for number in range(1, 10)),
    *(f"R{number}" for number in range(1, 12)),
    *(f"X{number}" for number in range(1, 8)),
)
"""Protocol sections 5 to 8."""


def ids_of(rules: str) -> list[str]:
    """The ids in "R2, R5" and "R8 purge"."""
    return [word.strip(",") for word in rules.split() if word.strip(",") in RULES]
