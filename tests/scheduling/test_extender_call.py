"""One call over the wire: trust, redirects, time, and what is said when it fails."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from time import monotonic

import pytest

from kwhatif.errors import PolicyError
from kwhatif.golang.parsing import Duration
from kwhatif.policy.structs import Extender, ExtenderTLSConfig
from kwhatif.scheduling.extenders.http_caller import Caller, ExtenderError
from tests.scheduling.extender_server import (
    CERTIFICATE,
    DATA,
    KEY,
    PATIENCE,
    SLOW,
    SLOW_BODY,
    Raw,
    serving,
)

PEM, KEY_PEM, OTHER = CERTIFICATE.read_bytes(), KEY.read_bytes(), (DATA / "other-cert.pem").read_bytes()


def called(url: str, tls: ExtenderTLSConfig | None = None, *, https: bool = False, limit: str = "5s") -> str:
    """What comes back as text, or what went wrong, with the address left out."""
    configured = Extender(url_prefix=url, enable_https=https, tls_config=tls)
    try:
        code, body = Caller(configured, Duration.parse(limit)).post(url, b'{"a": 1}')
    except ExtenderError as error:
        return str(error).replace(url, "URL")
    return f"{code} {body.decode()}"


UNTRUSTED = "extender URL: its certificate is not trusted: self-signed certificate"


@pytest.mark.parametrize(
    ("tls", "https", "expected"),
    [
        pytest.param(None, False, UNTRUSTED, id="nobody vouches for it"),
        pytest.param(None, True, "200 1", id="enableHTTPS without an authority trusts anybody"),
        pytest.param(ExtenderTLSConfig(insecure=True), False, "200 1", id="insecure"),
        pytest.param(ExtenderTLSConfig(ca_data=PEM), True, "200 1", id="its authority as data"),
        pytest.param(ExtenderTLSConfig(ca_file=str(CERTIFICATE)), True, "200 1", id="its authority in a file"),
        pytest.param(ExtenderTLSConfig(ca_data=OTHER), True, UNTRUSTED, id="another authority"),
        pytest.param(
            ExtenderTLSConfig(ca_data=PEM, ca_file="/nowhere"), True, "200 1", id="data takes precedence over a file"
        ),
        pytest.param(ExtenderTLSConfig(ca_data=PEM, server_name="extender.test"), True, "200 1", id="by another name"),
        pytest.param(
            ExtenderTLSConfig(ca_data=PEM, server_name="example.com"),
            True,
            "extender URL: its certificate is not trusted: "
            "Hostname mismatch, certificate is not valid for 'example.com'.",
            id="by a name that it does not have",
        ),
    ],
)
def test_trust(tls: ExtenderTLSConfig | None, https: bool, expected: str) -> None:
    with serving({"verb": 1}, tls=True) as server:
        assert called(f"{server.url}/verb", tls, https=https) == expected


@pytest.mark.parametrize(
    "tls",
    [
        pytest.param(ExtenderTLSConfig(ca_data=PEM, cert_data=PEM, key_data=KEY_PEM), id="as data"),
        pytest.param(ExtenderTLSConfig(ca_data=PEM, cert_file=str(CERTIFICATE), key_file=str(KEY)), id="in files"),
    ],
)
def test_a_certificate_of_our_own(tls: ExtenderTLSConfig) -> None:
    with serving({"verb": 1}, tls=True, wants_certificate=True) as server:
        assert called(f"{server.url}/verb", tls) == "200 1"


def test_a_certificate_without_its_key_is_not_shown() -> None:
    tls = ExtenderTLSConfig(ca_data=PEM, cert_data=PEM)
    with serving({"verb": 1}, tls=True, wants_certificate=True) as server:
        found = called(f"{server.url}/verb", tls)
    # The server says why and hangs up; either may be what arrives first.
    assert found in (
        "extender URL: no encrypted connection: tlsv13 alert certificate required",
        "extender URL: connection reset by peer",
        "extender URL: broken pipe",
        "extender URL: it closed the connection without an answer",
    )


@pytest.mark.parametrize(
    ("tls", "problem"),
    [
        pytest.param(
            ExtenderTLSConfig(insecure=True, ca_data=PEM),
            "specifying a root certificates file with the insecure flag is not allowed",
            id="both trust and no trust",
        ),
        pytest.param(
            ExtenderTLSConfig(ca_file="/nowhere/ca.pem"),
            "open /nowhere/ca.pem: no such file or directory",
            id="no file",
        ),
        pytest.param(
            ExtenderTLSConfig(ca_data=b"x"),
            "unable to load root certificates: unable to parse bytes as PEM block",
            id="an authority that is none",
        ),
        pytest.param(
            ExtenderTLSConfig(cert_data=OTHER, key_data=KEY_PEM),
            "the client certificate and its key do not load: key values mismatch",
            id="somebody else's key",
        ),
    ],
)
def test_settings_that_do_not_start(tls: ExtenderTLSConfig, problem: str) -> None:
    with pytest.raises(PolicyError) as caught:
        Caller(Extender(url_prefix="https://x", tls_config=tls), Duration.of_seconds(5))
    assert str(caught.value) == f"couldn't build extenders: https://x: {problem}"


def test_a_client_key_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    Caller(Extender(tls_config=ExtenderTLSConfig(cert_data=PEM, key_data=KEY_PEM)), Duration.of_seconds(5))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        pytest.param("ftp://x/verb", "this is no address of a web server", id="another scheme"),
        pytest.param("/verb", "this is no address of a web server", id="no scheme"),
        pytest.param("http:///verb", "this is no address of a web server", id="no host"),
        pytest.param("http://nobody.invalid/", "there is no host of this name", id="nobody"),
        pytest.param(f"http://{'x' * 70}.invalid/", "there is no host of this name", id="a name that cannot be"),
    ],
)
def test_addresses(url: str, expected: str) -> None:
    assert called(url) == f"extender URL: {expected}"


def test_plain_http_behind_https() -> None:
    with serving({"verb": 1}) as server:
        found = called(server.url.replace("http:", "https:") + "/verb", https=True)
    assert found == "extender URL: no encrypted connection: wrong version number"


def test_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        assert called(f"http://127.0.0.1:{taken.getsockname()[1]}/verb") == "extender URL: connection refused"


@pytest.mark.parametrize(
    ("code", "method"),
    [(301, "GET"), (302, "GET"), (303, "GET"), (307, "POST"), (308, "POST")],
)
def test_redirects_are_followed_as_go_does(code: int, method: str) -> None:
    moved = Raw(code=code, headers={"Location": "/there"})
    with serving({"here": moved, "there": lambda body: {"body": body}}) as server:
        found = called(f"{server.url}/here")
    assert found == ('200 {"body": {"a": 1}}' if method == "POST" else '200 {"body": null}')


def test_but_not_for_ever() -> None:
    with serving({"here": Raw(code=307, headers={"Location": "/here"})}) as server:
        assert called(f"{server.url}/here") == "extender URL: stopped after 10 redirects"
        assert len(server.requests) == 10


@pytest.mark.parametrize("kept", [True, False])
def test_connections_are_kept_as_long_as_the_extender_keeps_them(kept: bool) -> None:
    with serving({"verb": 1}, keeps=kept) as server:
        caller = Caller(Extender(url_prefix=server.url), Duration.of_seconds(5))
        assert [caller.post(f"{server.url}/verb", b"{}") for _ in range(3)] == [(200, b"1")] * 3
        assert server.connections == (1 if kept else 3)
        del caller  # lets go of the connection


def test_a_login_in_the_address_is_sent_and_not_told() -> None:
    with serving({"verb": Raw(code=500)}) as server:
        url = server.url.replace("://", "://me:secret@")
        assert called(f"{url}/verb") == "500 "
        assert server.headers["Authorization"] == "Basic bWU6c2VjcmV0"
    assert "secret" not in called(f"{url}/verb")


@pytest.mark.parametrize("behaviour", [SLOW, SLOW_BODY], ids=["no answer", "half an answer"])
def test_the_whole_call_has_one_time_limit(behaviour: object) -> None:
    with serving({"verb": behaviour}) as server:
        begun = monotonic()
        assert called(f"{server.url}/verb", limit="50ms") == "extender URL: no answer within 50ms"
        assert 0.05 <= monotonic() - begun < PATIENCE


def test_a_server_that_drips_does_not_get_more_time() -> None:
    """Each byte comes in time, all of them do not."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/verb"
        caller = Caller(Extender(), Duration.parse("100ms"))

        def drip() -> None:
            line, _ = listening.accept()
            with line:
                line.recv(65536)
                try:
                    while not done.wait(0.01):
                        line.sendall(b"H")
                except OSError:
                    pass

        done = threading.Event()
        dripping = threading.Thread(target=drip)
        dripping.start()
        # A caller that waits as long as something comes would wait forever.
        with pytest.raises(ExtenderError) as caught:
            caller.post(url, b"{}")
        done.set()
        dripping.join()
    assert caught.value.late
