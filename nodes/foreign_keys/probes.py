"""A question to one storage about keys that are known: whether pairs are there, and which claims that breaks.

Such questions ride in the flight of the writes: read and looked at here, or, where COMMIT goes along, as one command
that fails the flight unless all is as it must be (`nodes.execution.writer`).
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from expressions.errors import SqlError
from nodes.foreign_keys.violations import Claim
from nodes.store.pipeline import Command, Param, int8
from nodes.store.transaction import positional


@dataclass(frozen=True, slots=True)
class Probe:
    """One question to one storage. Its answer lists keys; `claims` says which claim each of them is about."""

    sql: str
    params: tuple[Param, ...]
    claims: Mapping[bytes, Claim]
    wants_all: bool

    @property
    def command(self) -> Command:
        return Command(positional(self.sql), self.params)

    def broken(self, result: object) -> list[Claim]:
        """The claims that the answer breaks."""
        found = {result.get_value(row, 0) for row in range(result.ntuples)}  # type: ignore[attr-defined]
        return [claim for key, claim in self.claims.items() if (key in found) != self.wants_all]


def broken_by(probes: Sequence[Probe], results: Iterable[object]) -> list[Claim]:
    """The claims that these answers break."""
    return [claim for probe, result in zip(probes, results, strict=True) for claim in probe.broken(result)]


def checking_command(probes: Sequence[Probe]) -> Command:
    """All questions at once, failing (22012) unless all is as it must be; its answer is the transaction's id."""
    params: list[Param] = []
    for probe in probes:
        params += [*probe.params, int8(len(probe.claims) if probe.wants_all else 0)]
    return Command(_checked_sql(tuple(probe.sql for probe in probes)), tuple(params))


@functools.lru_cache(maxsize=500)
def _checked_sql(texts: tuple[str, ...]) -> str:
    checked = [f"1 / ((SELECT count(*) FROM ({sql}) AS found) = %b::bigint)::int" for sql in texts]
    done = f"SELECT {' + '.join(checked)} AS done"
    return positional(f"SELECT pg_current_xact_id_if_assigned()::text FROM ({done}) AS d WHERE done >= 0")


def first_refusal(broken: Iterable[Claim]) -> SqlError:
    """The refusal that is told when several claims are broken: by the first row that breaks one."""
    return min(broken, key=lambda claim: claim.order).refusal()
