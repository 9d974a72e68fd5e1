"""Documents between a driver and a node: parameters, COPY, what is refused, and how long the deepest may take."""

import psycopg
import pytest
from psycopg.types.json import Json, Jsonb

from catalog.values.documents import DEPTH_MAX
from tests.nodes.conftest import Cluster

DOCUMENT = {"b": [1, 2.5, None, True], "a": {"é\n": "x"}}


@pytest.fixture(scope="module")
def papers(cluster: Cluster) -> str:
    return cluster.table("id int PRIMARY KEY, j json, b jsonb")


@pytest.mark.parametrize("form", ["t", "b"])
def test_documents_are_sent_found_and_read_in_both_formats(cluster: Cluster, papers: str, form: str) -> None:
    with cluster.connect() as ours:
        ours.execute(f"DELETE FROM {papers}")
        cursor = ours.cursor(binary=form == "b")
        cursor.execute(f"INSERT INTO {papers} VALUES (1, %{form}, %{form})", [Json(DOCUMENT), Jsonb(DOCUMENT)])
        found = cursor.execute(f"SELECT j, b, b -> 'b' FROM {papers} WHERE b = %{form}", [Jsonb(DOCUMENT)]).fetchall()
        assert found == [(DOCUMENT, DOCUMENT, DOCUMENT["b"])]
        held = cursor.execute(f"SELECT id FROM {papers} WHERE b @> %{form}", [Jsonb({"b": [2.5]})]).fetchall()
        assert held == [(1,)]
        known = cursor.execute(f"SELECT id FROM {papers} WHERE b ->> 'c' IS NULL AND b ? 'a' AND id = 1").fetchall()
        assert known == [(1,)]


@pytest.mark.parametrize("options", ["", "(FORMAT csv)", "(FORMAT binary)"])
def test_documents_are_copied_out_and_in(cluster: Cluster, papers: str, options: str) -> None:
    with cluster.connect() as ours:
        ours.execute(f"DELETE FROM {papers}")
        ours.execute(f"INSERT INTO {papers} VALUES (1, %s, %s), (2, NULL, NULL)", [Json(DOCUMENT), Jsonb(DOCUMENT)])
        before = ours.execute(f"SELECT id, j::text, b FROM {papers} ORDER BY id").fetchall()
        with ours.cursor().copy(f"COPY {papers} TO STDOUT {options}") as copy:
            data = b"".join(bytes(part) for part in copy)
        ours.execute(f"DELETE FROM {papers}")
        with ours.cursor().copy(f"COPY {papers} FROM STDIN {options}") as copy:
            copy.write(data)
        assert ours.execute(f"SELECT id, j::text, b FROM {papers} ORDER BY id").fetchall() == before


def test_what_is_no_document_says_where_it_ends_to_be_one(cluster: Cluster, papers: str) -> None:
    with cluster.connect() as ours:
        with pytest.raises(psycopg.errors.InvalidTextRepresentation) as refusal:
            ours.execute(f"INSERT INTO {papers} VALUES (3, '{{\"a\": ]}}')")
        assert refusal.value.diag.message_primary == "invalid input syntax for type json"
        assert refusal.value.diag.message_detail == 'Expected JSON value, but found "]".'
        with (
            pytest.raises(psycopg.errors.InvalidTextRepresentation),
            ours.cursor().copy(f"COPY {papers} FROM STDIN") as c,
        ):
            c.write(b"3\t{}\t{1}\n")
        assert ours.execute(f"SELECT count(*) FROM {papers} WHERE id = 3").fetchone() == (0,)


@pytest.mark.parametrize("text", ["[" * 10**6, "[" * 500_000 + "]" * 500_000, '{"a":' * 200_000])
def test_deep_documents_are_refused_by_name_and_the_node_lives(cluster: Cluster, papers: str, text: str) -> None:
    with cluster.connect() as ours:
        for kind in ("json", "jsonb"):
            with pytest.raises(psycopg.errors.StatementTooComplex, match=f"at most {DEPTH_MAX} levels"):
                ours.execute(f"SELECT %s::{kind}", [text])
            with pytest.raises(psycopg.errors.StatementTooComplex):
                ours.execute(f"SELECT max(t::{kind}::text) FROM (SELECT %s::text AS t) AS x", [text])
        assert ours.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize(("item", "count"), [("0", 300_000), ('{"b":1.5,"a":2}', 50_000)])
def test_a_document_of_a_megabyte_is_stored_and_asked(cluster: Cluster, papers: str, item: str, count: int) -> None:
    text = f"[{','.join([item] * count)}]"
    with cluster.connect() as ours:
        ours.execute(f"DELETE FROM {papers}")
        ours.execute(f"INSERT INTO {papers} VALUES (1, NULL, %s)", [text])
        found = ours.execute(f"SELECT jsonb_array_length(b), b ->> -1 FROM {papers} WHERE id = 1").fetchone()
        assert found is not None
        assert found[0] == count
        with pytest.raises(psycopg.errors.ProgramLimitExceeded):
            ours.execute(f"UPDATE {papers} SET b = %s", [f"[{text}, {text}]"])


def test_what_operators_make_of_documents_can_be_read_again(cluster: Cluster, papers: str) -> None:
    deep = '{"a":' * (DEPTH_MAX - 1) + "{}" + "}" * (DEPTH_MAX - 1)
    with cluster.connect() as ours:
        ours.execute(f"DELETE FROM {papers}")
        ours.execute(f"INSERT INTO {papers} VALUES (1, NULL, %s)", [deep])
        for made in ("jsonb_build_array(b)", "b || '1'", "jsonb_set(b, '{a}', b)"):
            for where in ("id = 1", "id > 0"):
                with pytest.raises(psycopg.errors.StatementTooComplex, match=f"at most {DEPTH_MAX} levels"):
                    ours.execute(f"UPDATE {papers} SET b = {made} WHERE {where}")
        assert ours.execute(f"SELECT b = b, b @> '{{}}' FROM {papers}").fetchone() == (True, True)
        with pytest.raises(psycopg.errors.ProgramLimitExceeded, match="with an exponent"):
            ours.execute(f"INSERT INTO {papers} VALUES (2, NULL, %s)", [f"[{','.join(['1e-16383'] * 60_000)}]"])


def test_a_part_of_a_document_is_not_assigned_in_the_place_of_the_whole(cluster: Cluster, papers: str) -> None:
    with cluster.connect() as ours:
        ours.execute(f"DELETE FROM {papers}")
        ours.execute(f"INSERT INTO {papers} VALUES (1, '{{}}', %s)", [Jsonb(DOCUMENT)])
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="SET of a part of"):
            ours.execute(f"UPDATE {papers} SET b['a'] = '1' WHERE id = 1")
        for name in ("j['a']", "id[1]"):
            with pytest.raises(psycopg.errors.DatatypeMismatch, match="does not support subscripting"):
                ours.execute(f"UPDATE {papers} SET {name} = '1' WHERE id = 1")
        assert ours.execute(f"SELECT b FROM {papers} WHERE id = 1").fetchone() == (DOCUMENT,)
