"""A file that is wrong: each mistake is named with its line, its key, and what would be right."""

import pytest

from rollouts.checks import check

GOOD = """\
tables = "CREATE TABLE users (id bigint PRIMARY KEY, name text NOT NULL)"
key = "id"
[values]
name = ["Ann", "Bob"]
[before]
release = "1"
does.create = "INSERT INTO users (id, name) VALUES (:id, :name)"
does.show = "SELECT name FROM users WHERE id = :id"
[[deploy]]
schema = "ALTER TABLE users ADD COLUMN full_name text"
[[deploy]]
release = "2"
like = "1"
[[deploy]]
backfill = "UPDATE users SET full_name = name WHERE id = :id"
"""
MISTAKES = [
    ('key = "id"', 'kye = "id"', "line 2: kye: there is no such key here; did you mean key?"),
    ('["Ann", "Bob"]', '["Ann"]', "line 4: values.name: a list of 2 to 4 values is expected"),
    ('["Ann", "Bob"]', '["Ann", "Ann"]', "line 4: values.name: the values must be plain and different"),
    ('name = ["Ann"', 'id = [1, 2]\nname = ["Ann"', "line 4: values.id: id is the key: its values are made for it"),
    ("[values]\nname", "[value]\nname", "line 3: value: there is no such key here; did you mean values?"),
    (
        ":id, :name)",
        ":id, :nam)",
        "line 7: before.does.create: :nam is neither the key, nor in [values], nor a result of ",
    ),
    ("SELECT name", "SELEC name", "line 8: before.does.show: "),
    ('does.show = "', 'does.show = 1 # "', "line 8: before.does.show: a text is expected, not 1"),
    ('\nschema = "', '\nscheme = "', "line 10: deploy.1.scheme: there is no such key here; did you mean schema?"),
    (
        '\nschema = "',
        '\ntrigger = {}\nschema = "',
        "line 9: deploy.1: a deploy is one of schema, release, gone, backfill, ",
    ),
    ('like = "1"', 'like = "0"', "line 13: deploy.2.like: there is no earlier release '0'; there are: '1'"),
    ('release = "2"', 'release = "1"', "line 12: deploy.2.release: release '1' exists: give each its own name"),
    ('release = "2"', 'release = "2"\nbeside = 1', "line 13: deploy.2.beside: true or false is expected, not 1"),
    ("full_name = name WHERE", "full_name = :name WHERE", "line 15: deploy.3.backfill: :name is what a user writes: "),
    (
        'backfill = "',
        'gone = "1" # "',
        "line 15: deploy.3.gone: '1' is not a release that runs beside the newest; '2' runs: give",
    ),
    ('key = "id"', 'key = "id"\nrows = 3', "line 3: rows: 1 or 2, not 3"),
    ('key = "id"', 'key = "id"\nrollback_until = 9', "line 3: rollback_until: the number of a deploy, 0 to 3, not 9"),
    ('key = "id"', 'key = "id"\nisolation = "serializable"', 'line 3: isolation: "read committed" is modelled, not'),
    ('key = "id"', 'key = "id"\ndatabase = "mysql"', 'line 3: database: "postgresql" with or without a version'),
    ('key = "id"', 'key = "id', "line 2: this is not TOML: "),
]


def test_the_file_without_a_mistake_is_explored() -> None:
    assert check(GOOD).mistake is None


@pytest.mark.parametrize(("right", "wrong", "message"), MISTAKES)
def test_a_mistake_has_its_line_its_key_and_what_would_be_right(right: str, wrong: str, message: str) -> None:
    assert GOOD.count(right) >= 1
    report = check(GOOD.replace(right, wrong, 1))
    assert report.verdict == "wrong"
    assert str(report.mistake).startswith(message), str(report.mistake)


def test_a_release_that_still_runs_beside_another_has_to_go_first() -> None:
    text = GOOD.replace('like = "1"', 'like = "1"\nbeside = true') + '[[deploy]]\nrelease = "3"\nlike = "2"\n'
    message = "line 18: deploy.4.release: release '1' still runs beside '2': first a deploy gone = '1'"
    assert str(check(text).mistake) == message
    with_gone = text.replace('[[deploy]]\nrelease = "3"', '[[deploy]]\ngone = "1"\n[[deploy]]\nrelease = "3"')
    report = check(with_gone)
    assert report.mistake is None
    assert [gate.releases for gate in report.gates] == [("1",), ("1",), ("1", "2"), ("1", "2"), ("2", "3"), ("3",)]
