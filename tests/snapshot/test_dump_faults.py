"""What can go wrong between us and an API server, and what comes of it.

The table is in docs/contributing/behaviour/dump-faults.md.
"""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kwhatif.api.core import Node, Pod
from kwhatif.snapshot.live import requests as asker
from kwhatif.snapshot.live.live_cluster import Reply
from kwhatif.snapshot.load import load_snapshot
from tests.cli.running import run
from tests.snapshot.dumping import dump
from tests.snapshot.server import Answer, ApiServer, Cut, Drip, Fault, InTurn, Raw, Silence, Slam, objects_in, status_of

DOCS = Path(__file__).parents[2] / "docs/contributing/behaviour/dump-faults.md"
PODS, NODES = 389, 67

COMPLETE, UNREADABLE, NOTHING = "complete", "unreadable", "nothing"


@dataclass(frozen=True)
class Row:
    """What goes wrong for requests to ``path``, and what becomes of it; ``told`` is a part of standard error."""

    what: str
    path: str
    fault: Fault
    outcome: str
    told: str = ""
    times: int = 10**9
    after: int = 0
    kind: str = "Pod"
    words: tuple[str, ...] = ()


def refusal(code: int, message: str = "") -> Answer:
    return Answer(code, status_of(code, message))


def kind_of(kind: str) -> Answer:
    return Answer(200, {"kind": kind, "apiVersion": "v1", "items": []})


def page(items: Any, following: Any = None, **metadata: Any) -> Answer:
    """A page of pods, after which another one follows."""
    return Answer(200, {"kind": "PodList", "metadata": {"continue": following, **metadata}, "items": items})


def node_with(cpu: str) -> Answer:
    status = {"allocatable": {"cpu": cpu}}
    return Answer(200, {"kind": "NodeList", "items": [{"metadata": {"name": "n"}, "status": status}]})


IN_TIME, HURRIED = "the cluster was not read within 0.5 seconds (--timeout)", ("--timeout", "0.5")
IMPATIENT, PATIENT = ("--request-timeout", "0.1"), ("--request-timeout", "1")
LATER = Answer(503, headers={"Retry-After": "31536000"})
GZIP, BR = {"Content-Encoding": "gzip"}, {"Content-Encoding": "br"}
NO_ITEMS = Answer(200, {"kind": "ServiceList", "items": None})
NO_SERVICES = b'{"kind": "ServiceList", "items": []}'
PACKED = gzip.compress(b'{"kind": "PodList", "items": []}')
DAMAGED = PACKED[:-8] + b"8bytes!!"
BOMB = gzip.compress(b'{"kind": "PodList", "items": [' + b" " * 2**23)
CUT = "ends too early"
PODS_OF = '{"kind": "PodList", "items": [{"metadata": {"name": "p"}, "spec": {"priority": %s}}]}'
OK, CHUNKED = b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
HTML = Answer(200, "<html><body>Sign in</body></html>", type="text/html")

TABLE = (
    Row("429 with `Retry-After`, twice", "/api/v1/pods", Answer(429, headers={"Retry-After": "7"}), COMPLETE, times=2),
    Row(
        "429 forever",
        "/api/v1/pods",
        Answer(429, headers={"Retry-After": "0"}),
        NOTHING,
        "429: please try again later",
    ),
    Row("500 once, in the middle of a list", "/api/v1/pods", refusal(500), COMPLETE, times=1, after=3),
    Row(
        "503 from a proxy, without a Status", "/api/v1/nodes", Answer(503, "busy", type="text/plain"), COMPLETE, times=2
    ),
    Row(
        "503 forever",
        "/apis/apps/v1/deployments",
        refusal(503, "overloaded"),
        NOTHING,
        "503: overloaded; asked 6 times",
    ),
    Row("a page cut in the middle", "/api/v1/pods", Cut(0.5), COMPLETE, times=1, after=2),
    Row("a page cut in the middle, its length not announced", "/api/v1/pods", Cut(0.5, told=False), COMPLETE, times=2),
    Row("every page cut", "/api/v1/pods", Cut(0.9), NOTHING, "the connection was cut; asked 6 times"),
    Row("the connection closed before an answer", "/api/v1/namespaces", Slam(), COMPLETE, times=2),
    Row(
        "410 in the middle of a list, once",
        "/api/v1/pods",
        refusal(410),
        COMPLETE,
        "reading it again",
        times=1,
        after=4,
    ),
    Row("410 each time before the list ends", "/api/v1/pods", refusal(410), COMPLETE, times=3, after=2),
    Row("403 for a kind", "/api/v1/services", refusal(403, "services is forbidden"), UNREADABLE, "", kind="Service"),
    Row("403 for the pods", "/api/v1/pods", refusal(403, "pods is forbidden"), UNREADABLE, "403: pods is forbidden"),
    Row("403 in the middle of a list", "/api/v1/pods", refusal(403, "no more"), UNREADABLE, "403: no more", after=3),
    Row(
        "404 for a kind",
        "/apis/policy/v1/.*",
        refusal(404),
        UNREADABLE,
        "does not serve",
        kind="PodDisruptionBudget",
    ),
    Row(
        "403 for the nodes",
        "/api/v1/nodes",
        refusal(403, "nodes is forbidden"),
        NOTHING,
        "the nodes cannot be read: forbidden (403",
    ),
    Row(
        "401 in the middle: the token has expired", "/api/v1/pods", refusal(401), NOTHING, "unauthorized (401)", after=3
    ),
    Row("400", "/api/v1/pods", refusal(400, "continue key is not valid"), NOTHING, "400: continue key is not valid"),
    Row("a redirect to a login page", "/api/v1/nodes", Answer(302, "", {"Location": "/login"}), NOTHING, "answers 302"),
    Row("HTML in place of a list", "/api/v1/pods", HTML, NOTHING, "list of pods: not valid JSON"),
    Row("JSON that is no list", "/api/v1/nodes", Answer(200, {"kind": "Status"}), NOTHING, 'found kind "Status"'),
    Row("HTML in place of the version: no API server", "/version", HTML, NOTHING, "this is no Kubernetes API server"),
    Row(
        "404 for the version: no API server",
        "/version",
        Answer(404, "nothing here"),
        NOTHING,
        "no Kubernetes API server",
    ),
    Row("403 for the version and the API groups", "/version|/apis", refusal(403), COMPLETE),
    Row(
        "an object of the wrong shape",
        "/api/v1/nodes",
        Answer(200, {"kind": "NodeList", "items": [{"metadata": {"name": "n"}, "spec": {"taints": "none"}}]}),
        NOTHING,
        "$.items[0].spec.taints: expected a list",
    ),
    Row(
        "a list whose next page is the same page forever",
        "/api/v1/pods",
        Answer(200, {"kind": "PodList", "metadata": {"continue": "again"}, "items": []}),
        NOTHING,
        "the next page is the same page again",
    ),
    # --- answers without end
    Row(
        "pages with a new token each time and nothing in them",
        "/api/v1/pods",
        InTurn(lambda number: page([], f"{number}")),
        NOTHING,
        "list of pods: 10 pages in a row hold nothing, and more are said to follow",
    ),
    Row(
        "pages with two tokens in turn and nothing in them",
        "/api/v1/pods",
        InTurn(lambda number: page([], "even" if number % 2 else "odd")),
        NOTHING,
        "the next page is one that was there before",
    ),
    Row(
        "pages with two tokens in turn and the same object in them",
        "/api/v1/pods",
        InTurn(lambda number: page([{"metadata": {"name": "p"}}], "even" if number % 2 else "odd")),
        NOTHING,
        "the next page is one that was there before",
    ),
    Row("a byte now and then", "/api/v1/nodes", Drip(), NOTHING, IN_TIME, words=HURRIED),
    Row("a byte now and then for the version", "/version", Drip(), NOTHING, IN_TIME, words=HURRIED),
    Row("no answer, once", "/api/v1/pods", Silence(), COMPLETE, "no answer within", 1, 2, words=PATIENT),
    Row("no answer forever", "/api/v1/pods", Silence(), NOTHING, "no answer within the time allowed", words=IMPATIENT),
    Row("a 503 with `Retry-After` of a year", "/api/v1/pods", LATER, COMPLETE, "asking again", times=1),
    Row("410 forever", "/api/v1/pods", refusal(410), NOTHING, "expires before it is read (410)"),
    # --- answers that are something else
    Row("a list of another kind", "/api/v1/pods", kind_of("NodeList"), NOTHING, 'a PodList, found kind "NodeList"'),
    Row("a list of no kind", "/api/v1/pods", Answer(200, {"items": []}), NOTHING, 'expected a PodList, found kind ""'),
    Row("one object in place of a list", "/api/v1/pods", kind_of("Pod"), NOTHING, 'a PodList, found kind "Pod"'),
    Row("a list of another group", "/apis/apps/v1/daemonsets", kind_of("JobList"), NOTHING, 'found kind "JobList"'),
    Row("a list without items", "/api/v1/pods", Answer(200, {"kind": "PodList"}), NOTHING, "a PodList without items"),
    Row(
        "a list whose items are null", "/api/v1/services", Answer(200, {"kind": "ServiceList", "items": None}), COMPLETE
    ),
    Row("a list whose items are an object", "/api/v1/pods", page({}), NOTHING, "expected a list, found an object"),
    Row("a JSON array", "/api/v1/pods", Answer(200, []), NOTHING, "expected an object, found a list"),
    Row("an empty body", "/api/v1/pods", Answer(200, ""), NOTHING, "not valid JSON: the text ends too early"),
    Row("JSON that is not UTF-8", "/api/v1/pods", Answer(200, b'{"kind": "\xff"}'), NOTHING, "not valid UTF-8"),
    Row("lists in lists without end", "/api/v1/pods", Answer(200, "[" * 99_999), NOTHING, "list of pods: "),
    Row("204 without a body", "/api/v1/pods", Answer(204, ""), NOTHING, "the server answers 204"),
    Row("405", "/api/v1/pods", refusal(405), NOTHING, "the server answers 405"),
    Row("a redirect to itself", "/api/v1/pods", Answer(307, "", {"Location": "/api/v1/pods"}), NOTHING, "answers 307"),
    Row("401 for the first question", "/version", refusal(401), NOTHING, "version: unauthorized (401)"),
    Row("403 for all lists", "/api/v1/.*|/apis/.*", refusal(403, "no"), NOTHING, "the nodes cannot be read"),
    Row("a version without a version", "/version", Answer(200, {}), NOTHING, "this is no Kubernetes API server"),
    Row("a version that is a number", "/version", Answer(200, {"gitVersion": 5}), NOTHING, "no Kubernetes API server"),
    Row("HTML in place of the API groups", "/apis", HTML, COMPLETE),
    Row("API groups of the wrong shape", "/apis", Answer(200, {"groups": 5}), COMPLETE),
    Row("HTML in place of the scheduler's own pod", "/api/v1/namespaces/kube-system/pods", HTML, COMPLETE),
    # --- packed answers
    Row("packed answers", "/api/v1/services", Answer(200, gzip.compress(NO_SERVICES), GZIP), COMPLETE),
    Row("a packed answer cut in the middle", "/api/v1/pods", Answer(200, PACKED[:-9], GZIP), COMPLETE, CUT, times=1),
    Row(
        "a packed answer that is damaged", "/api/v1/pods", Answer(200, PACKED[:-8] + b"8bytes!!", GZIP), NOTHING, "gzip"
    ),
    Row(
        "a packed answer that unpacks without end", "/api/v1/pods", Answer(200, BOMB, GZIP), NOTHING, "unpacks to more"
    ),
    Row(
        "an answer packed in a way that nobody asked for", "/api/v1/pods", Answer(200, b"\x0b\x02", BR), NOTHING, "JSON"
    ),
    # --- objects that are not what they should be
    Row("an object without a name", "/api/v1/pods", page([{}]), NOTHING, "$.items.metadata.name: expected a name"),
    Row("an object that is a number", "/api/v1/pods", page([5]), NOTHING, "$.items[0]: expected an object"),
    Row("a number beyond all ranges", "/api/v1/pods", Answer(200, PODS_OF % "1e999"), NOTHING, "list of pods"),
    Row("a quantity of nonsense", "/api/v1/nodes", node_with("lots"), NOTHING, "status.allocatable.cpu: "),
    Row("a token that is a number", "/api/v1/pods", page([], 5), NOTHING, "$.metadata.continue: expected a string"),
    Row("a token of hostile text", "/api/v1/pods", page([], "\r\nX: &limit=1"), NOTHING, "the same page again"),
    Row("a count that is text", "/api/v1/pods", page([], remainingItemCount="many"), NOTHING, "remainingItemCount"),
    Row("a refusal of hostile text", "/api/v1/pods", refusal(400, "\x1b[31m\n::error::"), NOTHING, "\\x1b[31m"),
    Row(
        "a refusal of a megabyte", "/api/v1/pods", refusal(400, "no" * 500_000), NOTHING, "the server answers 400: nono"
    ),
    # --- answers that are no HTTP
    Row("another protocol", "/api/v1/pods", Raw(b"SSH-2.0-OpenSSH_9.6\r\n"), NOTHING, "asked 6 times"),
    Row("headers without end", "/api/v1/pods", Raw(OK + b"a: b\r\n" * 5000), NOTHING, "asked 6 times"),
    Row("a header of a megabyte", "/api/v1/pods", Raw(OK + b"a: " + b"b" * 2**20 + b"\r\n"), NOTHING, "asked 6 times"),
    Row(
        "a chunk of a length that is no number", "/api/v1/pods", Raw(CHUNKED + b"many\r\n{}"), NOTHING, "asked 6 times"
    ),
    Row("a chunk that is cut", "/api/v1/pods", Raw(CHUNKED + b"ff\r\n{"), COMPLETE, "asking again", times=1),
    Row("the connection closed forever", "/api/v1/pods", Slam(), NOTHING, "asked 6 times", after=2),
)


WAIT = asker.wait


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with ApiServer() as started:
        whole = {"kind": "PodList", "metadata": {"resourceVersion": "2472"}, "items": list(objects_in("/api/v1/pods"))}
        started.put("/api/v1/pods", whole)
        yield started


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long was waited; nobody waits in a test."""
    waited: list[float] = []
    monkeypatch.setattr(asker, "wait", lambda stop, seconds: waited.append(seconds))
    return waited


@pytest.mark.long
@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.what)
def test_what_comes_of_a_fault(row: Row, server: ApiServer, tmp_path: Path) -> None:
    server.fail(row.path, row.fault, times=row.times, after=row.after)
    ran = dump(server, tmp_path, *row.words)
    assert row.told in ran.err
    assert ran.out == ""
    left = {path.name for path in tmp_path.iterdir()}
    if row.outcome == NOTHING:
        assert ran.code == 2
        assert left == {"kubeconfig.json"}
        line = ran.err.splitlines()[-1]
        assert line.startswith("kwhatif: ")
        assert "internal error" not in ran.err
        return
    assert ran.code == 0, ran.err
    assert left == {"kubeconfig.json", "cluster.json"}
    snapshot = load_snapshot([str(tmp_path / "cluster.json")])
    assert len(snapshot.objects.list_all(Node)) == NODES
    if row.outcome == COMPLETE:
        assert snapshot.unreadable == {}
        assert len(snapshot.objects.list_all(Pod)) == PODS
    else:
        assert list(snapshot.unreadable) == [row.kind]
        assert row.kind not in snapshot.objects.known_kinds()
        reason = snapshot.unreadable[row.kind]
        refused = f"warning: {row.kind} cannot be read: {reason}\n"
        assert (f"note: the cluster does not serve {row.kind}\n" if "404" in reason else refused) in ran.err


def test_the_documentation_has_this_table() -> None:
    outcomes = {COMPLETE: "complete", UNREADABLE: "complete but for that kind", NOTHING: "no file"}
    lines = DOCS.read_text(encoding="utf-8").splitlines()
    listed = [line for line in lines if line.startswith("| ") and line.rstrip("| ").endswith(tuple(outcomes.values()))]
    told = {line.split("|")[1].strip(): line.split("|")[2].strip() for line in listed}
    assert {row.what: outcomes[row.outcome] for row in TABLE}.items() <= told.items()
    assert len(TABLE) >= 60


def test_a_list_that_expires_is_begun_anew_and_in_the_end_asked_for_as_a_whole(
    server: ApiServer, tmp_path: Path
) -> None:
    server.put("/api/v1/pods", {"kind": "PodList", "metadata": {"resourceVersion": "9"}, "items": []})
    server.fail("/api/v1/pods", refusal(410), params={"continue": "2"})
    tokens = {"kind": "PodList", "metadata": {"continue": "2", "resourceVersion": "7"}, "items": []}
    server.put("/api/v1/pods?limit=50", tokens)
    assert dump(server, tmp_path).code == 0
    limits = [asked.params for asked in server.asked("/api/v1/pods")]
    first, second = {"limit": "50"}, {"limit": "50", "continue": "2"}
    assert limits == [first, second, first, second, first, second, {}]
    assert load_snapshot([str(tmp_path / "cluster.json")]).resource_versions["Pod"] == "9"


@pytest.mark.long
def test_a_list_that_expired_is_complete_and_of_one_version(server: ApiServer, tmp_path: Path) -> None:
    server.fail("/api/v1/pods", refusal(410), times=1, after=4)
    assert dump(server, tmp_path).code == 0
    snapshot = load_snapshot([str(tmp_path / "cluster.json")])
    assert snapshot.resource_versions["Pod"] == "2472"
    assert len(snapshot.objects.list_all(Pod)) == PODS


# --- waiting


def test_the_server_says_how_long_to_wait(server: ApiServer, tmp_path: Path, pauses: list[float]) -> None:
    server.fail("/api/v1/pods", Answer(429, headers={"Retry-After": "7"}), times=2)
    ran = dump(server, tmp_path)
    assert ran.code == 0
    assert pauses == [7.0, 7.0]
    assert ran.err.count("note: list of pods: the server answers 429: please try again later; asking again\n") == 2


def test_without_a_word_from_the_server_pauses_grow(server: ApiServer, tmp_path: Path, pauses: list[float]) -> None:
    server.fail("/api/v1/pods", refusal(503))
    assert dump(server, tmp_path).code == 2
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0]


@pytest.mark.parametrize(
    ("told", "pause"),
    [
        ("3", 3.0),
        ("0", 0.0),
        ("86400", 60.0),
        ("soon", 1.0),
        ("-3", 1.0),
        ("Wed, 01 Jan 2020 00:00:00 GMT", 0.0),
        ("Wed, 01 Jan 2020 00:00:00", 1.0),
        ("Fri, 01 Jan 2100 00:00:00 GMT", 60.0),
    ],
)
def test_retry_after_is_a_number_or_a_date_and_within_reason(told: str, pause: float) -> None:
    assert asker.pause_after(Reply(429, {"Retry-After": told}, b""), 1) == pause


def test_waiting_ends_when_all_is_stopped() -> None:
    stop = threading.Event()
    stop.set()
    WAIT(stop, 3600)


# --- what every later answer says


@pytest.mark.long
@pytest.mark.parametrize(
    ("path", "manifest", "what"),
    [
        (
            "/apis/scheduling.k8s.io/v1/.*",
            "priorityClassName: std",
            "PriorityClass could not be read: forbidden (403: no)",
        ),
        (
            "/api/v1/persistentvolumeclaims",
            "volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]",
            "PersistentVolumeClaim could not be read: forbidden (403: no)",
        ),
        ("/api/v1/limitranges", "", "LimitRange could not be read: forbidden (403: no)"),
        ("/api/v1/resourcequotas", "", "ResourceQuota could not be read: forbidden (403: no)"),
        ("/apis/node.k8s.io/v1/.*", "runtimeClassName: heavy", "RuntimeClass could not be read: forbidden (403: no)"),
    ],
)
def test_an_answer_that_needs_an_unreadable_kind_says_so(
    path: str, manifest: str, what: str, server: ApiServer, tmp_path: Path
) -> None:
    server.fail(path, refusal(403, "no"))
    assert dump(server, tmp_path).code == 0
    pod = tmp_path / "pod.yaml"
    spec = f"  {manifest}\n" if manifest else ""
    pod.write_text(
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec:\n  containers: [{{name: c, image: i}}]\n{spec}"
    )
    ran = run("place", str(pod), "--snapshot", str(tmp_path / "cluster.json"), "-o", "json")
    gaps = {gap["what"]: gap["pods"] for gap in json.loads(ran.out)["fidelity"]["gaps"]}
    assert gaps.get(what) == ["default/p"], gaps


@pytest.mark.long
def test_pods_that_could_not_be_read_are_refused_unless_nodes_are_said_to_be_empty(
    server: ApiServer, tmp_path: Path
) -> None:
    server.fail("/api/v1/pods", refusal(403, "no"))
    assert dump(server, tmp_path).code == 0
    asked = ("place", "data/small.yaml", "--snapshot", str(tmp_path / "cluster.json"), "-o", "json")
    refused = run(*asked)
    assert refused.code == 2
    assert "found that they could not be read: forbidden (403: no): what is free is not known" in refused.err
    gaps = {gap["what"]: gap["pods"] for gap in json.loads(run(*asked, "--assume-empty").out)["fidelity"]["gaps"]}
    assert gaps.get("Pod could not be read: forbidden (403: no)") == ["default/small"], gaps


@pytest.mark.long
def test_an_answer_that_does_not_need_the_kind_is_not_in_doubt(server: ApiServer, tmp_path: Path) -> None:
    server.fail("/apis/node.k8s.io/v1/.*", refusal(403, "no"))
    assert dump(server, tmp_path).code == 0
    pod = tmp_path / "pod.yaml"
    pod.write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i}]}\n")
    ran = run("place", str(pod), "--snapshot", str(tmp_path / "cluster.json"), "-o", "json")
    gaps = {gap["what"]: gap["pods"] for gap in json.loads(ran.out)["fidelity"]["gaps"]}
    assert gaps.get("RuntimeClass could not be read: forbidden (403: no)") == []


@pytest.mark.long
def test_strict_writes_nothing_if_a_kind_may_not_be_read(server: ApiServer, tmp_path: Path) -> None:
    server.fail("/api/v1/services", refusal(403, "services is forbidden"))
    ran = dump(server, tmp_path, "--strict")
    assert (ran.code, ran.err) == (
        2,
        "kwhatif: --strict: Service cannot be read: forbidden (403: services is forbidden)\n",
    )
    assert not (tmp_path / "cluster.json").exists()


def test_strict_does_not_mind_what_the_cluster_does_not_serve(server: ApiServer, tmp_path: Path) -> None:
    server.fail("/apis/resource.k8s.io/.*", refusal(404))
    assert dump(server, tmp_path, "--strict").code == 0
