"""TLS: the certificate that a node shows to clients that ask for encryption (SSLRequest)."""

import ssl
from pathlib import Path


class BadCertificate(Exception):
    """A certificate or key that cannot be used; the message says which and why."""


def tls_context(certificate: Path | None, key: Path | None) -> ssl.SSLContext | None:
    """TLS 1.2 and newer with this certificate; None without one. Raises `BadCertificate`."""
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        given, missing = ("CERT", "KEY") if key is None else ("KEY", "CERT")
        raise BadCertificate(f"NODE_TLS_{given} is set and NODE_TLS_{missing} is not: set both, or neither")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["postgresql"])

    def no_passphrase() -> str:
        raise BadCertificate(f"NODE_TLS_KEY: {key} has a passphrase: use a key without one")

    try:
        context.load_cert_chain(certificate, key, no_passphrase)
    except (OSError, ssl.SSLError) as error:
        message = f"NODE_TLS_CERT: {certificate} with the key {key} cannot be used: {error}"
        raise BadCertificate(message) from None
    return context
