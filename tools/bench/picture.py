"""The page of the cluster beside traffic and a fill: its server time, and what its animation costs a browser."""

import os
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from http.cookiejar import CookieJar

import psycopg
from playwright.sync_api import sync_playwright

from tests.chromium import CHROMIUM
from tests.harness.cluster import ROOT, RunningCluster
from tools.bench.report import Figure, percentile

ROWS, ROWS_AT_ONCE = 300_000, 100_000
RATE, TRAFFIC_S = 60, 240
WATCHED_S = 30.0
SETTLE_S = 5.0
TABLE = "bench_picture"


def measure(cluster: RunningCluster) -> list[Figure]:
    dsn = next(iter(cluster.nodes.values())).dsn
    with psycopg.connect(dsn, autocommit=True) as node:
        node.execute(f"CREATE TABLE {TABLE} (id integer PRIMARY KEY, name text, score integer)")
        for low in range(0, ROWS, ROWS_AT_ONCE):
            rows = f"generate_series({low}, {low + ROWS_AT_ONCE - 1})"
            node.execute(f"INSERT INTO {TABLE} SELECT g, 'name ' || g, g % 1000 FROM {rows} AS g")
    command = [sys.executable, "manage.py", "traffic", "--table", TABLE]
    command += ["--rate", str(RATE), "--seconds", str(TRAFFIC_S), "--json"]
    traffic = subprocess.Popen(command, cwd=ROOT, env=cluster.env, stdout=subprocess.DEVNULL)
    try:
        time.sleep(SETTLE_S)
        return [_server_time(cluster, dsn), _animation(cluster)]
    finally:
        traffic.terminate()
        traffic.wait(20)


def _server_time(cluster: RunningCluster, dsn: str) -> Figure:
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    opener.open(cluster.new_sign_in_link()).read()

    def fill() -> None:
        with psycopg.connect(dsn, autocommit=True) as node:
            node.execute(f"CREATE INDEX {TABLE}_score ON {TABLE} (score)")

    filling = threading.Thread(target=fill)
    filling.start()
    seconds = []
    while filling.is_alive():
        began = time.perf_counter()
        opener.open(f"{cluster.address}/").read()
        seconds.append(time.perf_counter() - began)
        time.sleep(0.5)
    filling.join()
    return Figure(
        "the cluster's page beside traffic and a fill",
        "at most 300 ms",
        f"p50 {1000 * statistics.median(seconds):.0f} ms, p95 {1000 * percentile(seconds, 0.95):.0f} ms, "
        f"worst {1000 * max(seconds):.0f} ms ({len(seconds)} pages)",
        f"One reader asks for it twice a second while an index over {ROWS:,} rows is made, {RATE} statements a second.",
    )


def _animation(cluster: RunningCluster) -> Figure:
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=arguments)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(cluster.new_sign_in_link())
        page.goto(f"{cluster.address}/")
        devtools = page.context.new_cdp_session(page)
        devtools.send("Performance.enable")
        time.sleep(SETTLE_S)
        before = _task_s(devtools.send("Performance.getMetrics"))
        time.sleep(WATCHED_S)
        share = (_task_s(devtools.send("Performance.getMetrics")) - before) / WATCHED_S
        browser.close()
    return Figure(
        "the cluster's picture in a browser, beside traffic",
        "at most 5 % of a core",
        f"{100 * share:.1f} %",
        f"TaskDuration of the DevTools protocol over {WATCHED_S:.0f} s, headless, with motion, {RATE} statements/s.",
    )


def _task_s(metrics: dict[str, list[dict[str, float]]]) -> float:
    return next(one["value"] for one in metrics["metrics"] if str(one["name"]) == "TaskDuration")
