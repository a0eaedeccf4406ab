"""The page: static files that a strict policy allows, and answers as the data that HTML reports are drawn from."""

from __future__ import annotations

import json
import re

import pytest

pytest.importorskip("starlette")

import kwhatif
from kwhatif.commands.page import app_script, page_data
from kwhatif.render.html.drawings import json_in_page
from kwhatif.serve.replies import PAGE
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


def test_names_of_others_end_no_element_of_the_page() -> None:
    pod = (SAMPLES / "manifests" / "too-big.yaml").read_text("utf-8").replace("too-big", "a</script><b>")
    found = request(service_of(), "POST", "/v1/place", {"manifests": [pod]}, accept=PAGE)
    assert b"<" not in found.body
