"""Questions that are watched: read strictly, asked again and again, and answered as gauges that Prometheus can read."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from msgspec.structs import replace

pytest.importorskip("starlette")

from kwhatif.errors import InputError
from kwhatif.serve.gauges import GAUGES
from kwhatif.serve.metrics import exposition
from kwhatif.serve.replies import JSON, Reply, problem_reply
from kwhatif.serve.watch import Watch, Watched, read_watched
from kwhatif.serve.worker import NODES
from kwhatif.serve.workers import Workers
from tests.cli.running import run
from tests.serve.doors import SAMPLES, Answering, request, service_of

WATCHED = SAMPLES / "serve/metrics/watch.yaml"


def scraped(questions: tuple[Watched, ...], workers: Answering | None = None) -> dict[str, list[tuple[Any, float]]]:
    """What Prometheus reads once each question was asked: labels and value of each sample, by metric."""
    parser = pytest.importorskip("prometheus_client.parser")
    workers = workers or Answering()
    service = service_of(workers, watch=questions)
    app = service.app()
    (work,) = service.works
    watch = cast("Watch", work.cr_frame.f_locals["self"])  # type: ignore[attr-defined]
    work.close()

    async def ask() -> None:
        for question in questions:
            await watch.ask(question)

    asyncio.run(ask())
    response = request(service, "GET", "/metrics", app=app)
    assert (response.status, response.headers["content-type"].split(";")[0]) == (200, "text/plain")
    return {
        family.name: [(sample.labels, sample.value) for sample in family.samples]
        for family in parser.text_string_to_metric_families(response.body.decode())
    }


@pytest.mark.long
def test_the_questions_of_the_sample_are_answered_as_gauges() -> None:
    metrics = scraped(read_watched(str(WATCHED)))
    assert set(metrics) == set(GAUGES)
    labels = {name: {frozenset(labels) for labels, _ in samples} for name, samples in metrics.items()}
    assert labels == {name: {frozenset(gauge.labels)} for name, gauge in GAUGES.items()}
    names = {"zones", "drains", "probe", "pending"}
    assert {labels["question"] for labels, value in metrics["kwhatif_question_answered"] if value} == names
    zones = {labels["name"] for labels, _ in metrics["kwhatif_failure_pending_pods"]}
    assert zones == {"eu-west-1a", "eu-west-1b", "eu-west-1c"}
    assert sum(value for _, value in metrics["kwhatif_nodes_tried"]) == 6
    ((_, fits),) = metrics["kwhatif_capacity_fits"]
    assert sum(value for _, value in metrics["kwhatif_capacity_pods"]) == fits
    assert {labels["pool"] for labels, _ in metrics["kwhatif_capacity_pods"]} == {"general", "gpu"}


def test_questions_are_asked_again_and_again() -> None:
    questions = tuple(replace(question, seconds=0.001) for question in read_watched(str(WATCHED)))

    class Quick(Answering):
        async def ask(self, route: str, body: bytes, media: str = JSON, **_: Any) -> Reply:
            self.asked.append((route, {}))
            return Reply(200, JSON, b"[]" if route == NODES else b"{}", 0)

    workers = Quick()
    watch = Watch(questions, cast("Workers", workers))

    async def run() -> None:
        task = asyncio.create_task(watch.run())
        async with asyncio.timeout(60):
            while min(Counter(route for route, _ in workers.asked)[question.ask] for question in questions[2:]) < 3:
                await asyncio.sleep(0.001)
        task.cancel()

    asyncio.run(run())
    assert all(last.answered for last in watch.rounds.values())


@pytest.mark.long
def test_gauges_say_what_the_command_says() -> None:
    words = ("outage", "--by", "topology.kubernetes.io/zone", "--snapshot", "cluster", "-o", "json")
    answer = json.loads(run(*words, folder=SAMPLES).out)
    metrics = scraped((Watched("zones", "outage", {"by": ["topology.kubernetes.io/zone"]}, 60),))
    pending = {labels["name"]: value for labels, value in metrics["kwhatif_failure_pending_pods"]}
    assert pending == {each["name"]: len(each["outcome"]["pending"]) for each in answer["failures"]}
    assert metrics["kwhatif_question_good"] == [({"question": "zones"}, float(answer["outcome"]["good"]))]


def test_a_question_that_is_not_answered_says_so() -> None:
    busy = Answering(problem_reply(503, "busy", "too many questions are waiting"))
    metrics = scraped((Watched("a", "place", {"withPending": True}, 60),), busy)
    assert metrics["kwhatif_question_answered"] == [({"question": "a"}, 0.0)]
    assert "kwhatif_question_good" not in metrics


def test_names_of_others_stay_labels() -> None:
    text = exposition([("kwhatif_pending_pods", {"cause": 'a"} 1\nkwhatif_cluster_known 0 \\'}, 1)])
    assert text.splitlines()[-1] == r'kwhatif_pending_pods{cause="a\"} 1\nkwhatif_cluster_known 0 \\"} 1'


HEAD = "apiVersion: kwhatif.dev/v1\nkind: WatchedQuestions\n"
WRONG = {
    "questions: []": "$.questions",
    "questions: [{name: a, ask: nothing}]": "$.questions[0].ask",
    "questions: [{name: a, ask: place, with: {file: x}}]": "$.questions[0].with",
    "questions: [{name: a, ask: place, every: soon}]": "$.questions[0].every",
    "every: -1m\nquestions: [{name: a, ask: place}]": "$.every",
    "questions: [{name: A b, ask: place}]": "$.questions[0].name",
    "questions: [{name: a, ask: place}, {name: a, ask: place}]": "$.questions",
    "questions: [{name: a, ask: place, forEach: node}]": "$.questions[0].with",
}


@pytest.mark.parametrize(("text", "place"), WRONG.items())
def test_a_document_that_is_wrong_is_refused_with_its_place(tmp_path: Path, text: str, place: str) -> None:
    (tmp_path / "watch.yaml").write_text(HEAD + text)
    with pytest.raises(InputError) as refused:
        read_watched(str(tmp_path / "watch.yaml"))
    assert refused.value.place.startswith(place)
    assert refused.value.source.endswith("watch.yaml")


def test_alerts_and_dashboard_of_the_samples_ask_for_metrics_that_there_are() -> None:
    """And for questions of the sample."""
    alerts = yaml.safe_load((SAMPLES / "serve/metrics/alerts.yaml").read_text("utf-8"))
    dashboard = json.loads((SAMPLES / "serve/metrics/dashboard.json").read_text("utf-8"))
    rules = [rule for group in alerts["groups"] for rule in group["rules"]]
    assert all({"alert", "expr", "for", "labels", "annotations"} == rule.keys() for rule in rules)
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    asked = [rule["expr"] for rule in rules] + [each["expr"] for panel in panels for each in panel["targets"]]
    assert {name for text in asked for name in re.findall(r"kwhatif_\w+", text)} <= set(GAUGES)
    names = {question.name for question in read_watched(str(WATCHED))}
    assert {name for text in asked for name in re.findall(r'question="(\w+)"', text)} == names
