"""docs/benchmarks-peers.md: the table, the method, and what cannot be compared."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.peers.rounds import ALONE_S, PACED_PER_S, Result
from tests.peers.tools import INDEX, TYPE

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks-peers.md"
NOT_YET = "No figures yet: they are for a quiet machine, and `make bench-peers` writes them here."

HEAD = """# Beside the tools that people use

Written by `make bench-peers` (`python -m tests.peers --rows N --rounds N`). The same rows and the same changes on the
same machine, one system at a time: Schema Lab, PostgreSQL by itself, MariaDB with pt-online-schema-change, and gh-ost
where it is on `PATH`.
"""

METHOD = f"""
## How

Each round makes the change once while nobody else uses the table, undoes it, makes it again beside one client that
updates the indexed column of a row by its key, {PACED_PER_S:.0f} times a second at most, and undoes it. The client
runs {ALONE_S:.0f} s alone first: its worst statement, and its 99th percentile, then and meanwhile. It tries again
after a deadlock or a serialization failure, and the time counts. Six columns, ids from 0, names in no order; every
server commits durably and has its table in memory. MariaDB and Percona Toolkit are Debian's, unpacked into `.peers`;
nothing is installed on the machine. PostgreSQL is the embedded one, with the settings that Schema Lab gives it.
gh-ost is in no registry that these commands use (looked for by its name in Debian's packages, PyPI and npm): its
project publishes binaries and Go source, so it runs here only where somebody has put it on `PATH`.

## What is not comparable

- **What a row is.** Schema Lab keeps a row as one pair for each column, in serializable transactions over several
  storages; the others keep rows as rows, on one server, at their own default isolation. So an index of ours reads and
  writes more, and a statement of the client costs more to begin with.
- **What is made sure of.** Schema Lab compares every entry and value with its row before the change counts, and waits
  until every node works by the new version. pt-online-schema-change and gh-ost compare nothing but counts; `CREATE
  INDEX CONCURRENTLY` and `ALTER TABLE` build inside the server what needs no comparison. A ranged `UPDATE` is as
  right as who wrote it.
- **What the change copies.** An index by pt-online-schema-change or gh-ost copies the whole table; the others read
  it.
- **What can be undone.** A change of Schema Lab can be rolled back up to its point of no return; the others' undo is
  another change.
- **Who gives way.** pt-online-schema-change works in chunks of half a second, and pauses by the server's load; Schema
  Lab keeps what the client feels within a target (20 ms slower, 0.85 of the statements), and takes longer for it.
- **One server.** None of the others is distributed here: no nodes, no leases, no versions that must drain.
"""


def write_page(machine: str, rows: int, versions: Sequence[str], results: Iterable[Result], page: Path = PAGE) -> Path:
    listed = list(results)
    parts = [HEAD]
    if listed:
        parts.append(f"Machine: {machine}. {rows:,} rows. {'; '.join(versions)}.\n")
        parts += [f"## {task[0].upper()}{task[1:]}\n\n{table(listed, task)}\n" for task in (INDEX, TYPE)]
    else:
        parts.append(NOT_YET + "\n")
    page.write_text("\n".join(parts) + METHOD)
    return page


def table(results: Iterable[Result], task: str) -> str:
    """A line for each tool that can do it; several rounds are all shown."""
    head = (
        "tool",
        "alone",
        "beside the client",
        "its worst statement",
        "its 99th percentile",
        "its statements/s",
        "checks",
    )
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for one in results:
        if one.task != task:
            continue
        beside = one.beside
        cells = (
            f"{one.name}: {one.how}",
            ", ".join(f"{seconds:.1f}" for seconds in one.idle_s) + " s",
            ", ".join(f"{each.seconds:.1f}" for each in beside) + " s",
            ", ".join(f"{each.worst_ms:.0f} against {each.alone_worst_ms:.0f}" for each in beside) + " ms",
            ", ".join(f"{each.p99_ms:.0f} against {each.alone_p99_ms:.0f}" for each in beside) + " ms",
            ", ".join(f"{each.per_s:.0f} of {each.alone_per_s:.0f}" for each in beside) + errors_of(one),
            one.checks,
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def errors_of(one: Result) -> str:
    """Statements of the client that failed for good."""
    count = sum(each.errors for each in one.beside)
    return f"; {count} errors" if count else ""
