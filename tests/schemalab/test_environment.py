"""Settings are parsed in one place, and refused with their name and what is allowed."""

from pathlib import Path

import pytest

from schemalab.environment import SETTINGS, BadSetting, home_of, merge, parse_settings


def test_every_default_is_allowed() -> None:
    assert parse_settings({})["LEASE_S"] == 300.0


@pytest.mark.parametrize(
    ("name", "value", "parsed"),
    [
        pytest.param("LEASE_S", "1.5", 1.5, id="a length of time may have a fraction"),
        pytest.param("NODE_CLOCK_OFFSET_S", "n2=3600, n3=-60", {"n2": 3600.0, "n3": -60.0}, id="seconds by node"),
        pytest.param("NODES", " 5 ", 5, id="space around a value is dropped"),
        pytest.param("NODES", "", 3, id="an empty value means the default"),
        pytest.param("DEBUG", "Yes", True, id="a switch ignores case"),
        pytest.param("ALLOWED_HOSTS", "a, b,", ("a", "b"), id="a list is split at commas"),
        pytest.param("EXERCISES_DIR", "/", Path("/"), id="a folder that exists"),
        pytest.param("EXERCISES_DIR", "", None, id="no folder"),
        pytest.param("REDIS_URL", "unix:///run/r.sock", "unix:///run/r.sock", id="a unix socket is a Redis address"),
    ],
)
def test_a_good_value_is_parsed(name: str, value: str, parsed: object) -> None:
    assert parse_settings({name: value})[name] == parsed


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        pytest.param(
            "DATABASE_URL",
            "mysql://x/y",
            "DATABASE_URL='mysql://x/y' is not allowed: "
            "it must be postgresql://.. or postgres://.., or empty for the embedded one",
            id="another database is refused",
        ),
        pytest.param(
            "ALLOWED_HOSTS",
            "lab.example.org,*",
            "ALLOWED_HOSTS='lab.example.org,*' is not allowed: "
            "it must be host names by commas, .NAME for all below one; not *, which is every name",
            id="a page that answers to every name is refused",
        ),
        pytest.param(
            "EXERCISES_DIR",
            "/no/such/folder",
            "EXERCISES_DIR='/no/such/folder' is not allowed: it must be a folder that exists, or empty for none",
            id="a folder that is not there",
        ),
        pytest.param(
            "NODE_TLS_KEY",
            "k" * 5000,
            f"NODE_TLS_KEY='{'k' * 5000}' is not allowed: "
            "it must be a file that exists and can be reached, or empty for none",
            id="a file that the system cannot look for",
        ),
        pytest.param(
            "NODES",
            "three",
            "NODES='three' is not allowed: it must be a whole number from 1 to 100",
            id="a word is not a whole number",
        ),
        pytest.param(
            "LEASE_S",
            "nan",
            "LEASE_S='nan' is not allowed: it must be a number from 1 to 86400",
            id="not-a-number is not a number",
        ),
        pytest.param(
            "LEASE_S",
            "0.2",
            "LEASE_S='0.2' is not allowed: it must be a number from 1 to 86400",
            id="a lease must be renewable",
        ),
        pytest.param(
            "NODES", "0", "NODES='0' is not allowed: it must be a whole number from 1 to 100", id="a cluster has nodes"
        ),
        pytest.param(
            "STORAGE_COUNT",
            "20",
            "STORAGE_COUNT='20' is not allowed: it must be a whole number from 1 to 16",
            id="a transaction enters all storages",
        ),
        pytest.param(
            "DEBUG",
            "maybe",
            "DEBUG='maybe' is not allowed: it must be one of 1, true, yes, on, 0, false, no, off",
            id="a switch is on or off",
        ),
        pytest.param(
            "LOG_LEVEL",
            "LOUD",
            "LOG_LEVEL='LOUD' is not allowed: it must be one of DEBUG, INFO, WARNING, ERROR",
            id="a choice names its choices",
        ),
        pytest.param(
            "EMAIL_FROM",
            "Lab, Inc <lab@example.org>",
            "EMAIL_FROM='Lab, Inc <lab@example.org>' is not allowed: it must be NAME@HOST, or WORDS <NAME@HOST>;"
            ' words with signs in "quotes"',
            id="a sender is one address",
        ),
    ],
)
def test_a_bad_value_is_refused_by_name(name: str, value: str, message: str) -> None:
    with pytest.raises(BadSetting) as refused:
        parse_settings({name: value})
    assert str(refused.value) == message


def test_the_process_wins_over_the_file_and_the_file_over_the_running_cluster() -> None:
    merged = merge(process={"A": "1", "B": ""}, env_file={"A": "2", "B": "2"}, running={"A": "3", "C": "3"})
    assert merged == {"A": "1", "B": "2", "C": "3"}


@pytest.mark.parametrize(
    ("value", "home"),
    [
        pytest.param("", "/clone/.schemalab", id="the default home lies in the clone"),
        pytest.param("elsewhere", "/clone/elsewhere", id="a relative home starts at the clone"),
        pytest.param("/data/lab", "/data/lab", id="an absolute home is taken as it is"),
    ],
)
def test_where_the_home_is(value: str, home: str) -> None:
    assert home_of({"SCHEMALAB_HOME": value}, base=Path("/clone")) == Path(home)


def test_every_setting_is_documented_in_the_example_file() -> None:
    lines = Path(__file__).parents[2].joinpath(".env.example").read_text().splitlines()
    documented = {line.lstrip("# ").split("=", 1)[0]: line.split("=", 1)[1] for line in lines if "=" in line}
    assert {s.name: s.default for s in SETTINGS} | {"SCHEMALAB_HOME": ".schemalab"} == documented


@pytest.mark.parametrize(
    ("name", "value"),
    [("METRICS_TOKEN", "too short"), ("EMAIL_URL", "smtp://u:p#w@host"), ("EMAIL_URL", "smtp://[p#w")],
)
def test_a_secret_that_is_refused_is_not_repeated(name: str, value: str) -> None:
    with pytest.raises(BadSetting) as refused:
        parse_settings({name: value})
    assert str(refused.value).startswith(f"{name}=*** is not allowed")
    assert value not in str(refused.value)
