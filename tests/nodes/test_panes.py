"""The console's panes: whose they are, and when they are given up. Their node is PostgreSQL itself here."""

import threading
import time

import psycopg

from nodes.panes import Answer, Pane


def test_a_statement_that_runs_holds_nobody_up_and_can_be_stopped(dsn: str) -> None:
    pane = Pane("n1", lambda: psycopg.connect(dsn, autocommit=True))
    answers: list[Answer] = []
    running = threading.Thread(target=lambda: answers.append(pane.run("SELECT 1; SELECT pg_sleep(5)")))
    running.start()
    began = time.monotonic()
    time.sleep(0.3)
    assert time.monotonic() - began < 2, "this thread was held up"
    pane.stop()
    running.join(3)
    assert [grid.rows for grid in answers[0].grids] == [[["1"]]]
    assert answers[0].error is not None
    assert answers[0].error.sqlstate == "57014"
    pane.close()
