"""Lookups of known keys on one storage, and the checks that their pairs violate. They ride in the pipeline batch of the
writes: read and looked at here, or, where COMMIT goes along, as one command that fails the batch unless all is as it
must be (`nodes.execution.writing.writer`)."""

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from expressions.errors import SqlError
from nodes.foreign_keys.violations import Check
from nodes.store.pipeline import Command, Param, int8


@dataclass(frozen=True, slots=True)
class Probe:
    """One lookup on one storage. Its answer lists keys; `checks` says which check each of them is about."""

    sql: str
    params: tuple[Param, ...]
    checks: Mapping[bytes, Check]
    wants_all: bool

    @property
    def command(self) -> Command:
        return Command(self.sql, self.params)

    def violated(self, result: object) -> list[Check]:
        found = {result.get_value(row, 0) for row in range(result.ntuples)}  # type: ignore[attr-defined]
        return [check for key, check in self.checks.items() if (key in found) != self.wants_all]


def violated_by(probes: Sequence[Probe], results: Iterable[object]) -> list[Check]:
    return [check for probe, result in zip(probes, results, strict=True) for check in probe.violated(result)]


def checked_command(probes: Sequence[Probe]) -> Command:
    """All lookups at once, failing (22012) unless all is as it must be; its answer is the transaction's id."""
    params: list[Param] = []
    for probe in probes:
        params += [*probe.params, int8(len(probe.checks) if probe.wants_all else 0)]
    return Command(_checked_sql(tuple(probe.sql for probe in probes)), tuple(params))


@functools.lru_cache(maxsize=500)
def _checked_sql(texts: tuple[str, ...]) -> str:
    checked = [f"1 / ((SELECT count(*) FROM ({sql}) AS found) = %b::bigint)::int" for sql in texts]
    done = f"SELECT {' + '.join(checked)} AS done"
    return f"SELECT pg_current_xact_id_if_assigned()::text FROM ({done}) AS d WHERE done >= 0"


def first_refusal(violated: Iterable[Check]) -> SqlError:
    return min(violated, key=lambda check: check.order).refusal()
