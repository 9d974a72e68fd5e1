"""Verifies a fill in both directions, in one exported snapshot (R1, R10): each row's values, entries, rules and
references; and that as many entries exist as were found, otherwise naming those too many. Missing unique entries that
no row has are repaired, and all is compared again."""

import os

import psycopg
from django.conf import settings

from catalog.database import database_dsn
from catalog.services import control_transaction
from catalog.text.job_nodes import repairer_name
from spark_tasks.checks.foreign_key_checks import newest_versions, references_of
from spark_tasks.checks.range_check import Judge
from spark_tasks.chunks.chunk import RunClosed, RunToken
from spark_tasks.chunks.snapshot_reads import exported, snapshot
from spark_tasks.jobs.claim import Claim, RunFailed, require_open
from spark_tasks.jobs.lifecycle import WasClosed
from spark_tasks.jobs.run_ranges import prepare, ranges_left, ranges_of_run, ranges_over, require_all_done, size_at_once
from spark_tasks.load.loader_node import NotLeasable, PseudoNode
from spark_tasks.models import Kind, ReorgRange, ReorgRun, RunState
from spark_tasks.reorganise.repair import Repair
from spark_tasks.reorganise.tombstones import key_space
from spark_tasks.runs.ranges import KeyRange
from spark_tasks.runs.report import Finding, first_of_each_kind, gather
from spark_tasks.runs.requirements import as_if_public
from spark_tasks.spark.session import spread
from storage.postgres import session_options

REPAIRS_MAX = 20


def verify(claim: Claim) -> None:
    """Compares, repairs (R10), and compares again. Raises `RunFailed`."""
    run_token = RunToken(database_dsn(), claim.run.id, claim.token)
    found = compare(claim, run_token)
    for _ in range(REPAIRS_MAX):
        if not is_repairable(found):
            break
        refused = repair(claim, run_token, found)
        found = refused if refused.violations else compare(claim, run_token)
    if not found.is_clean:
        raise RunFailed(why_failed(found), violations=found.named())


def compare(claim: Claim, run_token: RunToken) -> Finding:
    """Named violations of the run's elements, or none. Raises `WasClosed`, `WasPaused`."""
    descriptor, elements = claim.descriptor(), claim.elements
    demands = as_if_public(descriptor, elements)
    counts = {"storages": settings.STORAGE_COUNT, "buckets": settings.BUCKET_COUNT}
    key_ranges = begin_anew(claim)
    with (
        psycopg.connect(run_token.dsn, autocommit=True, **session_options("schemalab verify")) as connection,
        snapshot(connection),
    ):
        referenced = newest_versions(connection, demands.tables_read)
        judge = Judge(
            run_token.dsn,
            exported(connection),
            descriptor,
            **counts,
            demands=demands,
            references=references_of(descriptor, demands.foreign_keys, referenced, **counts),
            only=elements,
            run_token=run_token,
            rows_per_storage=sum(key_range.rows for key_range in key_ranges)
            // descriptor.placement.storage_count(settings.STORAGE_COUNT),
        )
        found = gather(spread(judge, key_ranges, pool=claim.pool))
        require_all_done(claim, key_ranges)
        for index in judge.indexes:
            judge.entry_judge(index).beside(connection, found)
        for placement in judge.placements:
            judge.placement_judge(placement).beside(connection, found)
    found.violations = first_of_each_kind(found.violations)
    return found


def begin_anew(claim: Claim) -> list[KeyRange]:
    """All ranges, cut once (R1): an earlier pass had another snapshot. Raises `WasClosed`."""
    with control_transaction():
        require_open(claim)
        ReorgRange.objects.filter(run=claim.run).update(is_done=False, rows_done=0)
    descriptor = claim.descriptor()
    size = size_at_once(descriptor, claim.elements)
    prepare(claim.run, lambda: ranges_of_fill(claim) or ranges_over(descriptor, [key_space(descriptor)], size))
    return ranges_left(claim)


def ranges_of_fill(claim: Claim) -> list[KeyRange]:
    """The ranges of the fill: they cover all rows, with exact sizes."""
    same = {"change_id": claim.run.change_id, "version": claim.run.version, "elements": claim.run.elements}
    fill = ReorgRun.objects.filter(kind=Kind.FILL, state=RunState.DONE, **same).first()
    return [] if fill is None else ranges_of_run(fill)


def is_repairable(found: Finding) -> bool:
    """True when nothing is wrong but missing entries, some unique and free."""
    return bool(found.lacking) and all(kind.startswith("C4 ") for kind in found.counts)


def repair(claim: Claim, run_token: RunToken, found: Finding) -> Finding:
    """Puts missing entries as a node, `LACKING_MAX` at a time; returns the refused ones. Raises `WasClosed`."""
    refusals = Finding(is_least=sum(found.counts.values()) > len(found.lacking))
    node = PseudoNode(run_token.dsn, repairer_name(claim.run.id), pid=os.getpid(), lease_s=settings.LEASE_S)
    with node as member:
        put = Repair(member, run_token, claim.descriptor(), settings.STORAGE_COUNT, settings.BUCKET_COUNT)
        try:
            for index, refused in put(found.lacking):
                refusals.note(refused.clause, f"index {index}", 1, [refused])
        except (RunClosed, NotLeasable) as closed:
            raise WasClosed(str(closed)) from closed
    return refusals


# --- the verdict


def why_failed(found: Finding) -> str:
    """The verdict: a summary, and below it the first violations of each kind."""
    kinds: dict[tuple[str, str], list[str]] = {}
    for one in found.violations:
        kinds.setdefault((one["clause"], one["element"]), []).append(one["why"])
    duplicated = {element for clause, element in kinds if clause == "C6"}
    reported = [kind for kind in kinds if kind[0] != "C4" or kind[1] not in duplicated]  # it lacks what another row has
    least = "at least " if found.is_least else ""
    words, rows = [], []
    for kind in reported:
        total, element, whys = found.count_of(*kind), kind[1], kinds[kind]
        if total <= 1 and not least:
            words.append(whys[0])
            continue
        is_rule = element.startswith("constraint ")
        words.append(
            f"{least}{total:,} rows break {element}" if is_rule else f"{least}{total:,} violations of {element}"
        )
        named = f", the first {len(whys)}" if least or len(whys) < total else ""
        rows.append(f"{element}{named}: {', '.join(_offender(why, f' breaks {element}') for why in whys)}")
    unnamed = sorted(found.counts.keys() - {f"{clause} {element}" for clause, element in kinds})
    words += [f"{found.counts[kind]} violations of {kind} were counted, and none was found by name" for kind in unnamed]
    return "\n".join(["; ".join(words), *rows])


def _offender(why: str, breaks: str) -> str:
    row, found, rest = why.partition(breaks)
    return row if found and (not rest or rest.startswith(": ")) else why
