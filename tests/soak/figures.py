"""Prints the end of a storm: figures as text or JSON, and where its logs are when something was found."""

import dataclasses
import json
import statistics
from collections import Counter
from collections.abc import Mapping

from tests.soak.storm import Figures

LINES_MAX = 24


def as_json(figures: Figures, logs: str) -> str:
    """Everything, counters as objects; recovery times as number, median and worst."""
    body = {one.name: getattr(figures, one.name) for one in dataclasses.fields(figures)}
    verdict = figures.verdict
    body["verdict"] = {one.name: getattr(verdict, one.name) for one in dataclasses.fields(verdict)}
    body["cells"] = len(figures.cells)
    body["recovery_s"] = {what: summary(seconds) for what, seconds in sorted(figures.recovery_s.items())}
    body["is_clean"] = figures.violation_count == 0
    body["logs"] = logs
    return json.dumps(body, indent=2, default=str)


def summary(seconds: list[float]) -> dict[str, float]:
    return {"count": len(seconds), "median": round(statistics.median(seconds), 2), "worst": round(max(seconds), 2)}


def as_text(figures: Figures, logs: str) -> str:
    """For people: what was done, what was struck, what was found."""
    worst = max((max(seconds) for seconds in figures.recovery_s.values()), default=0.0)
    lines = [
        f"seed {figures.seed}, {figures.seconds:.0f} s",
        *section("operations by kind and outcome", figures.operations),
        *section("errors that clients saw", figures.sqlstates),
        f"{figures.retries} retries, {figures.reconnects} connections;"
        f" {figures.doubts} outcomes unknown, {figures.doubts_that_took_effect} of them took effect",
        *section("changes by kind and outcome", figures.verdict.changes),
        *section("requests of operator and storages", figures.requests),
        *section("strikes", figures.strikes),
        f"{figures.store_crashes} crashes of PostgreSQL; {sum(figures.cells.values())} strikes at a step,"
        f" {len(figures.cells)} different cells (change x step x strike)",
        f"recovery (every node serves again): worst {worst:.1f} s",
        *(
            f"    {what}: {one['count']} times, median {one['median']} s, worst {one['worst']} s"
            for what, one in sorted((what, summary(seconds)) for what, seconds in figures.recovery_s.items())
        ),
        f"longest wait for an answer {figures.longest_wait_s:.1f} s ({figures.longest_wait[:120]})",
        f"{figures.samples} samples of live leases, {figures.samples_of_two_versions} of them with two versions",
        f"in the end {figures.verdict.rows} rows, {figures.verdict.entries} entries, {figures.verdict.pairs} pairs"
        f" judged, {figures.verdict.audits} audits; healed in {figures.healed_s:.1f} s",
    ]
    if figures.violation_count:
        lines += [f"{figures.violation_count} VIOLATIONS", *figures.violations]
        lines.append(f"logs, seed and findings are in {logs}")
    else:
        lines.append("clean: nothing was lost, nothing hangs, nothing is left over")
    return "\n".join(lines)


def section(title: str, counts: Mapping[str, int]) -> list[str]:
    """A title and its largest counts."""
    if not counts:
        return [f"{title}: none"]
    listed = Counter(counts).most_common()
    shown = [f"    {count:6}  {what}" for what, count in sorted(listed[:LINES_MAX])]
    more = len(listed) - len(shown)
    return [f"{title}:", *shown, *([f"    .. and {more} more"] if more > 0 else [])]
