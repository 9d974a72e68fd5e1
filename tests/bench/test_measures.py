"""What the benchmarks say of clients: nobody is left out, and only what ran in the time named is counted."""

from bench.writers import Seen, Statement


def test_of_statements_beside_a_fill_only_theirs_count() -> None:
    before, during, refused, after = (
        Statement(at=0.0, took_s=1.0, again=3),
        Statement(at=10.0, took_s=0.5, again=2),
        Statement(at=12.0, took_s=0.5, again=-1),
        Statement(at=30.0, took_s=1.0, again=-1),
    )
    seen = Seen([before, during, refused, after], seconds=31.0)
    assert (seen.retries, seen.errors) == (5, 2)
    beside = seen.within([(9.0, 13.0)])
    assert (beside.statements, beside.retries, beside.errors, beside.seconds) == ([during, refused], 2, 1, 4.0)
