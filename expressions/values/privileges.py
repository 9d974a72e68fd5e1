"""Answers to clients that ask what a session may do: `has_table_privilege(name, 'INSERT')`.

Everybody who is signed in may read everything; to write, rows or schemas, is one right, which a session has or has not.
So an answer depends on the words and on the session, never on the object, which has but to be there. Of other people
the answer is NULL.
"""

from collections.abc import Iterator

from expressions.sqltypes import BOOL, INT4, INT8, REGCLASS, REGNAMESPACE, TEXT, Type
from expressions.values.object_names import OBJECTS, Line, oid_of

MAY_WRITE = "may_write"
"""The value of a session that says whether it may."""
WORDS = {
    "table": "SELECT INSERT UPDATE DELETE TRUNCATE REFERENCES TRIGGER MAINTAIN", "sequence": "USAGE SELECT UPDATE",
    "any_column": "SELECT INSERT UPDATE REFERENCES", "column": "SELECT INSERT UPDATE REFERENCES",
    "schema": "CREATE USAGE", "function": "EXECUTE", "type": "USAGE", "language": "USAGE", "tablespace": "CREATE",
}  # fmt: skip
"""The privileges that there are on each kind of object, and that functions ask for."""
READING = ("SELECT", "USAGE", "EXECUTE")
_NAMED = {"table": REGCLASS, "sequence": REGCLASS, "any_column": REGCLASS, "column": REGCLASS, "schema": REGNAMESPACE}
_GRANTED = " WITH GRANT OPTION"
NAMES = frozenset(f"has_{kind}_privilege" for kind in WORDS)


def functions() -> Iterator[Line]:
    """Behind what a statement gives, each takes who asks and whether they may write."""
    names = frozenset({OBJECTS})
    for kind, words in WORDS.items():
        function, of = f"has_{kind}_privilege", _NAMED.get(kind)
        columns: list[tuple[Type, ...]] = [(TEXT,), (INT4,)] if kind == "column" else [()]
        for column in columns:
            ways = [(INT8, "{0}", frozenset[str]())]
            if of is not None:
                ways += [(TEXT, oid_of("{0}", of), names)]
            for given, found, reads in ways:
                count = 1 + len(column)
                answer = _answer(found, [f"{{{place}}}" for place in range(1, count + 1)], words, f"{{{count + 2}}}")
                yield function, (given, *column, TEXT, TEXT, BOOL), BOOL, answer, reads
                shifted = found.replace("{0}", "{1}")
                of_somebody = _answer(
                    shifted, [f"{{{place}}}" for place in range(2, count + 2)], words, f"{{{count + 3}}}"
                )
                theirs = f"CASE WHEN {{0}} = {{{count + 2}}} THEN {of_somebody} END"
                yield function, (TEXT, given, *column, TEXT, TEXT, BOOL), BOOL, theirs, reads


def _answer(found: str, others: list[str], words: str, may_write: str) -> str:
    """The engine's text: `others` are what else is given, the privileges last of all."""
    asked = f"list_transform(string_split(upper({others[-1]}), ','), lambda w: trim(w))"
    plain = f"list_transform({asked}, lambda w: replace(w, '{_GRANTED}', ''))"
    known = ", ".join(f"'{word}'" for word in words.split())
    read = ", ".join(f"'{word}'" for word in READING)
    nulls = " OR ".join(f"{one} IS NULL" for one in (found, *others))
    unknown = f"list_filter({plain}, lambda w: NOT list_contains([{known}], w))"
    message = f"concat('SQLSTATE 22023 unrecognized privilege type: \"', {unknown}[1], '\"')"
    granted = f"list_filter({asked}, lambda w: NOT ends_with(w, '{_GRANTED}'))"
    return (
        f"CASE WHEN {nulls} THEN NULL WHEN len({unknown}) > 0 THEN CAST(error({message}) AS BOOLEAN)"
        f" WHEN len(list_filter({granted}, lambda w: list_contains([{read}], w))) > 0 THEN true"
        f" ELSE {may_write} AND len({granted}) > 0 END"
    )
