"""The terminal of `up` is calm: nothing that is intended looks like an error, and trouble is shown whole."""

import pytest

from schemalab.supervisor.shown import LineFilter

AT = "2026-11-23 17:04:11.125 UTC [23226]"
OUR_TIME = "2026-11-23 17:04:15,872"


def shown(kind: str, *lines: str) -> list[str]:
    screen = LineFilter(kind)
    return [line for line in lines if screen.hear(line)]


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        pytest.param("postgres", f"{AT} 22012 ERROR:  division by zero", id="an abort that a node asked for"),
        pytest.param("postgres", f'{AT} 23505 ERROR:  duplicate key value violates "kv_1_pkey"', id="a key exists"),
        pytest.param("postgres", f"{AT} 40001 ERROR:  could not serialize access", id="a conflict"),
        pytest.param("postgres", f"{AT} 57P03 FATAL:  the database system is starting up", id="it starts"),
        pytest.param("postgres", f"{AT} 57P01 FATAL:  terminating connection", id="a lease was revoked"),
        pytest.param("postgres", f"{AT} 00000 LOG:  starting PostgreSQL 18.4", id="it says that it starts"),
        pytest.param("redis", "23241:C 23 Nov 2026 17:04:11.443 # oO0OoO0OoO0Oo Redis is starting", id="redis"),
        pytest.param("redis", "23241:M 23 Nov 2026 17:04:11 # WARNING Memory overcommit must", id="no save is made"),
        pytest.param("web", f"{OUR_TIME} INFO uvicorn.error: Started server process [23258]", id="the page"),
        pytest.param("web", f"{OUR_TIME} WARNING django.request: Not Found: /nothing/", id="a page that is not"),
        pytest.param("n1", f"{OUR_TIME} INFO nodes.server: node n1 serves port 7101", id="a node"),
        pytest.param("node", "node n1 incarnation 1 on 127.0.0.1:7101", id="a node's first line"),
        pytest.param("worker", "worker: Warm shutdown (MainProcess)", id="a worker's end"),
        pytest.param("worker", "", id="an empty line"),
        pytest.param("spark", "26/11/23 17:04:19 WARN Utils: Your hostname, vm, resolves to", id="Spark's start"),
        pytest.param("spark", "WARNING: Using incubator modules: jdk.incubator.vector", id="the JVM's start"),
        pytest.param("migrate", "  Applying auth.0001_initial... OK", id="a migration"),
        pytest.param("migrate", "  No migrations to apply.", id="no migration"),
    ],
)
def test_what_is_intended_is_only_in_the_log(kind: str, line: str) -> None:
    assert shown(kind, line) == []


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        pytest.param("postgres", f"{AT} 53100 ERROR:  could not extend file: No space left on device", id="disk full"),
        pytest.param("postgres", f"{AT} 53300 FATAL:  sorry, too many clients already", id="no connection left"),
        pytest.param("postgres", f"{AT} XX001 ERROR:  invalid page in block 1", id="a damaged page"),
        pytest.param("postgres", f"{AT} 00000 PANIC:  could not write to file", id="a panic"),
        pytest.param("postgres", f"{AT} 00000 LOG:  server process (PID 7) was terminated by signal 9", id="a crash"),
        pytest.param("postgres", "postgres: could not access the server configuration file", id="no such form"),
        pytest.param("redis", "23241:M 23 Nov 2026 17:04:11 # Out Of Memory allocating 8 bytes", id="redis"),
        pytest.param("web", f"{OUR_TIME} ERROR django.request: Internal Server Error: /changes/", id="a fault of ours"),
        pytest.param("worker", f"{OUR_TIME} WARNING changes.tasks: change 5 waits for its schema", id="a warning"),
        pytest.param("node", "node n1 waits for the store: connection refused", id="a node that waits"),
        pytest.param("spark", "26/11/23 17:04:19 ERROR Executor: Exception in task 0.0", id="Spark"),
        pytest.param("migrate", "  Applying auth.0001...Traceback (most recent call last):", id="a migration"),
        pytest.param("demo", "flights: 336776 rows", id="the demo"),
    ],
)
def test_trouble_is_shown(kind: str, line: str) -> None:
    assert shown(kind, line) == [line]


def test_what_belongs_to_a_line_goes_with_it() -> None:
    answer = [f"{AT} 23505 {what}" for what in ("ERROR:  duplicate", "DETAIL:  Key (id)=(1)", "STATEMENT:  INSERT")]
    answer += ["\tSELECT 1", ".. and 7 more such lines"]
    trouble = (f"{AT} 53100 ERROR:  No space left", f"{AT} 53100 STATEMENT:  INSERT INTO a", "\tVALUES (1)")
    assert shown("postgres", *answer, *trouble, answer[0], answer[3]) == list(trouble)


def test_a_traceback_is_shown_whole() -> None:
    lines = ("Traceback (most recent call last):", '  File "a.py", line 1, in <module>', "    f()", "ValueError: x")
    assert shown("worker", f"{OUR_TIME} INFO celery.apps.worker: ready.", *lines) == list(lines)
