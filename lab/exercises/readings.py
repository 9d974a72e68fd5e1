"""Texts that chapters point to by id, in the reader's language if there is one, with their addresses."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reading:
    title: str
    url: str = ""


F1_PAPER = Reading(
    "Rae and others 2013, Online, Asynchronous Schema Change in F1",
    "https://research.google/pubs/online-asynchronous-schema-change-in-f1/",
)
F1_IN_CHINESE = "https://github.com/ngaut/builddatabase/blob/master/f1/schema-change.md"
COCKROACH = "https://github.com/cockroachdb/cockroach/blob/master/docs/RFCS/20151009_table_descriptor_lease.md"
CRUD = "https://github.com/tarantool/crud/blob/master/doc/dev/schema.md"


def _of_f1(section: str) -> Mapping[str, Reading]:
    """In Chinese a section of the walk-through, else the paper itself."""
    return {
        "en": F1_PAPER,
        "zh": Reading(f"F1 异步 schema 变更：{section}", f"{F1_IN_CHINESE}#{section.replace(' ', '-')}"),
    }


def _in_all(title: str, url: str) -> Mapping[str, Reading]:
    return {"en": Reading(title, url)}


READINGS: Mapping[str, Mapping[str, Reading]] = {
    "f1-why-hard": _of_f1("为什么在分布式系统中异步变更 schema 比较困难"),
    "f1-idea": _of_f1("算法思想"),
    "f1-known": _of_f1("在未知中构建已知"),
    "f1-consistent": _of_f1("在矛盾中构建一致"),
    "f1-states": _of_f1("中间状态"),
    "f1-example": _of_f1("示例推演"),
    "f1-proof": _of_f1("证明过程简介"),
    "f1-fencing": {"en": F1_PAPER},
    "leases-cockroach": _in_all("CockroachDB RFC: Table descriptor lease", COCKROACH),
    "leases-gray-cheriton": _in_all(
        "Gray and Cheriton 1989, Leases: an efficient fault-tolerant mechanism for distributed file cache consistency",
        "https://doi.org/10.1145/74850.74870",
    ),
    "locks-kleppmann": _in_all(
        "Kleppmann 2016, How to do distributed locking",
        "https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html",
    ),
    "crud-retried": _in_all(
        "tarantool/crud: When schema is reloaded and operation is retried",
        f"{CRUD}#when-schema-is-reloaded-and-operation-is-retried",
    ),
    "crud-sharding": _in_all("tarantool/crud: Sharding schema", f"{CRUD}#sharding-schema"),
}


def reading_for(name: str, language: str) -> Reading:
    found = READINGS.get(name)
    if found is None:
        return Reading(name)
    return found.get(language.partition("-")[0], found["en"])
