"""The number of a table's storages is its placement's, not a setting's, with which not all rows are seen. Here are all
places that name `settings.STORAGE_COUNT`, and all loops over storages from a number; a new one has to say where its
number comes from."""

import re
from pathlib import Path

from catalog.elements import Placement
from tests.storage.stage import users

ROOT = Path(__file__).parents[2]
ROOMS = ("catalog", "changes", "lab", "leases", "nodes", "schemalab", "spark_tasks", "storage")

NAMES_THE_SETTING = {
    "changes/submission/storages.py": "for `storage_count`",
    "changes/submission/tables_ahead.py": "for `storage_count`, and for plans (`StorageCount`)",
    "nodes/management/commands/node.py": "`Environment.storages`, and the layout's check",
    "nodes/entries.py": "for `storage_count`",
    "nodes/selectors.py": "for `storage_count`",
    "schemalab/celery.py": "the layout's check",
    "schemalab/checks.py": "the layout's check",
    "schemalab/connections/reachable.py": "the layout's check",
    "schemalab/settings.py": "the setting",
    "spark_tasks/jobs/audits.py": "`Judge.storages`, which adds what there is",
    "spark_tasks/jobs/phases.py": "for `storage_count`, in tombstones, fills and deletions",
    "spark_tasks/jobs/run_ranges.py": "for `storage_count`",
    "spark_tasks/load/spark_load.py": "for `storage_count`, in `file_pairs` and `loader_node`",
    "spark_tasks/management/commands/audit.py": "`Judge.storages`, which adds what there is",
    "spark_tasks/reorganise/verify.py": "for `storage_count`, and `Judge.storages`",
    "storage/migrations/0001_pairs.py": "what the cluster begins with",
    "storage/postgres.py": "the layout's check",
    "storage/selectors.py": "for `storage_count`, in `storage.browser`",
    "storage/services.py": "for `storage_count`, in pair views",
}
LOOPS_OVER_A_NUMBER = {
    "changes/planning/table_in_transaction.py": "`table.storage_count`",
    "changes/submission/storages.py": "`storages_there`",
    "changes/submission/tables_ahead.py": "`storage_count`",
    "lab/cluster/foreign_keys.py": "`storage_count`",
    "lab/cluster/node_statements.py": "`storage_count`",
    "lab/cluster/requests.py": "what there is",
    "lab/cluster/rolling.py": "what there is",
    "nodes/crud/about.py": "what there is",
    "nodes/entries.py": "`storage_count`",
    "nodes/crud/rows.py": "`Table.storages`, which is `storage_count`",
    "nodes/execution/in_place.py": "`storage_count`, of a lookup",
    "nodes/execution/pages.py": "`storage_count`",
    "nodes/execution/writing/truncate.py": "`storage_count`",
    "nodes/foreign_keys/checks.py": "`storage_count`",
    "nodes/foreign_keys/scan_referencing.py": "`storage_count`",
    "nodes/store/entering.py": "`storage_count`",
    "nodes/sql/conditions/access_paths.py": "`storage_count`",
    "spark_tasks/checks/range_check.py": "`storage_count`, and what there is",
    "spark_tasks/chunks/chunk.py": "`storage_count`, by `backfill`",
    "spark_tasks/chunks/snapshot_reads.py": "`storage_count`, by `run_ranges` and `audit`",
    "spark_tasks/reorganise/repair.py": "`storage_count`",
    "spark_tasks/reorganise/tombstones.py": "`storage_count`",
    "storage/pair_views.py": "`storage_count`",
    "storage/postgres.py": "`storage_count` (`enter`), and what there is",
    "storage/selectors.py": "`storages_there`",
}
LOOP = re.compile(r"range\(1, [^\n]*\+ 1\)")


def sources() -> dict[str, str]:
    files = (file for room in ROOMS for file in (ROOT / room).rglob("*.py"))
    return {str(file.relative_to(ROOT)): file.read_text(encoding="utf-8") for file in files}


def test_every_place_that_names_the_setting_is_known() -> None:
    naming = {name for name, text in sources().items() if "STORAGE_COUNT" in text}
    assert (
        naming - {"catalog/elements.py", "schemalab/environment.py", "storage/buckets.py"} <= NAMES_THE_SETTING.keys()
    )
    assert naming >= NAMES_THE_SETTING.keys(), "a place that is listed names it no longer"


def test_every_loop_over_storages_is_known() -> None:
    found = {
        name
        for name, text in sources().items()
        for line in text.splitlines()
        if LOOP.search(line) and re.search(r"storage|count|every", line) and "bucket" not in line.lower()
    }
    assert found >= LOOPS_OVER_A_NUMBER.keys() - {"spark_tasks/checks/range_check.py"}, "a loop that is listed is gone"
    assert found - LOOPS_OVER_A_NUMBER.keys() == set()


def test_a_placement_without_a_number_has_as_many_storages_as_the_cluster_began_with() -> None:
    two, three = Placement(1), Placement(2, storages=3)
    assert [one.storage_count(2) for one in (two, three)] == [2, 3]
    table = users(7)
    assert table.storage_count(2) == 2
    assert table.next_version(placements=(two, three)).storage_count(2) == 3
