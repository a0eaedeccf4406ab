"""The one module that uses the ``kubernetes`` client: credentials, the API server's address, and single GET requests.

The client handles kubeconfig files, contexts, service accounts, exec plugins, TLS and proxies. Requests, retries and
the use of answers are decided elsewhere; so the client itself never retries.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import subprocess
import threading
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec

from kwhatif import bounds
from kwhatif.api.objects import part_of
from kwhatif.errors import ClusterError, InputError
from kwhatif.snapshot.read.bounded_answers import AnswerLimit, answers_within, bound_answers
from kwhatif.snapshot.read.compression import decompress_all
from kwhatif.snapshot.read.secrets import Secrets, password_in, passwords_of_proxies

IN_CLUSTER = "KUBERNETES_SERVICE_HOST"
"""The variable with the API server's address in a pod."""

SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount/token"
"""The token of a pod's service account."""

_CONNECTIONS = 100
"""The most open connections: a recording watches each kind on one of its own."""

_AT_ONCE = 2**16
_LIBRARY_WORDS = re.compile(r"^(Invalid kube-config file\. |Invalid kube-config\. |\[Errno \d+\] )+")
_NOT_SENT = "the request could not be sent"
_TEMPORARY_ADDRESS = re.compile(r" \(_ssl\.c:\d+\)")
_MOST_SECONDS_TO_CONNECT = 10.0


class Connection(msgspec.Struct, frozen=True):
    """A cluster and a user. Both times are in seconds.

    ``timeout`` is for one answer as a whole (of a watch, until it begins or goes on), ``limit`` for all requests,
    credentials included.
    """

    kubeconfig: str | None = None
    context: str | None = None
    user: str | None = None
    groups: Sequence[str] = ()
    insecure: bool = False
    timeout: float = bounds.ANSWER_SECONDS
    limit: float = bounds.DUMP_SECONDS

    @property
    def path(self) -> str:
        """The kubeconfig in use; it may be several files."""
        return self.kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config"

    def files(self) -> list[str]:
        """The existing files of the kubeconfig."""
        files = [os.path.expanduser(file) for file in self.path.split(os.pathsep) if file]
        # Of a user without a home the default stays as it is, and would name a directory ``~`` where one stands.
        return [file for file in files if not file.startswith("~") and os.path.exists(file)]


class Reply(msgspec.Struct, frozen=True):
    """An HTTP answer, complete and without secrets. Names of headers are in any case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class ConnectionLost(Exception):
    """No answer, or not all of it. ``final``: a retry would not help."""

    def __init__(self, problem: str, *, final: bool = False) -> None:
        self.final = final
        super().__init__(problem)


class UnexpectedReply(Exception):
    """An answer with an unexpected status."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        super().__init__(reply.status)


class LiveCluster:
    """An API server, usable from several threads. Raises ClusterError if there is no configuration for it."""

    def __init__(self, connection: Connection) -> None:
        import urllib3
        from kubernetes.client import ApiClient, Configuration

        self._urllib3: Any = urllib3
        self._lock = threading.Lock()
        self._complaints = _WarningHandler(connection.limit)
        self._configuration: Any = Configuration()
        self._configuration.connection_pool_maxsize = _CONNECTIONS
        self.context = _configure(self._configuration, connection, self._complaints)
        if connection.insecure:
            self._configuration.verify_ssl = False
        if not self._configuration.verify_ssl:
            warnings.filterwarnings("ignore", category=urllib3.exceptions.InsecureRequestWarning)
        client: Any = ApiClient(self._configuration)
        self._pool: Any = client.rest_client.pool_manager
        bound_answers(self._pool)
        addresses = (str(self._configuration.host), str(self._configuration.proxy or ""))
        self.secrets = Secrets(*map(password_in, addresses), *passwords_of_proxies())
        """What requests have carried. Whoever shows words of the server has them taken out."""
        self._seconds = connection.timeout
        connect = min(_MOST_SECONDS_TO_CONNECT, connection.timeout)
        self._timeout = urllib3.Timeout(connect=connect, read=connection.timeout)
        self._headers = [("accept", "application/json"), ("accept-encoding", "gzip"), ("user-agent", "kwhatif")]
        if connection.user is not None:
            self._headers.append(("impersonate-user", connection.user))
        self._headers += [("impersonate-group", group) for group in connection.groups]

    @property
    def host(self) -> str:
        """``https://10.0.0.1:6443``, without a name or password that may stand in it."""
        url = urlsplit(str(self._configuration.host))
        return url._replace(netloc=url.netloc.rpartition("@")[2]).geturl()

    @property
    def name(self) -> str:
        """The name of the cluster: its context and its address."""
        return f"{self.context} ({self.host})"

    @property
    def complaint(self) -> str:
        """The client's last error while it fetched credentials; usually empty."""
        return self._complaints.last

    def __enter__(self) -> LiveCluster:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.clear()

    def get(self, path: str, params: Mapping[str, str | int] | None = None) -> Reply:
        """One request. Raises ConnectionLost if no answer came, or not all of it."""
        limit = AnswerLimit(self._seconds)
        with self._open_request(path, params, self._headers, self._timeout, limit) as reply:
            return self._whole(reply)

    def lines(self, path: str, params: Mapping[str, str | int], silence: float) -> Iterator[bytes]:
        """An empty line once the server has accepted, then the lines of its answer as they come, except an incomplete
        last one.

        Raises UnexpectedReply for any other answer, ConnectionLost if there was none, if it was cut, after so many
        seconds of silence, or if it goes on for much longer than ``timeoutSeconds`` of ``params``.
        """
        headers = [(name, value) for name, value in self._headers if name != "accept-encoding"]
        timeout = self._urllib3.Timeout(connect=self._timeout.connect_timeout, read=silence)
        limit = AnswerLimit(float(params.get("timeoutSeconds", 0)) + silence, bounds.RECORDING_BYTES)
        with self._open_request(path, params, headers, timeout, limit) as reply:
            if reply.status != 200:
                raise UnexpectedReply(self._whole(reply))
            yield b""
            rest: list[bytes] = []
            size = 0
            for chunk in reply.stream(_AT_ONCE, decode_content=False):
                if b"\n" in chunk:
                    *lines, last = b"".join([*rest, chunk]).split(b"\n")
                    yield from map(self.secrets.conceal_data, lines)
                    rest, size = [last], len(last)
                    continue
                rest.append(chunk)
                size += len(chunk)
                if size > bounds.LINE_BYTES:
                    raise ConnectionLost(f"a line is longer than the limit of {bounds.LINE_BYTES:,} bytes")

    def _whole(self, reply: Any) -> Reply:
        """An answer, read to its end. Raises InputError for one that is too large or cannot be unpacked."""
        body = decompress_all(reply.stream(decode_content=False), bounds.ANSWER_BYTES)
        return Reply(reply.status, reply.headers, self.secrets.conceal_data(body))

    @contextmanager
    def _open_request(
        self,
        path: str,
        params: Mapping[str, str | int] | None,
        more: Sequence[tuple[str, str]],
        timeout: Any,
        limit: AnswerLimit,
    ) -> Iterator[Any]:
        """An answer that is still to be read. Raises ConnectionLost if there is none, or for errors while it
        is read.
        """
        url = f"{str(self._configuration.host).rstrip('/')}{path}"
        if params:
            url += f"?{urlencode(params)}"
        errors = self._urllib3.exceptions
        headers = self._urllib3.response.HTTPHeaderDict(more)
        try:
            with self._lock, self._complaints:  # credentials may have to be fetched anew
                token = self._configuration.auth_settings().get("BearerToken")
            if token is not None:
                # A file with a token ends in a newline as often as not.
                headers["authorization"] = part_of(token, "value").strip()
                self.secrets.add_header(headers["authorization"])
            _check(headers)
            with answers_within(limit):
                reply = self._pool.request(
                    "GET",
                    url,
                    headers=headers,
                    timeout=timeout,
                    retries=False,
                    redirect=False,
                    enforce_content_length=True,
                    preload_content=False,
                )
            try:
                yield reply
            finally:
                reply.close()
        except (errors.HTTPError, OSError) as error:
            dropped = _to_connection_lost(error, errors)
            raise ConnectionLost(self.secrets.conceal(str(dropped)), final=dropped.final) from None
        except InputError as error:
            raise ConnectionLost(self.secrets.conceal(str(error))) from None
        except ValueError:
            # What libraries say of a request may quote it.
            raise ConnectionLost(_NOT_SENT, final=True) from None


def _check(headers: Mapping[str, str]) -> None:
    """Raises ConnectionLost for an invalid header, without quoting it, as the library would: it may be a credential."""
    for name, value in headers.items():
        if not (value.isprintable() and value.isascii()):
            what = "the bearer token" if name == "authorization" else f"the header {name}"
            raise ConnectionLost(f"{what} holds a character that cannot be sent", final=True)


def _configure(configuration: Any, connection: Connection, complaints: _WarningHandler) -> str:
    """Fill in the server and the credentials; returns the name of the context."""
    import kubernetes.config
    import yaml

    config: Any = kubernetes.config
    path, there = connection.path, connection.files()
    try:
        with complaints:
            if not there and not connection.kubeconfig and not connection.context and os.environ.get(IN_CLUSTER):
                path = "in-cluster"
                config.load_incluster_config(client_configuration=configuration)
                return path
            if not there:
                raise ClusterError(f"no kubeconfig: {path}: no such file; name one with --kubeconfig")
            path = os.pathsep.join(there)
            for file in there:
                if os.stat(file).st_size > bounds.SETTINGS_BYTES:
                    raise ClusterError(f"{file}: larger than the limit of {bounds.SETTINGS_BYTES:,} bytes")
            config.load_kube_config(path, context=connection.context, client_configuration=configuration)
            context = connection.context or part_of(config.list_kube_config_contexts(path)[1], "name")
    except config.ConfigException as error:
        raise ClusterError(f"{path}: {_describe_error(error)}") from None
    except yaml.YAMLError as error:
        raise ClusterError(f"{path}: not valid YAML: {_describe_error(error)}") from None
    except OSError as error:
        raise ClusterError(f"{error.filename or path}: cannot be read: {error.strerror or error}") from None
    except (AttributeError, KeyError, TypeError, ValueError):
        # The client takes the shape of the file for granted.
        raise ClusterError(f"{path}: not a kubeconfig") from None
    if complaints.last:
        raise ClusterError(f"{path}: context {context}: no credentials: {complaints.last}")
    return str(context)


class _WarningHandler(logging.Handler):
    """Collects the client's log messages about missing credentials, without which it goes on.

    Meanwhile credential plugins have ``limit`` seconds.
    """

    def __init__(self, limit: float) -> None:
        super().__init__(logging.ERROR)
        self.last = ""
        self._limit = limit
        self._until = 0.0

    def emit(self, record: logging.LogRecord) -> None:
        self.last = _describe_error(record.getMessage())

    def __enter__(self) -> None:
        self._until = time.monotonic() + self._limit
        logging.getLogger().addHandler(self)
        for module in _programs():
            module.subprocess = SimpleNamespace(Popen=self._program, PIPE=subprocess.PIPE)

    def __exit__(self, *_: object) -> None:
        for module in _programs():
            module.subprocess = subprocess
        logging.getLogger().removeHandler(self)

    def _program(self, *args: Any, **options: Any) -> subprocess.Popen[Any]:
        return _CredentialProgram(max(0.0, self._until - time.monotonic()), *args, **options)


def _programs() -> tuple[Any, ...]:
    """The client's modules that run credential plugins and wait for them without a limit."""
    from kubernetes.config import exec_provider, kube_config

    return exec_provider, kube_config


class _CredentialProgram(subprocess.Popen[Any]):
    """A program that is ended if it takes longer than ``limit`` seconds."""

    def __init__(self, limit: float, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._limit = limit

    def communicate(self, input: Any = None, timeout: float | None = None) -> tuple[Any, Any]:
        try:
            return super().communicate(input, self._limit)
        except subprocess.TimeoutExpired:
            with self:
                self.kill()
            raise TimeoutError("exec: no credentials within the time allowed (--timeout)") from None


def _to_connection_lost(error: Exception, errors: Any) -> ConnectionLost:
    """What went wrong on the way, in a few words."""
    reason = getattr(error, "reason", None)
    cause = reason if isinstance(reason, Exception) else error
    below = cause.__cause__ or cause.__context__
    if isinstance(cause, errors.SSLError) or "CERTIFICATE_VERIFY_FAILED" in str(cause):
        return ConnectionLost(
            f"TLS: {_TEMPORARY_ADDRESS.sub('', str(cause)).removeprefix('[SSL: CERTIFICATE_VERIFY_FAILED] ')}",
            final=True,
        )
    if isinstance(below, socket.gaierror):
        return ConnectionLost("no such host")
    if isinstance(cause, errors.ConnectTimeoutError) and not isinstance(cause, errors.NewConnectionError):
        return ConnectionLost("no connection within the time allowed (--request-timeout)")
    if isinstance(cause, errors.TimeoutError) and not isinstance(cause, errors.NewConnectionError):
        return ConnectionLost("no answer within the time allowed (--request-timeout)")
    if isinstance(below, OSError) and below.strerror:
        return ConnectionLost(below.strerror.lower())
    if isinstance(cause, errors.ProtocolError | errors.IncompleteRead):
        return ConnectionLost("the connection was cut")
    if isinstance(cause, OSError) and cause.strerror:
        return ConnectionLost(f"{cause.filename or ''}: {cause.strerror}".lstrip(": "), final=True)
    return ConnectionLost(_describe_error(cause))


def _describe_error(error: object) -> str:
    return _LIBRARY_WORDS.sub("", " ".join(str(error).split()))
