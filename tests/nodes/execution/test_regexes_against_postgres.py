"""Regular expressions drawn at random match the same places of texts in PostgreSQL.

What groups take is not compared here: where one stands within another PostgreSQL has rules of its own.
"""

import random

import psycopg

from expressions.errors import SqlError
from expressions.regexes import functions
from tests.nodes.conftest import Cluster

PATTERNS = 400
_SETS = ("[ab]", "[^a]", "[a-c]", r"\w", r"\d", r"\s", "[[:alpha:]_]", r"\W")
_PLACES = ("^", "$", r"\y", r"\A", r"\Z")
_COUNTS = ("*", "+", "?", "{2}", "{1,2}", "{1,1}", "{1,}", "{0}")
THEIRS = (
    "SELECT regexp_instr(t, p), regexp_instr(t, p, 1, 1, 1), regexp_instr(t, p, 2, 2), regexp_count(t, p),"
    r" regexp_replace(t, p, '<\&>', 'g'), regexp_split_to_array(t, p), regexp_substr(t, p), t ~ p, t ~* p"
    " FROM (SELECT %s::text AS t, %s::text AS p) AS x"
)


class Patterns:
    def __init__(self, chance: random.Random, *, lazy: bool) -> None:
        self._chance, self._lazy = chance, lazy

    def draw(self, depth: int = 0) -> str:
        return "|".join(self._branch(depth) for _ in range(self._chance.choice((1, 1, 1, 2, 3))))

    def _branch(self, depth: int) -> str:
        return "".join(self._quantified(depth) for _ in range(self._chance.choice((0, 1, 2, 2, 3, 3))))

    def _quantified(self, depth: int) -> str:
        atom = self._atom(depth)
        if atom in _PLACES or self._chance.random() < 0.5:
            return atom
        lazy = "?" if self._lazy and self._chance.random() < 0.4 else ""
        return atom + self._chance.choice(_COUNTS) + lazy

    def _atom(self, depth: int) -> str:
        kind = self._chance.randrange(12)
        if kind < 6 or (kind > 8 and depth > 2):
            return self._chance.choice("aabbc.")
        if kind < 8:
            return self._chance.choice(_SETS)
        if kind == 8:
            return self._chance.choice(_PLACES)
        return f"{self._chance.choice(('(', '(?:'))}{self.draw(depth + 1)})"


PLAIN = ("a", "b", "é", ".", "[ab]", "[^a]", r"\w", r"\s", r"\d", "[[:alpha:]]", "-", "^", "$", r"\y")


def plain(chance: random.Random) -> str:
    """Single characters in a row, of which one may be repeated: what the query engine replaces by itself."""
    atoms = [chance.choice(PLAIN) for _ in range(chance.choice((1, 1, 2, 3)))]
    places = [place for place, atom in enumerate(atoms) if atom not in ("^", "$", r"\y")]
    if places and chance.random() < 0.7:
        place = chance.choice(places)
        atoms[place] += chance.choice(("+", "*", "?", "{2}", "{1,2}", "{2,}"))
    return "".join(atoms)


def answer(text: str, pattern: str) -> tuple[object, ...] | str:
    try:
        return (
            functions.instr(text, pattern),
            functions.instr(text, pattern, 1, 1, 1),
            functions.instr(text, pattern, 2, 2),
            functions.count(text, pattern),
            functions.replaced(text, pattern, r"<\&>", "g"),
            functions.split(text, pattern),
            functions.substr(text, pattern),
            functions.is_like(text, pattern),
            functions.is_like(text, pattern, "i"),
        )
    except SqlError as error:
        return error.sqlstate


def test_patterns_match_the_same_places(cluster: Cluster) -> None:
    chance = random.Random(11)
    differences = []
    with cluster.store() as store:
        for number in range(PATTERNS):
            pattern = Patterns(chance, lazy=number % 2 == 0).draw()
            text = "".join(chance.choice("aaabbbcAé 1\n_") for _ in range(chance.randrange(10)))
            theirs: tuple[object, ...] | str
            try:
                found = store.execute(THEIRS, (text, pattern)).fetchone()
                assert found is not None
                theirs = found
            except psycopg.Error as error:
                theirs = str(error.sqlstate)
            if (ours := answer(text, pattern)) != theirs:
                differences.append(f"{pattern!r} in {text!r}: PostgreSQL {theirs}, node {ours}")
    assert not differences, "\n".join(differences)


def test_replacements_in_the_query_engine_are_postgresqls(cluster: Cluster) -> None:
    """Whole calls through a node, most of which call no function of ours."""
    chance = random.Random(12)
    texts = ["".join(chance.choice("aaabbbcAé 1\n_-") for _ in range(chance.randrange(12))) for _ in range(40)]
    table = ", ".join(f"('{text}')" for text in texts)
    with cluster.connect() as node, cluster.store() as store:
        for _ in range(150):
            pattern, new = plain(chance), chance.choice(("", "", "-", "x", "é", "--"))
            letters = chance.choice(("", "g", "g", "gi", "n", "gs", "gn"))
            sql = (
                f"SELECT regexp_replace(t, '{pattern}', '{new}', '{letters}'), regexp_like(t, '{pattern}',"
                f" '{letters.replace('g', '')}') FROM (VALUES {table}) AS x (t)"
            )
            assert node.execute(sql).fetchall() == store.execute(sql).fetchall(), sql
