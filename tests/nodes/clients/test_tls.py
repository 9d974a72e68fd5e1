"""The certificate of a node: both of its files, or none."""

from pathlib import Path

import pytest

from nodes.clients.tls import BadCertificate, tls_context

TLS = Path(__file__).with_name("tls")


def test_a_certificate_and_its_key_encrypt() -> None:
    assert tls_context(TLS / "cert.pem", TLS / "key.pem") is not None
    assert tls_context(None, None) is None


@pytest.mark.parametrize(("certificate", "key", "message"), [
    pytest.param("cert.pem", None, "NODE_TLS_CERT is set and NODE_TLS_KEY is not", id="no key"),
    pytest.param(None, "key.pem", "NODE_TLS_KEY is set and NODE_TLS_CERT is not", id="no certificate"),
    pytest.param("key.pem", "cert.pem", "cannot be used", id="each for the other"),
])  # fmt: skip
def test_half_a_certificate_is_refused_rather_than_nothing_encrypted(
    certificate: str | None, key: str | None, message: str
) -> None:
    with pytest.raises(BadCertificate, match=message):
        tls_context(TLS / certificate if certificate else None, TLS / key if key else None)
