"""Changes of a plan: IS DISTINCT FROM in a backfill, DROP NOT NULL before a release, a deploy at another place."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from catalog.text.message import Text
from rollouts.findings import Answer

Body = Mapping[str, Any]


def changes_of(body: Body, answer: Answer) -> Iterator[tuple[Text, Body]]:
    deploys = list(body.get("deploy", []))
    for place, deploy in enumerate(deploys):
        for text, other in distinct_of(deploy):
            values: dict[str, Any] = {"number": place + 1, "what": text}
            yield (
                Text("let backfill {number} say {what}", values),
                _with(body, [*deploys[:place], other, *deploys[place + 1 :]]),
            )
    for place, table, column in _required(answer):
        if place <= len(deploys):
            text = f"ALTER TABLE {table} ALTER COLUMN {column} DROP NOT NULL"
            values = {"what": text, "number": place + 1}
            added = [*deploys[:place], {"schema": text}, *deploys[place:]]
            yield Text("deploy {what} before deploy {number}", values), _with(body, added)
    for place, deploy in enumerate(deploys):
        rest = [*deploys[:place], *deploys[place + 1 :]]
        for to in range(len(rest) + 1):
            if to != place and "release" not in deploy:
                values = {"number": place + 1, "place": to + 1}
                yield (
                    Text("move deploy {number} to place {place}", values),
                    _with(body, [*rest[:to], deploy, *rest[to:]]),
                )


def _with(body: Body, deploys: list[Any]) -> Body:
    return {**body, "deploy": deploys, "rollback_until": 0}


def distinct_of(deploy: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """A backfill whose `c IS NULL` says `c IS DISTINCT FROM` the new value."""
    texts = deploy.get("backfill")
    if not isinstance(texts, str):
        return
    found = re.fullmatch(r"(UPDATE\s+\w+\s+SET\s+)(.*?)(\s+WHERE\s+.*)", texts, re.IGNORECASE | re.DOTALL)
    if found is None:
        return
    sets = _assignments(found[2])
    wanted = " OR ".join(f"{column} IS DISTINCT FROM {value}" for column, value in sets)
    nulls = [rf"\b{column}\s+IS\s+NULL\b" for column, _ in sets]
    where, count = re.subn("|".join(nulls), f"({wanted})" if len(sets) > 1 else wanted, found[3], flags=re.IGNORECASE)
    if count == 1:
        yield wanted, {**deploy, "backfill": f"{found[1]}{found[2]}{where}"}


def _assignments(text: str) -> list[tuple[str, str]]:
    """`a = x, b = f(y, z)` as pairs; commas inside brackets and quotes belong to the value."""
    parts, depth, quoted, start = [], 0, False, 0
    for place, sign in enumerate(text):
        quoted ^= sign == "'"
        depth += (sign == "(") - (sign == ")") if not quoted else 0
        if sign == "," and not depth and not quoted:
            parts.append(text[start:place])
            start = place + 1
    pairs = (one.split("=", 1) for one in [*parts, text[start:]] if "=" in one)
    return [(name.strip(), value.strip()) for name, value in pairs]


def _required(answer: Answer) -> Iterator[tuple[int, str, str]]:
    for finding in answer.counted:
        if finding.kind == "refused" and finding.found.about == "23502" and finding.release:
            found = re.search(r'column "(.+?)" of relation "(.+?)"', str(dict(finding.found.values).get("message", "")))
            if found:
                names = [one.name for one in answer.model.releases]
                first = answer.model.stages[answer.model.first_stage[names.index(finding.release)]].done
                yield first, found[2], found[1]
