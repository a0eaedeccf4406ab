"""A request becomes the command of a command line, answered to the byte as that answers, without any file at hand."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

import kwhatif
from kwhatif.render.formats import as_json
from kwhatif.serve.answers import ServedCluster, answer
from kwhatif.serve.fields import routes
from kwhatif.serve.replies import COMMAND_LINE, JSON, PROBLEM, Reply
from kwhatif.snapshot.load import load_snapshot

SAMPLES = Path(__file__).parents[2] / "samples"
WEB = (SAMPLES / "manifests" / "web.yaml").read_text()


@cache
def cluster() -> ServedCluster:
    return ServedCluster(load_snapshot([str(SAMPLES / "cluster")]))


def ask(name: str, media: str = JSON, **fields: Any) -> Reply:
    return answer(routes()[name], json.dumps(fields).encode(), cluster(), media=media)


def problem_of(reply: Reply) -> dict[str, Any]:
    assert reply.media == PROBLEM
    problem: dict[str, Any] = json.loads(reply.body)
    assert problem["status"] == reply.status
    return problem


ALIKE: list[tuple[str, dict[str, Any], Callable[[Any], Any]]] = [
    ("drain", {"nodes": ["general-a-2"]}, lambda snapshot: kwhatif.drain(["general-a-2"], snapshot=snapshot)),
    (
        "explain",
        {"pods": ["reindex-3-2f9gk"]},
        lambda snapshot: kwhatif.explain(["reindex-3-2f9gk"], snapshot=snapshot),
    ),
    ("outage", {"nodes": ["general-a-2"]}, lambda snapshot: kwhatif.outage(nodes=["general-a-2"], snapshot=snapshot)),
    ("place", {"withPending": True}, lambda snapshot: kwhatif.place(with_pending=True, snapshot=snapshot)),
    (
        "place",
        {"withPending": True, "cordon": ["general-a-2"], "edits": [{"cordon": "general-a-1"}]},
        lambda snapshot: kwhatif.place(
            with_pending=True, snapshot=snapshot, edits=[{"cordon": "general-a-1"}, {"cordon": "general-a-2"}]
        ),
    ),
]


@pytest.mark.parametrize(("name", "fields", "question"), ALIKE, ids=[name for name, _, _ in ALIKE])
def test_an_answer_is_that_of_the_python_function(
    name: str, fields: dict[str, Any], question: Callable[[Any], Any]
) -> None:
    reply, result = ask(name, **fields), question(cluster().snapshot)
    assert reply.status == 200
    assert reply.body.decode() == as_json(result)
    assert reply.exit_code == result.exit_code


def test_manifests_are_a_text_or_objects_and_a_text_may_have_a_name() -> None:
    objects = list(yaml.safe_load_all(WEB))
    forms = [WEB, [WEB], objects, [{"name": "web.yaml", "text": WEB}]]
    plain = [json.loads(ask("place", manifests=form).body)["placements"] for form in forms]
    assert plain[0]
    assert all([each["node"] for each in form] == [each["node"] for each in plain[0]] for form in plain)
    wrong = ask("place", manifests=[{"name": "web.yaml", "text": "kind: ["}])
    assert problem_of(wrong)["file"].startswith("web.yaml")


def test_a_command_line_gets_exit_code_and_notes_besides() -> None:
    reply = ask("place", COMMAND_LINE, manifests=WEB)
    envelope = json.loads(reply.body)
    assert envelope["exitCode"] == reply.exit_code
    assert isinstance(envelope["notes"], list)
    assert envelope["answer"] == json.loads(ask("place", manifests=WEB).body)


PROBLEMS: list[tuple[str, dict[str, Any], int, str, str]] = [
    ("place", {}, 400, "", "or ask for withPending"),
    ("place", {"manifest": WEB}, 422, "$", 'unknown field "manifest"'),
    ("place", {"manifests": WEB, "maxPods": 0}, 422, "$.maxPods", "at least 1"),
    ("place", {"manifests": WEB, "plugins": ["os:system"]}, 422, "$", 'unknown field "plugins"'),
    ("place", {"manifests": ["kind: Pod\n"]}, 422, "$.apiVersion", "manifests[0]"),
    ("place", {"manifests": WEB, "now": "noon"}, 422, "$.now", "expected a time"),
    ("place", {"manifests": [{"name": "http://example.com/a", "text": WEB}]}, 422, "$.manifests[0].name", "name"),
    ("place", {"manifests": WEB, "policy": "kind: Nothing"}, 422, "", "policy"),
    ("drain", {"nodes": ["nowhere"]}, 422, "", "nowhere"),
    ("drain", {}, 400, "", "name the nodes to drain"),
    ("upgrade", {"pool": None}, 422, "$", "pool is missing"),
    ("place", {"manifests": WEB, "load": {"a": 1}}, 422, "$", "load: "),
    ("place", {"manifests": WEB, "autoscale": [{"a": 1}]}, 422, "$.kind", "autoscale[0]: "),
]


@pytest.mark.parametrize(("name", "fields", "status", "place", "detail"), PROBLEMS)
def test_what_is_wrong_is_a_problem_with_its_place(
    name: str, fields: dict[str, Any], status: int, place: str, detail: str
) -> None:
    reply = ask(name, **fields)
    problem = problem_of(reply)
    assert (reply.status, problem.get("place", "")) == (status, place), problem
    assert detail in problem["detail"]


@pytest.mark.parametrize(
    "body", [b"{", b"[]", b"\xff", b'{"manifests": ' + b"[" * 100_000, b"null", b'{"nodes": 1e999}']
)
def test_what_is_no_request_is_a_problem(body: bytes) -> None:
    assert answer(routes()["drain"], body, cluster()).status in (400, 422)


@pytest.mark.long
def test_no_file_of_the_machine_is_read_for_a_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a field says: it is a text, a name of an object, or refused."""
    secret = tmp_path / "secret.yaml"
    secret.write_text(WEB)
    (tmp_path / ".kwhatif.yaml").write_text("apiVersion: kwhatif.dev/v1\nkind: GatePolicy\nrules: {}\n")
    monkeypatch.chdir(tmp_path)
    opened: list[str] = []
    watching = False

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if watching and event == "open" and str(arguments[0]).startswith(str(tmp_path)):
            opened.append(str(arguments[0]))

    sys.addaudithook(watch)
    fields = {
        (field.name, route.name in ("gate", "review")): (route, field)
        for route in routes().values()
        for field in route.fields
    }
    for route, field in fields.values():
        needed: dict[str, Any] = {"manifests": WEB} if any(each.name == "manifests" for each in route.fields) else {}
        if field.holds_content:
            for value in (str(secret), {"name": str(secret), "text": "kind: Nothing"}, "secret.yaml"):
                watching = True
                ask(route.name, JSON, **{**needed, field.name: value})
                watching = False
    assert opened == []
