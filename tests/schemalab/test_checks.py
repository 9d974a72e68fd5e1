"""Settings that contradict each other are found by Django's checks, with an id and a hint."""

import subprocess
import sys
from pathlib import Path

import pytest
from pytest_django import Settings

from schemalab.checks import check_settings
from tests.harness.cluster import ROOT, environment_of


def test_the_settings_of_these_tests_are_in_order() -> None:
    assert check_settings() == []


@pytest.mark.parametrize(
    ("changed", "identity", "message"),
    [
        pytest.param(
            {"BUCKET_COUNT": 1}, "schemalab.E004", "BUCKET_COUNT=1 is less than", id="each storage needs a bucket"
        ),
        pytest.param(
            {"NODE_HOST": "0.0.0.0"},
            "schemalab.W003",
            "NODE_HOST=0.0.0.0 is reachable from other machines, and nodes speak no TLS",
            id="nodes that others reach can be overheard",
        ),
        pytest.param(
            {"NODE_TLS_CERT": "cert.pem"},
            "schemalab.E009",
            "NODE_TLS_CERT is set and NODE_TLS_KEY is not",
            id="a certificate without its key",
        ),
        pytest.param(
            {"NODE_PASSWORD": "x"},
            "schemalab.E011",
            "NODE_PASSWORD is too weak: This password is too short.",
            id="a password of one letter",
        ),
        pytest.param(
            {"NODE_PASSWORD": "password123"},
            "schemalab.E011",
            "NODE_PASSWORD is too weak: This password is too common.",
            id="a common password",
        ),
        pytest.param(
            {"NODE_PASSWORD": "3141592653589"},
            "schemalab.E011",
            "NODE_PASSWORD is too weak: This password is entirely numeric.",
            id="a password of digits",
        ),
        pytest.param(
            {"DEBUG": True, "HOST": "10.0.0.1", "PUBLIC_URL": "https://lab.example.org"},
            "schemalab.E006",
            "DEBUG is on while the page listens on 10.0.0.1",
            id="debug pages stay at home",
        ),
        pytest.param({"HOST": "::"}, "schemalab.W001", "HOST=:: is reachable", id="a page that others reach needs TLS"),
        pytest.param(
            {"SPARK_MASTER": "yarn"},
            "schemalab.E007",
            "SPARK_MASTER=yarn is not known",
            id="a master is one of two kinds",
        ),
        pytest.param(
            {"SPARK_MASTER": "spark://far:7077", "SPARK_SECRET": "s"},
            "schemalab.W002",
            "the embedded database listens on a unix socket only",
            id="remote workers cannot reach the embedded database",
        ),
        pytest.param(
            {"SPARK_MASTER": "spark://far:7077", "IS_DATABASE_EMBEDDED": False},
            "schemalab.W005",
            "SPARK_MASTER=spark://far:7077 without SPARK_SECRET",
            id="a cluster that asks for no secret",
        ),
    ],
)
def test_a_contradiction_is_named(settings: Settings, changed: dict[str, object], identity: str, message: str) -> None:
    for name, value in changed.items():
        setattr(settings, name, value)
    [found] = check_settings()
    assert found.id == identity
    assert message in found.msg
    assert found.hint


def test_half_a_certificate_encrypts_nothing(settings: Settings) -> None:
    settings.NODE_HOST, settings.NODE_TLS_CERT = "0.0.0.0", "cert.pem"
    assert [found.id for found in check_settings()] == ["schemalab.E009", "schemalab.W003"]


def test_a_good_password_of_nodes_is_taken(settings: Settings) -> None:
    settings.NODE_PASSWORD = "correct horse battery"
    assert check_settings() == []


def test_a_weak_password_of_nodes_starts_no_cluster(tmp_path: Path) -> None:
    """The password is not repeated: what is printed may be kept."""
    env = environment_of(tmp_path / "home", NODE_PASSWORD="hunter2")
    up = subprocess.run(
        [sys.executable, "manage.py", "up"], cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=60
    )
    assert up.returncode == 1
    assert "schemalab.E011" in up.stderr
    assert "HINT: Set one of at least ten characters" in up.stderr
    assert "hunter2" not in up.stderr
