"""Runs every tool and writes docs/benchmarks-peers.md; a tool that cannot be had is named, and left out."""

import argparse
import os
import platform
import shutil
import sys
from pathlib import Path

from tests.peers import installed, mariadb, ours, postgres
from tests.peers.page import PAGE, write_page
from tests.peers.rounds import Result, result_of

ROWS, ROUNDS = 20_000, 3
SYSTEMS = {"ours": ours.tools, "postgres": postgres.tools, "mariadb": mariadb.tools}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.peers", description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS, help=f"rows of the table (default {ROWS:,}: to try it)")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", choices=SYSTEMS, action="append", help="these systems; all by default")
    parser.add_argument("--page", type=Path, default=PAGE, help="where the figures are written")
    asked = parser.parse_args()
    results, versions = [], [f"Python {platform.python_version()}"]
    for name in asked.only or SYSTEMS:
        try:
            if name == "mariadb":
                versions += [
                    installed.version("mariadbd", "--version"),
                    installed.version("pt-online-schema-change", "--version"),
                ]
                installed.client_folder()
            with SYSTEMS[name](asked.rows) as tools:
                for tool in tools:
                    found = result_of(tool, asked.rows, asked.rounds)
                    results.append(found)
                    print(words_of(found), flush=True)
        except installed.Missing as missing:
            print(f"{name} takes no part: {missing}", file=sys.stderr)
    if shutil.which("gh-ost") is None:
        versions.append("gh-ost was not there")
    machine = f"{os.cpu_count()} cores, {platform.system()}"
    print(f"written to {write_page(machine, asked.rows, versions, results, asked.page)}")


def words_of(one: Result) -> str:
    idle = ", ".join(f"{seconds:.2f}" for seconds in one.idle_s)
    beside = ", ".join(f"{each.seconds:.2f} s with {each.worst_ms:.0f} ms at worst" for each in one.beside)
    return f"{one.name}, {one.task}: alone {idle} s; beside the client {beside}"


if __name__ == "__main__":
    main()
