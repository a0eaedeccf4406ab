"""Whom a dump asks, in whose name, and what it says when nobody answers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kwhatif.api.core import Node
from tests.cli.running import refused, run
from tests.snapshot.dumping import dump, dumped
from tests.snapshot.server import CERTIFICATE, ApiServer, Silence

pytestmark = pytest.mark.usefixtures("hurry")


# --- who asks


def test_the_user_of_the_kubeconfig_asks(server: ApiServer, tmp_path: Path) -> None:
    ran = dump(server, tmp_path, token="viewer")
    assert ran.code == 2
    # The token of this server is the name of who asks, and a token is not shown, whoever says it.
    assert ran.err == (
        f"kwhatif: loop ({server.url}): the nodes cannot be read: forbidden (403: nodes is forbidden: User "
        '"***" cannot list resource "nodes" in API group "" at the cluster scope)\n'
    )
    assert [path.name for path in tmp_path.iterdir()] == ["kubeconfig.json"]


def test_one_may_ask_in_the_name_of_another(server: ApiServer, tmp_path: Path) -> None:
    assert dump(server, tmp_path, "--as", "viewer", "--as-group", "a", "--as-group", "b").code == 2
    headers = server.requests[0].headers
    assert (headers["impersonate-user"], headers["impersonate-group"]) == (["viewer"], ["a", "b"])
    assert headers["authorization"] == ["Bearer admin"]


def test_a_group_alone_is_nobody(server: ApiServer, tmp_path: Path) -> None:
    assert dump(server, tmp_path, "--as-group", "a").err == (
        "kwhatif: --as-group needs --as: a group cannot be impersonated alone\n"
    )


def test_a_bad_token_is_one_line(server: ApiServer, tmp_path: Path) -> None:
    ran = dump(server, tmp_path, token="expired")
    assert ran.err == (
        f"kwhatif: loop ({server.url}): version: unauthorized (401): the credentials are missing, wrong or expired\n"
    )


def test_a_file_with_a_token_may_end_in_a_newline(server: ApiServer, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("admin\n")
    assert len(dumped(server, tmp_path, user={"tokenFile": str(tmp_path / "token")}).objects.list_all(Node)) == 67
    assert {tuple(asked.headers["authorization"]) for asked in server.requests} == {("Bearer admin",)}


@pytest.mark.parametrize("token", ["hunter2\nX: y", "hunter2\0", "hunter2\u20ac", "hunter2\u00fc"])
def test_a_token_that_cannot_be_sent_is_not_told(token: str, server: ApiServer, tmp_path: Path) -> None:
    ran = dump(server, tmp_path, token=token)
    problem = "cannot be reached: the bearer token holds a character that cannot be sent"
    assert (ran.code, ran.err) == (2, f"kwhatif: loop ({server.url}): {problem}\n")
    assert server.requests == []


def test_nor_is_a_name_that_cannot_be_sent(server: ApiServer, tmp_path: Path) -> None:
    ran = dump(server, tmp_path, "--as", "hunter2\n")
    assert ran.code == 2
    assert "the header impersonate-user holds a character that cannot be sent" in ran.err
    assert "hunter2" not in ran.err


def test_what_a_library_says_of_a_header_is_not_told(
    server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, headers: Any, **__: Any) -> Any:
        raise ValueError(f"Invalid header value {headers['authorization'].encode()!r}")

    monkeypatch.setattr("urllib3.PoolManager.request", refuse)
    ran = dump(server, tmp_path, token="hunter2")
    assert ran.code == 2
    assert "hunter2" not in ran.err


@pytest.mark.posix
def test_an_exec_plugin_that_never_ends_is_ended(server: ApiServer, tmp_path: Path) -> None:
    sleeper = f"echo $$ > {tmp_path}/process; exec sleep 1000"
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": ["-c", sleeper]}
    ran = dump(server, tmp_path, "--timeout", "0.5", user={"exec": plugin})
    assert ran.code == 2
    assert "(--timeout)" in ran.err
    process = int((tmp_path / "process").read_text())
    for _ in range(12_000):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)
    pytest.fail("the plugin is still there")


@pytest.mark.long
def test_an_exec_plugin_gives_the_token(server: ApiServer, tmp_path: Path) -> None:
    credential = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": "admin"},
    }
    plugin = {"apiVersion": credential["apiVersion"], "command": "echo", "args": [json.dumps(credential)]}
    assert len(dumped(server, tmp_path, user={"exec": plugin}).objects.list_all(Node)) == 67


@pytest.mark.parametrize(
    ("command", "args", "why"),
    [
        ("no-such-plugin", [], "No such file or directory: 'no-such-plugin'"),
        ("sh", ["-c", "echo login expired >&2; exit 3"], "exec: process returned 3. login expired"),
        ("echo", ["nonsense"], "exec: failed to decode process output: Expecting value: line 1 column 1 (char 0)"),
    ],
)
def test_an_exec_plugin_that_fails_is_one_line(
    command: str, args: list[str], why: str, server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if command == "no-such-plugin":
        # Where a directory may not be read, the system says that instead.
        monkeypatch.setenv("PATH", str(tmp_path))
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": command, "args": args}
    ran = dump(server, tmp_path, user={"exec": plugin})
    config = tmp_path / "kubeconfig.json"
    assert (ran.code, ran.err) == (2, f"kwhatif: {config}: context loop: no credentials: {why}\n")
    assert server.requests == []


@pytest.mark.parametrize(
    ("text", "words", "why"),
    [
        (None, (), "no such file; name one with --kubeconfig"),
        ("{", (), "not valid YAML: "),
        ("", (), "file is empty"),
        ("[]", (), "not a kubeconfig"),
        ("a: b", (), "Expected key current-context in"),
        ("current-context: x\ncontexts: []\nclusters: []\nusers: []\n", (), "Expected object with name x in"),
        (
            "current-context: x\ncontexts: [{name: x, context: {cluster: y, user: z}}]\nclusters: []\nusers: []\n",
            ("--context", "other"),
            "Expected object with name other in",
        ),
    ],
)
def test_a_bad_kubeconfig_is_one_line(text: str | None, words: tuple[str, ...], why: str, tmp_path: Path) -> None:
    path = tmp_path / "config"
    if text is not None:
        path.write_text(text)
    line = refused("snapshot", "dump", "--kubeconfig", str(path), "-o", str(tmp_path / "c.json"), *words)
    assert str(path) in line
    assert why in line
    assert not (tmp_path / "c.json").exists()


def test_without_a_kubeconfig_the_service_account_of_the_pod_is_used(tmp_path: Path) -> None:
    env = {
        "HOME": str(tmp_path),
        "KUBECONFIG": "",
        "KUBERNETES_SERVICE_HOST": "10.0.0.1",
        "KUBERNETES_SERVICE_PORT": "443",
    }
    ran = run("snapshot", "dump", "-o", str(tmp_path / "c.json"), env=env)
    assert (ran.code, ran.err) == (2, "kwhatif: in-cluster: Service token file does not exist.\n")


def test_several_kubeconfigs_are_put_together(server: ApiServer, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("apiVersion: v1\nkind: Config\n")
    env = {"KUBECONFIG": f"{tmp_path / 'missing'}:{server.kubeconfig(tmp_path)}:{other}"}
    ran = run("snapshot", "dump", "-o", str(tmp_path / "c.json"), "--chunk-size", "50", env=env)
    assert ran.code == 0, ran.err


# --- the way there


def cannot_be_reached(url: str, tmp_path: Path, *words: str, cluster: Any = None) -> str:
    server = ApiServer()
    config = json.loads(Path(server.kubeconfig(tmp_path)).read_text())
    server._http.server_close()
    config["clusters"][0]["cluster"] = {"server": url, **(cluster or {})}
    (tmp_path / "kubeconfig.json").write_text(json.dumps(config))
    kubeconfig = str(tmp_path / "kubeconfig.json")
    return refused("snapshot", "dump", "--kubeconfig", kubeconfig, "-o", str(tmp_path / "c.json"), *words)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://127.0.0.1:1", "connection refused"),
        ("http://no-such-host.invalid", "no such host"),
        ("ftp://127.0.0.1", "Not supported URL scheme ftp"),
    ],
)
def test_a_server_that_is_not_there_is_one_line(url: str, why: str, tmp_path: Path) -> None:
    assert cannot_be_reached(url, tmp_path) == f"loop ({url}): cannot be reached: {why}"


def test_a_server_that_says_nothing_is_one_line(server: ApiServer, tmp_path: Path) -> None:
    server.fail("/version", Silence())
    ran = dump(server, tmp_path, "--request-timeout", "0.1")
    assert ran.err == (
        f"kwhatif: loop ({server.url}): cannot be reached: no answer within the time allowed (--request-timeout)\n"
    )


def test_a_password_in_the_address_is_not_repeated(tmp_path: Path) -> None:
    line = cannot_be_reached("http://me:hunter2@127.0.0.1:1", tmp_path)
    assert line == "loop (http://127.0.0.1:1): cannot be reached: connection refused"


@pytest.mark.long
def test_a_certificate_of_nobody_known_is_one_line_unless_it_does_not_matter(tmp_path: Path) -> None:
    with ApiServer(tls=True) as server:
        ran = dump(server, tmp_path)
        assert ran.code == 2
        assert ran.err.startswith(
            f"kwhatif: loop ({server.url}): cannot be reached: TLS: certificate verify failed: self"
        )
        assert dump(server, tmp_path, "--insecure-skip-tls-verify").code == 0
        assert dump(server, tmp_path, cluster={"certificate-authority": str(CERTIFICATE)}).code == 0


def test_plain_text_where_tls_is_spoken_is_one_line(server: ApiServer, tmp_path: Path) -> None:
    line = cannot_be_reached(server.url.replace("http", "https"), tmp_path)
    assert line.startswith(f"loop ({server.url.replace('http', 'https')}): cannot be reached: TLS: ")


@pytest.mark.parametrize(
    ("out", "why"),
    [("missing/c.json", "there is no such directory"), (".", "it is a directory")],
)
def test_a_place_that_cannot_be_written_is_known_before_anything_is_read(
    out: str, why: str, server: ApiServer, tmp_path: Path
) -> None:
    path = tmp_path / out
    line = refused("snapshot", "dump", "--kubeconfig", server.kubeconfig(tmp_path), "-o", str(path))
    assert line == f"{path}: cannot be written: {why}"
    assert server.requests == []


@pytest.mark.long
@pytest.mark.posix
def test_an_interruption_leaves_nothing_and_does_not_wait_for_the_server(server: ApiServer, tmp_path: Path) -> None:
    server.fail("/api/v1/pods", Silence(), after=2)
    config, out = server.kubeconfig(tmp_path), tmp_path / "out"
    out.mkdir()
    words = ["snapshot", "dump", "--kubeconfig", config, "-o", str(out / "c.json"), "--chunk-size", "50"]
    running = subprocess.Popen(
        [sys.executable, "-m", "kwhatif", *words],
        stderr=subprocess.PIPE,
        text=True,
        # A shell has what it runs in the background ignore interruptions, which is inherited.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    assert server.seen.wait(120)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=120)
    assert (running.returncode, err) == (130, "kwhatif: interrupted\n")
    assert os.listdir(out) == []
