"""The page: static files that a strict policy allows, and answers as the data that HTML reports are drawn from."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

pytest.importorskip("starlette")

import kwhatif
from kwhatif.api.kinds import Objects
from kwhatif.commands.asking import ask
from kwhatif.commands.page import app_script, page_data
from kwhatif.render.html.drawings import json_in_page
from kwhatif.results.base import ClusterMap
from kwhatif.serve.answers import ServedCluster, ServedMap, answer, read_request
from kwhatif.serve.fields import route_of
from kwhatif.serve.replies import MAP, PAGE
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.read.files import read_only_texts
from tests.builders import node, pod, pods_like
from tests.serve.doors import SAMPLES, cluster, request, service_of


def test_every_file_that_the_page_loads_is_there() -> None:
    """And nothing of elsewhere, and no script in the markup: the policy of every response allows neither."""
    service = service_of()
    page = request(service, "GET", "/")
    text = page.body.decode()
    assert (page.status, page.headers["content-type"].partition(";")[0]) == (200, "text/html")
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert not re.findall(r"<script>| on\w+=|<style| style=|https?://", text)
    own = request(service, "GET", "/page/page.js").body.decode()
    named = set(re.findall(r"/page/[\w.]+", text + own))
    assert named == {f"/page/{name}" for name in ("style.css", "page.css", "page.js", "echarts.js", "report.js")}
    for name in named:
        found = request(service, "GET", name)
        assert (found.status, found.headers["x-content-type-options"]) == (200, "nosniff")
    assert request(service, "GET", "/page/report.js").body.decode().startswith(app_script().removesuffix("};\n"))


@pytest.mark.parametrize("name", ["page.html", "__init__.py", "..%2fservice.py", "vendor"])
def test_no_other_file_is_served(name: str) -> None:
    assert request(service_of(), "GET", f"/page/{name}").status == 404


def test_an_answer_is_the_data_of_the_report() -> None:
    """With the map, before and after."""
    question = {"nodes": ["general-a-1"], "ignoreDaemonsets": True, "deleteEmptydirData": True}
    found = request(service_of(), "POST", "/v1/drain", question, accept=PAGE).json
    result = kwhatif.drain(
        ["general-a-1"], ignore_daemonsets=True, delete_emptydir_data=True, snapshot=cluster().snapshot
    )
    report = json.loads(json_in_page(page_data(result)))
    assert found["verdict"] == report["verdict"]
    assert found["map"]["states"] == ["before", "after"]
    assert found["sections"] == report["sections"]


def test_the_map_of_the_cluster_is_sent_once() -> None:
    """A page names the one it has, and gets what differs from it; if the cluster is another by now, it gets that."""
    service = service_of()
    first = request(service, "POST", "/v1/snapshot-info", {}, accept=PAGE).json
    assert (first["map"]["pods"]["name"]["n"], first["baseMap"]["pods"]["name"]["n"]) == (0, 38)
    question = {"manifests": [(SAMPLES / "manifests" / "web.yaml").read_text("utf-8")]}
    later = request(service, "POST", "/v1/place", question, accept=f"{PAGE}{MAP}{first['base']}").json
    assert (later["base"], "baseMap" in later) == (first["base"], False)
    assert later["map"]["pods"]["name"]["n"] == 4
    other = request(service, "POST", "/v1/place", question, accept=f"{PAGE}{MAP}{'0' * 16}").json
    assert {name: each for name, each in other.items() if name != "baseMap"} == later
    assert other["baseMap"] == first["baseMap"]


WEB = (SAMPLES / "manifests" / "web.yaml").read_text("utf-8")
URGENT = (SAMPLES / "manifests" / "urgent.yaml").read_text("utf-8")
SAFE = {"ignoreDaemonsets": True, "deleteEmptydirData": True, "force": True}


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("drain", {"nodes": ["general-a-1", "general-b-1"], **SAFE}),
        ("drain", {"nodes": ["general-a-1"], "removeNode": ["general-b-1"], **SAFE}),
        ("place", {"manifests": [WEB, URGENT]}),
        ("place", {"manifests": [WEB], "kubernetesVersion": "1.33"}),
        ("place", {"withPending": True, "cordon": ["general-a-1"]}),
        ("place", {"withPending": True, "removeNode": ["topology.kubernetes.io/zone=eu-west-1a"]}),
        ("place", {"scale": ["deployment/shop/web=5"]}),
        ("place", {"withPending": True, "scale": ["deployment/shop/web=0"]}),
        ("place", {"withPending": True, "addNodes": ["1"], "like": "general-a-1"}),
        ("explain", {"pods": ["deployment/shop/web"]}),
        ("outage", {"by": ["topology.kubernetes.io/zone"]}),
        ("capacity", {"manifests": [WEB]}),
        ("snapshot-info", {}),
        ("snapshot-info", {"cordon": ["general-a-1"]}),
    ],
)
def test_what_differs_and_the_map_of_the_cluster_are_the_map_of_the_answer(name: str, question: dict[str, Any]) -> None:
    served, on = cluster(), ServedMap.of(cluster().snapshot)
    assert on is not None
    request = read_request(route_of(name), json.dumps(question).encode())
    maps = []
    for with_map in (True, on.base):
        with read_only_texts(request.texts):
            result = ask(request.command, request.given_of(route_of(name), served, with_map=with_map))
        assert result.cluster_map is not None
        maps.append(result.cluster_map)
    whole, part = maps
    assert (part.states, part.resources, part.nodes) == (whole.states, whole.resources, whole.nodes)
    assert pods_of(part) == pods_of(whole)
    assert part.base is None or len(part.pods) < len(part.base.pods)


def pods_of(found: ClusterMap) -> dict[str, tuple[tuple[int, ...], list[str]]]:
    """What each pod asks for and the names of its nodes, by state."""
    names = [node.node for node in found.nodes]
    own = {pod.pod: (found.asks[pod.asks], [names[at] if at >= 0 else "" for at in pod.at]) for pod in found.pods}
    if found.base is None:
        return own
    known = {pod: (asks, nodes * len(found.states)) for pod, (asks, nodes) in pods_of(found.base).items()}
    return {pod: entry for pod, entry in (known | own).items() if pod not in found.gone}


def test_a_cluster_that_the_scheduler_cannot_read_is_shown_all_the_same() -> None:
    """Only questions that it answers say why there is no answer."""
    objects = Objects()
    for obj in (
        node("a"),
        pod("bad", on="a", far=[pods_like({"matchExpressions": [{"key": "a", "operator": "Nope"}]})]),
    ):
        objects.add(obj)
    served = ServedCluster(Snapshot(objects=objects))
    assert ServedMap.of(served.snapshot) is None
    shown = answer(route_of("snapshot-info"), b"{}", served, media=PAGE)
    assert (shown.status, b'"baseMap"' in shown.body) == (200, False)


def test_names_of_others_end_no_element_of_the_page() -> None:
    manifest = (SAMPLES / "manifests" / "too-big.yaml").read_text("utf-8").replace("too-big", "a</script><b>")
    found = request(service_of(), "POST", "/v1/place", {"manifests": [manifest]}, accept=PAGE)
    assert b"<" not in found.body
