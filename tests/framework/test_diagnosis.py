from __future__ import annotations

import numpy as np
import pytest

from kwhatif.framework.evaluation import Evaluation
from kwhatif.framework.status import Code, Diagnosis, Status, Verdicts, fit_message
from kwhatif.scheduling.schedule_one import Scheduler
from tests.builders import Json, cluster_of, node, node_term, pod, scheduler_for
from tests.framework.test_verdicts import says


@pytest.mark.parametrize(
    ("histogram", "more", "expected"),
    [
        pytest.param({}, {}, "0/3 nodes are available:", id="nothing is known"),
        pytest.param({"no room": 3}, {}, "0/3 nodes are available: 3 no room.", id="one reason"),
        pytest.param(
            {"no room": 1, "a taint": 2},
            {},
            "0/3 nodes are available: 1 no room, 2 a taint.",
            id="reasons are sorted with their numbers",
        ),
        pytest.param(
            {"b": 2, "a": 10, "c": 1},
            {},
            "0/3 nodes are available: 1 c, 10 a, 2 b.",
            id="as texts, so ten comes before two",
        ),
        pytest.param(
            {"no room": 3},
            {"post_filter": "nobody to evict"},
            "0/3 nodes are available: 3 no room. nobody to evict",
            id="what PostFilter said comes last",
        ),
        pytest.param(
            {"no room": 3},
            {"pre_filter": "refused"},
            "0/3 nodes are available: refused.",
            id="what PreFilter said stands for all",
        ),
    ],
)
def test_messages(histogram: dict[str, int], more: dict[str, str], expected: str) -> None:
    assert fit_message(3, histogram, **more) == expected


def diagnosed(**what: object) -> Diagnosis:
    cluster = cluster_of([node(name) for name in "abcd"])
    framework = scheduler_for(cluster).framework
    return Diagnosis(cluster, Evaluation(framework, cluster, cluster.shapes.info(pod())), **what)  # type: ignore[arg-type]


def of_two_plugins() -> Verdicts:
    verdicts = Verdicts(4)
    verdicts.take("First", [says("never", 0, hopeless=True), says("full", 1)])
    verdicts.take("Second", [says("full", 1, 2, 3)])
    return verdicts


def test_verdicts_become_a_message_and_hopes() -> None:
    diagnosis = diagnosed(verdicts=of_two_plugins())
    assert diagnosis.message("more") == "0/4 nodes are available: 1 never, 3 full. more"
    assert diagnosis.preemptable().tolist() == [1, 2, 3]
    assert diagnosis.status(0) == Status(Code.UNRESOLVABLE, ("never",), "First")


def test_nodes_that_prefilter_ruled_out_are_counted_together() -> None:
    verdicts = of_two_plugins()
    diagnosis = diagnosed(verdicts=verdicts, considered=np.array([1, 2], np.intp), narrowed_by=("Zeta", "Alpha"))
    assert diagnosis.message() == ("0/4 nodes are available: 2 full, 2 node(s) didn't satisfy plugin(s) [Alpha Zeta].")
    assert diagnosis.preemptable().tolist() == [1, 2]
    assert diagnosis.status(3) == Status(Code.UNRESOLVABLE, ("node(s) didn't satisfy plugin(s)",))


@pytest.mark.parametrize(
    ("refusal", "hopes"),
    [
        pytest.param(Status.unschedulable("not today"), [0, 1, 2, 3], id="evicting might help anywhere"),
        pytest.param(Status.unresolvable("not today"), [], id="evicting cannot help"),
    ],
)
def test_a_refusal_of_prefilter_stands_for_every_node(refusal: Status, hopes: list[int]) -> None:
    diagnosis = diagnosed(refusal=refusal)
    assert diagnosis.message("more") == "0/4 nodes are available: not today. more"
    assert diagnosis.preemptable().tolist() == hopes
    assert diagnosis.status(2) == refusal


def message_for(terms: list[Json], **kind: object) -> str:
    cluster = cluster_of([node("a", taints=["x:NoSchedule"]), node("b"), node("c")])
    scheduler: Scheduler = scheduler_for(cluster)
    return scheduler.attempt(cluster.shapes.info(pod(nodes=terms, **kind))).message.partition(". ")[0]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        pytest.param(
            [node_term(fields=["metadata.name In a"])],
            "1 node(s) had untolerated taint(s), 2 node(s) didn't satisfy plugin(s) [NodeAffinity]",
            id="a pod that names a node it cannot have",
        ),
        pytest.param(
            [node_term(fields=["metadata.name In none"])],
            "3 node(s) didn't satisfy plugin(s) [NodeAffinity]",
            id="a pod that names a node that is not there",
        ),
        pytest.param(
            [node_term(fields=["metadata.name In a", "metadata.name In b"])],
            "pod affinity terms conflict",
            id="a pod that names two nodes at once",
        ),
    ],
)
def test_messages_of_pods_that_name_their_nodes(terms: list[Json], expected: str) -> None:
    assert message_for(terms) == f"0/3 nodes are available: {expected}"
