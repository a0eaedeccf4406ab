"""One HTTP call of an extender, bounded by a time limit, with errors in plain words.

The environment's proxies are ignored: they are those of the user, not of the scheduler. Upstream: HTTPExtender.send and
makeTransport in pkg/scheduler/extender.go, client-go/transport (TLSConfigFor).
"""

from __future__ import annotations

import ssl
import tempfile
from http.client import BadStatusLine, IncompleteRead, RemoteDisconnected
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urljoin

from kwhatif import bounds
from kwhatif.errors import PolicyError
from kwhatif.golang.formatting import go_quote, without_password
from kwhatif.golang.parsing import Duration
from kwhatif.policy.structs import Extender, ExtenderTLSConfig
from kwhatif.snapshot.read.bounded_answers import AnswerLimit, answers_within, bound_answers
from kwhatif.snapshot.read.compression import decompress_all
from kwhatif.snapshot.read.secrets import Secrets

if TYPE_CHECKING:
    from urllib3 import PoolManager

MOST_REDIRECTS = 10
_ASKED_ANEW, _REPEATED = (301, 302, 303), (307, 308)


class ExtenderError(Exception):
    """An extender gave no answer, or none that can be used. ``late`` if it timed out."""

    def __init__(self, text: str, *, late: bool = False) -> None:
        self.late = late
        super().__init__(text)


class Caller:
    """Calls one extender by its TLS settings. Each call ends after ``limit``, however slowly an answer comes in.

    Raises PolicyError for TLS settings that kube-scheduler would not start with.
    """

    def __init__(self, configured: Extender, limit: Duration) -> None:
        self._limit = limit
        self._tls = configured.tls_config or ExtenderTLSConfig()
        try:
            self._context = _context(configured, self._tls)
        except (OSError, ValueError) as error:
            raise PolicyError(f"couldn't build extenders: {configured.url_prefix}: {error}") from None
        self._opened: PoolManager | None = None
        self.secrets = Secrets()
        """What calls have carried. Whoever shows words of the extender has them taken out."""

    def post(self, url: str, body: bytes) -> tuple[int, bytes]:
        """The status and body of the answer; the body of one that is not 200 is left unread. Raises ExtenderError."""
        try:
            # Answers are bounded one by one, and all redirects, names of hosts and connections together.
            return bounds.in_time(self._limit.seconds, lambda: self._follow_redirects(url, body))
        except Exception as error:
            problem = self.secrets.conceal(_problem(error))
            late = f"no answer within {self._limit}"
            raise ExtenderError(f"extender {without_password(url)}: {problem or late}", late=not problem) from None

    def _follow_redirects(self, url: str, body: bytes | None) -> tuple[int, bytes]:
        from urllib3.util import make_headers, parse_url

        for _ in range(MOST_REDIRECTS):
            parts = parse_url(url)
            if parts.scheme not in ("http", "https") or not parts.host:
                raise ConnectionError("this is no address of a web server")
            headers = {"Content-Type": "application/json", **make_headers(user_agent="kwhatif")}
            if parts.auth is not None:
                name, _, password = parts.auth.partition(":")
                headers |= make_headers(basic_auth=f"{unquote(name)}:{unquote(password)}")
                self.secrets.add_header(headers["authorization"])
            with answers_within(AnswerLimit(self._limit.seconds)):
                response = self._pool.urlopen(
                    "GET" if body is None else "POST",
                    url,
                    body=body,
                    headers=headers,
                    preload_content=False,
                    redirect=False,
                )
            try:
                onwards = response.headers.get("Location")
                if response.status not in (*_ASKED_ANEW, *_REPEATED) or not onwards:
                    if response.status != 200:
                        return response.status, b""
                    chunks = response.stream(decode_content=False)
                    whole = decompress_all(chunks, bounds.ANSWER_BYTES)
                    return response.status, self.secrets.conceal_data(whole)
            finally:
                response.close()
            url = urljoin(url, onwards)
            body = body if response.status in _REPEATED else None
        raise ConnectionError(f"stopped after {MOST_REDIRECTS} redirects")

    @property
    def _pool(self) -> PoolManager:
        if self._opened is None:
            import urllib3

            if self._context.verify_mode == ssl.CERT_NONE:
                urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
            self._opened = urllib3.PoolManager(
                ssl_context=self._context,
                server_hostname=self._tls.server_name or None,
                timeout=self._limit.seconds,
                retries=False,
            )
            bound_answers(self._opened)
        return self._opened


def _problem(error: BaseException) -> str:
    """What went wrong, by the first error that led to it; empty if time ran out."""
    from urllib3 import exceptions

    if isinstance(error, exceptions.NameResolutionError | exceptions.LocationParseError):
        return "there is no host of this name"
    for inner in (*error.args, error.__cause__):
        if isinstance(inner, BaseException):
            return _problem(inner)
    match error:
        case TimeoutError() | exceptions.TimeoutError():
            return ""
        case RemoteDisconnected() | ssl.SSLEOFError():
            return "it closed the connection without an answer"
        case IncompleteRead():
            return "the connection ended in the middle of its answer"
        case BadStatusLine():
            return f"it does not speak HTTP: it said {go_quote(str(error.args[0]).strip())}"
        case ssl.SSLCertVerificationError():
            return f"its certificate is not trusted: {error.verify_message}"
        case ssl.SSLError():
            return f"no encrypted connection: {(error.reason or str(error)).replace('_', ' ').lower()}"
        case OSError():
            return (error.strerror or str(error)).lower()
    return str(error)


# --- trust


def _context(configured: Extender, tls: ExtenderTLSConfig) -> ssl.SSLContext:
    """For encrypted connections. With ``enableHTTPS`` and no authority to check it against, no certificate is verified.

    Raises ValueError or OSError for files that cannot be read or make no sense.
    """
    authority = bool(tls.ca_data or tls.ca_file)
    insecure = tls.insecure or (configured.enable_https and not authority)
    if authority and insecure:
        raise ValueError("specifying a root certificates file with the insecure flag is not allowed")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # as in Go, whatever is in the pool is trusted
    pairs = ((tls.ca_data, tls.ca_file), (tls.cert_data, tls.cert_file), (tls.key_data, tls.key_file))
    ca, certificate, key = (_content(data, file) for data, file in pairs)
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif not authority:
        context.load_default_certs()
    elif ca:
        try:
            context.load_verify_locations(cadata=ca.decode("ascii", "replace"))
        except (ssl.SSLError, ValueError):
            raise ValueError("unable to load root certificates: unable to parse bytes as PEM block") from None
    if certificate and key:
        _identify(context, certificate + b"\n" + key)
    return context


def _content(data: bytes, file: str) -> bytes:
    """The data, which takes precedence, or the content of the file."""
    try:
        if data or not file:
            return data
        with open(file, "rb") as opened:
            return opened.read(bounds.SETTINGS_BYTES)
    except OSError as error:
        raise ValueError(f"open {file}: {(error.strerror or str(error)).lower()}") from None


def _identify(context: ssl.SSLContext, certificate_and_key: bytes) -> None:
    """Show a client certificate. The standard library takes it from a file only."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "client.pem")
        file.write_bytes(certificate_and_key)
        try:
            context.load_cert_chain(file)
        except ssl.SSLError as error:
            problem = (error.reason or "not in PEM format").replace("_", " ").lower()
            raise ValueError(f"the client certificate and its key do not load: {problem}") from None
