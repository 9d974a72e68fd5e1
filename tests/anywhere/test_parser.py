"""PostgreSQL's parser as WebAssembly and the texts of expressions say what the C extension says."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import postgast
import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from changes.ddl.errors import DdlError
from changes.ddl.source import Source
from lab.pages.own import EXAMPLES
from schemalab.anywhere import pack, parser, texts
from tests.rounds import drawn

SERVE = """
const file = process.argv[1], fs = require("fs");
require(file)({ wasmBinary: fs.readFileSync(file.replace(/js$/, "wasm")) }).then((parser) => {
  const lines = require("readline").createInterface({ input: process.stdin });
  lines.on("line", (line) => {
    const [name, ...given] = JSON.parse(line);
    console.log(JSON.stringify(parser[name](...given) ?? null));
  });
});
"""


class Remote:
    """The parser's module under Node: a call is a line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def __getattr__(self, name: str) -> Any:
        def call(*given: Any) -> Any:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(json.dumps([name, *given]) + "\n")
            return json.loads(self._process.stdout.readline())

        return call


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Remote]:
    if shutil.which("npm") is None:
        pytest.skip("npm is missing: make anywhere fetches the parser by it")
    folder: Path = tmp_path_factory.mktemp("parser")
    pack.fetch(next(one for one in pack.LOCK["packages"] if one["name"] == "libpg-query"), folder)
    command = ["node", "-e", SERVE, str(folder / "libpg-query.js")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        yield Remote(process)
        process.terminate()


TEXTS = [
    *EXAMPLES,
    "ALTER TABLE t ALTER COLUMN a TYPE bigint USING a::bigint, DROP COLUMN b, ADD UNIQUE (a, c)",
    "CREATE UNIQUE INDEX CONCURRENTLY i ON t (lower(a) DESC NULLS LAST) INCLUDE (b) WHERE c > 1.5 AND d IS NOT NULL",
    "CREATE TABLE t (a numeric(10, 2) GENERATED ALWAYS AS (b * 2) STORED, b int REFERENCES u ON DELETE SET NULL)",
    "CREATE TYPE mood AS ENUM ('sad', 'it''s'); DROP TABLE IF EXISTS a, b CASCADE; ALTER TABLE a RENAME TO b",
    "SELECT * FROM a JOIN b USING (c) WHERE x = ANY($1) GROUP BY GROUPING SETS ((a), ()) LIMIT 3 FOR UPDATE",
    "INSERT INTO größe (ключ) VALUES (E'a\\n\\\\', $$x\n\"y\"$$, U&'d\\0061t', 0x1F, 1e10) -- \"quoted\"",
    "UPDATE t SET a = CASE WHEN b THEN 1 END WHERE c BETWEEN 1 AND 2 RETURNING *; /* two\nlines */ DELETE FROM u",
    "",
    "SELECT größe FROM WHERE",
    "CREATE TABLE t (a int,)",
    "SELECT 'open",
    f"SELECT {'(' * 300}1{')' * 300}",
    f"SELECT {'NOT ' * 300}true",
]


@pytest.mark.parametrize("text", TEXTS)
def test_trees_tokens_and_refusals_are_those_of_the_extension(
    remote: Remote, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setitem(sys.modules, "js", SimpleNamespace(postgres=remote))  # type: ignore[arg-type]
    assert said(parser.parse, text) == said(postgast.parse, text)
    assert said(parser.scan, text) == said(postgast.scan, text)


def said(read: Any, text: str) -> object:
    """The message as bytes, or the refusal: its words, and the place of one of the grammar."""
    try:
        return read(text).SerializeToString(deterministic=True)
    except postgast.PgQueryError as error:
        return error.message, error.cursorpos if read.__name__ == "parse" else 0
    except (DecodeError, RecursionError):
        return "too deep"


LEAVES = st.sampled_from(
    [
        "a",
        '"A b"',
        '"select"',
        "t.a",
        "value",
        "1",
        "-1",
        "1.5",
        "99999999999",
        "'it''s'",
        "E'a\\\\b'",
        "true",
        "NULL",
        "$1",
    ]
)
TYPES = """int bigint smallint text boolean bool real float date time uuid bytea json char(3) varchar(20) numeric(10,2)
timestamptz timestamp(3) pg_catalog.int4"""
LONG_TYPES = ("double precision", "timestamp with time zone", "time(3) with time zone", "character varying(3)")
OPERATORS = "+ - * / % || = <> < >= ~ AND OR LIKE ILIKE"
SHAPES = [
    *(f"({{}}) {one} ({{}})" for one in OPERATORS.split()),
    "({}) NOT LIKE ({})", "({}) IS DISTINCT FROM ({})", "({}) IS NOT DISTINCT FROM ({})", "({}) OR ({}) OR ({})",
    "- ({})", "NOT ({})", "({}) IS NULL", "({}) IS NOT NULL", "({}) IS TRUE", "({}) IS NOT UNKNOWN",
    "({}) IN ({}, {})", "({}) NOT IN ({})", "({}) BETWEEN ({}) AND ({})", "({}) NOT BETWEEN SYMMETRIC ({}) AND ({})",
    "NULLIF({}, {})", "COALESCE({}, {})", "GREATEST({}, {})", "LEAST({}, {})", "lower({})", "substring({}, 1)",
    "pg_catalog.length({})", "CASE WHEN {} THEN {} ELSE {} END", "CASE {} WHEN {} THEN {} END",
]  # fmt: skip


def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    shaped = st.sampled_from(SHAPES).flatmap(
        lambda shape: st.tuples(*[inner] * shape.count("{}")).map(lambda parts: shape.format(*parts))
    )
    types = st.sampled_from([*TYPES.split(), *LONG_TYPES])
    return shaped | st.tuples(inner, types).map(lambda parts: f"({parts[0]})::{parts[1]}")


@drawn(few=150, many=5_000)
@given(st.recursive(LEAVES, grown, max_leaves=8))
def test_a_text_is_that_of_the_extension(expression: str) -> None:
    tree = postgast.parse(f"SELECT {expression}")
    assert texts.deparse(tree) == postgast.deparse(tree)


def test_a_schema_with_such_an_expression_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgast, "deparse", texts.deparse)
    node = postgast.parse("SELECT (SELECT 1)").stmts[0].stmt.select_stmt.target_list[0].res_target.val
    with pytest.raises(DdlError, match="In a browser the lab does not read this expression"):
        Source("SELECT (SELECT 1)").sql(node)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT a::interval",
        "SELECT a::int[]",
        'SELECT a COLLATE "C"',
        "SELECT count(*) FILTER (WHERE a)",
        "SELECT (SELECT 1)",
        "SELECT a OPERATOR(pg_catalog.+) b",
        "SELECT 1, 2",
        "SELECT a FROM t",
        "CREATE TABLE t (LIKE u)",
    ],
)
def test_other_texts_are_refused_in_words(statement: str) -> None:
    with pytest.raises(postgast.PgQueryError, match="In a browser the lab does not read this expression"):
        texts.deparse(postgast.parse(statement))
