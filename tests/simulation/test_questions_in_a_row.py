"""A snapshot that is loaded once answers as one that is loaded for each question, whatever was asked before."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kwhatif
from kwhatif.results.base import Result

SAMPLES = Path(__file__).parents[2] / "samples"
CLUSTER, SCALED = [str(SAMPLES / "cluster")], [str(SAMPLES / "scaled" / "cluster.yaml")]
Question = Callable[[Any], Result]


def placing(*names: str, **options: Any) -> Question:
    files = [str(SAMPLES / "manifests" / f"{name}.yaml") for name in names]
    return lambda snapshot: kwhatif.place(files, snapshot=snapshot, **options)


SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}}}
BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "all", "namespace": "shop"},
    "spec": {"maxUnavailable": 0, "selector": {}},
}
QUESTIONS: dict[str, Question] = {
    "pods": placing("web"),
    "another scheduler version": placing("web", kubernetes_version="1.30"),
    "preemption": placing("urgent"),
    "claims": placing("database"),
    "a resource that no node has": placing("gpu"),
    "spread pods": placing("spread"),
    "several at once": placing("web", "urgent", "database", "spread"),
    "pending pods and nominations": placing(with_pending=True),
    "the queue over time": placing("web", "urgent", timeline=True),
    "a cordoned node": placing("web", edits=[{"cordon": "general-a-1"}]),
    "a node less": placing("web", edits=[{"removeNodes": "general-b-1"}]),
    "deleted pods": placing("urgent", edits=[{"deletePods": "shop/[app=web]"}]),
    "objects besides": lambda snapshot: kwhatif.place(
        [SERVICE, BUDGET, str(SAMPLES / "manifests" / "web.yaml")], snapshot=snapshot
    ),
    "a drain": lambda snapshot: kwhatif.drain(["general-a-1"], snapshot=snapshot),
    "an outage": lambda snapshot: kwhatif.outage(nodes="general-a-1", snapshot=snapshot),
    "an explanation": lambda snapshot: kwhatif.explain(
        "too-big", files=[str(SAMPLES / "manifests" / "too-big.yaml")], snapshot=snapshot
    ),
    "capacity": lambda snapshot: kwhatif.capacity(str(SAMPLES / "manifests" / "web.yaml"), snapshot=snapshot),
}


def answer(question: Question, snapshot: Any) -> Any:
    try:
        return question(snapshot).to_dict()
    except kwhatif.KwhatifError as error:
        return str(error)


@pytest.fixture(scope="module")
def alone() -> dict[str, Any]:
    """What each question is answered alone."""
    loaded = kwhatif.load_snapshot(CLUSTER)
    return {name: answer(question, copy.deepcopy(loaded)) for name, question in QUESTIONS.items()}


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_earlier_questions_change_no_answer(alone: dict[str, Any], seed: int) -> None:
    loaded = kwhatif.load_snapshot(CLUSTER)
    for name in random.Random(seed).sample(sorted(QUESTIONS), len(QUESTIONS)):
        assert answer(QUESTIONS[name], loaded) == alone[name], name


def test_all_of_the_questions_are_answered(alone: dict[str, Any]) -> None:
    assert not {name: found for name, found in alone.items() if isinstance(found, str)}


def test_an_object_that_a_program_adds_is_seen_by_the_next_question() -> None:
    loaded = kwhatif.load_snapshot(CLUSTER)
    web = str(SAMPLES / "manifests" / "web.yaml")
    before = kwhatif.place([web], snapshot=loaded)
    taken = {each.node for each in before.placements}
    nodes = loaded.objects.list_kind("Node")
    nodes[:] = [node for node in nodes if node.name not in taken]
    after = kwhatif.place([web], snapshot=loaded)
    assert after.nodes == before.nodes - len(taken)
    assert taken.isdisjoint(each.node for each in after.placements)
