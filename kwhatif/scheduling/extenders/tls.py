"""How an extender is trusted, and how it knows us: from ``tlsConfig`` to a context for its connections.

Upstream: makeTransport in pkg/scheduler/extender.go and client-go/transport/transport.go (TLSConfigFor).
"""

from __future__ import annotations

import os
import ssl
import tempfile
from functools import cache
from pathlib import Path

from kwhatif.errors import PolicyError
from kwhatif.policy.structs import Extender, ExtenderTLSConfig

__all__ = ["context_for"]


def context_for(extender: Extender) -> ssl.SSLContext:
    """The context of an extender's connections, for those that are encrypted.

    An extender with ``enableHTTPS`` and no authority to check it against is not checked at all. Raises PolicyError
    for files that cannot be read or make no sense, upon which kube-scheduler does not start.
    """
    if extender.tls_config is None and not extender.enable_https:
        return _trusting_the_system()
    tls = extender.tls_config or ExtenderTLSConfig()
    authority = bool(tls.ca_data or tls.ca_file)
    insecure = tls.insecure or (extender.enable_https and not authority)
    try:
        if authority and insecure:
            raise ValueError("specifying a root certificates file with the insecure flag is not allowed")
        ca, cert, key = (
            _content(data, file)
            for data, file in ((tls.ca_data, tls.ca_file), (tls.cert_data, tls.cert_file), (tls.key_data, tls.key_file))
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # as in Go, whatever is in the pool is trusted
        if insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        elif not authority:
            context.load_default_certs()
        elif ca:
            _trust(context, ca)
        if cert and key:
            _identify(context, cert, key)
    except (OSError, ValueError) as error:
        raise PolicyError(f"couldn't build extenders: {extender.url_prefix}: {error}") from None
    return context


@cache
def _trusting_the_system() -> ssl.SSLContext:
    """For extenders without any such settings; reading all the system's authorities takes a while."""
    return ssl.create_default_context()


def _content(data: bytes, file: str) -> bytes:
    """The data, which takes precedence, or the content of the file."""
    if data or not file:
        return data
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise ValueError(f"open {file}: {(error.strerror or str(error)).lower()}") from None


def _trust(context: ssl.SSLContext, authority: bytes) -> None:
    try:
        context.load_verify_locations(cadata=authority.decode("ascii", "replace"))
    except (ssl.SSLError, ValueError):
        raise ValueError("unable to load root certificates: unable to parse bytes as PEM block") from None


def _identify(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Show a client certificate. The standard library takes it from a file only."""
    handle, path = tempfile.mkstemp(suffix=".pem")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(certificate + b"\n" + key)
        context.load_cert_chain(path)
    except ssl.SSLError as error:
        problem = (error.reason or "not in PEM format").replace("_", " ").lower()
        raise ValueError(f"tls: the client certificate and its key do not load: {problem}") from None
    finally:
        os.unlink(path)
