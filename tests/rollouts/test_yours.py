"""*Yours already*, tried on the templates: each once as it is, and once with a fault that every release has alone (a
read and a save, which loses another user's write). No finding of the rollout may become grey by it, and the fault
itself may not be red."""

import re
import tomllib
from typing import Any

import pytest

from rollouts.file import Release, ReleaseDeploy, rollout_from, rollout_of
from rollouts.findings import BROKEN, PROVED, UNKNOWN, Answer, answer_of
from rollouts.templates import BY_NAME, NAIVE, SAFE, text_of
from rollouts.worlds.search import Budget
from tests.rounds import some_of

TWO_TABLES = {"move-column", "change-foreign-key"}
"""Their `change` is more than one statement, or there is none."""
BUDGET = Budget(worlds=800)
"""A read and a save of cents as dollars gives ever more values: no end is reached."""

TRIED = sorted(set(BY_NAME) - TWO_TABLES)


def with_a_read_and_a_save(text: str) -> dict[str, Any]:
    """The file with an operation `touch` in every release: it reads what `show` reads, and saves it by `change`."""
    rollout, body = rollout_of(text), tomllib.loads(text)
    (name,) = rollout.values
    releases = [rollout.before, *(one.release for one in rollout.deploys if isinstance(one, ReleaseDeploy))]
    parts = [body["before"], *(one for one in body.get("deploy", []) if "release" in one)]
    for release, part in zip(releases, parts, strict=True):
        part["does"] = part.get("does", {}) | {"touch": {"sql": touch(release, name), "autocommit": True}}
    return body


def touch(release: Release, name: str) -> list[str]:
    (show,), (change,) = (one.statements for one in (release.operations["show"], release.operations["change"]))
    read = re.sub(rf"SELECT ({name}\b|.+ AS {name}\b).* FROM", r"SELECT \1 FROM", show.text)
    read = re.sub(rf"(?: AS {name})? FROM", " AS seen FROM", read, count=1)
    return [read, re.sub(rf":{name}\b", ":seen", change.text)]


def red(answer: Answer) -> set[tuple[str, str, str, str]]:
    return {(one.kind, one.found.about, one.release, one.operation) for one in answer.counted}


@pytest.mark.parametrize("name", some_of(TRIED, 3))
def test_no_finding_becomes_grey_by_a_fault_of_the_application(name: str) -> None:
    text = text_of(name, NAIVE)
    plain, faulty = (answer_of(rollout_of(text)), answer_of(rollout_from(with_a_read_and_a_save(text))))
    assert faulty.verdict == BROKEN
    assert red(plain) <= red(faulty)


@pytest.mark.parametrize("name", some_of(TRIED, 3))
def test_a_fault_of_the_application_is_not_red(name: str) -> None:
    body = with_a_read_and_a_save(text_of(name, SAFE))
    answer = answer_of(rollout_from(body), budget=BUDGET)
    assert red(answer) == set()
    assert answer.verdict in (PROVED, UNKNOWN)
    assert {one.kind for one in answer.outcome.findings if one.is_yours} >= {"lost"}


def test_a_release_that_is_always_refused_is_not_the_applications_own_fault() -> None:
    """The plan lacks DROP NOT NULL: release 4 is refused under its first schema and under its last."""
    body = tomllib.loads(text_of("rename", SAFE))
    body["deploy"] = [one for one in body["deploy"] if "NOT NULL" not in str(one.get("schema"))][:-1]
    answer = answer_of(rollout_from(body))
    assert answer.verdict == BROKEN
    assert ("refused", "23502", "4 new only", "create") in red(answer)


def test_a_refusal_that_depends_on_the_rows_stays_the_applications_own() -> None:
    """Two users with one name: refused once there is such a row, and not before."""
    text = """
tables = "CREATE TABLE users (id bigint PRIMARY KEY, name text UNIQUE)"
[values]
name = ["Ann", "Bob"]
[before]
release = "1"
does.create = "INSERT INTO users (id, name) VALUES (:id, :name)"
[[deploy]]
release = "2"
like = "1"
"""
    answer = answer_of(rollout_of(text))
    assert answer.verdict == PROVED
    assert {one.kind for one in answer.outcome.findings if one.is_yours} == {"refused"}
