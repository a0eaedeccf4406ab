"""The gauges of a server, by name: what they measure, and their labels."""

from __future__ import annotations

from typing import NamedTuple


class Gauge(NamedTuple):
    """``help`` is a sentence; ``labels`` are all that a sample has."""

    help: str
    labels: tuple[str, ...] = ("question",)


GAUGES = {
    "kwhatif_cluster_known": Gauge("Whether the cluster has been read.", ()),
    "kwhatif_cluster_nodes": Gauge("Nodes of the cluster.", ()),
    "kwhatif_cluster_pods": Gauge("Pods of the cluster.", ()),
    "kwhatif_question_answered": Gauge("Whether the question was answered when it was last asked."),
    "kwhatif_question_answer_timestamp_seconds": Gauge("When the question was last answered."),
    "kwhatif_question_duration_seconds": Gauge("How long the last answer took."),
    "kwhatif_question_good": Gauge("Whether the last answer is a yes."),
    "kwhatif_question_pending_pods": Gauge(
        "Pods that find no node in the last answer, after any failure, each counted once."
    ),
    "kwhatif_question_evicted_pods": Gauge("Pods that lose their node in the last answer."),
    "kwhatif_question_unknowns": Gauge("What may change the last answer and is not known."),
    "kwhatif_failures": Gauge(
        "Failures that were tried, by whether the cluster survives them.", ("question", "survived")
    ),
    "kwhatif_failure_pending_pods": Gauge(
        "Pods that find no node after a failure; of each question the worst failures.", ("question", "kind", "name")
    ),
    "kwhatif_nodes_tried": Gauge(
        "Nodes for which the question was asked, by whether the answer is a yes.", ("question", "good")
    ),
    "kwhatif_pending_pods": Gauge("Pods that find no node, by cause.", ("question", "cause")),
    "kwhatif_pool_allocatable": Gauge(
        "What the nodes of a pool have to allocate: cpu in millicores, else bytes or pieces.",
        ("question", "pool", "resource"),
    ),
    "kwhatif_pool_requested": Gauge(
        "What pods on the nodes of a pool request, in the same units.", ("question", "pool", "resource")
    ),
    "kwhatif_capacity_fits": Gauge("How many more of the pods or releases fit."),
    "kwhatif_capacity_pods": Gauge("How many more pods fit, by pool.", ("question", "pool")),
}
