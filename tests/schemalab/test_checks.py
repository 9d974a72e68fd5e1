"""Settings that contradict each other are found by Django's checks, with an id and a hint."""

import pytest
from pytest_django import Settings

from schemalab.checks import check_settings


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
