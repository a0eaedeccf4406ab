"""Which nodes ``kwhatif drain`` takes: names and selectors, and those of -l as kubectl has it."""

from __future__ import annotations

from tests.cli.running import CLUSTER, run

FLAGS = ("--ignore-daemonsets", "--force", "-o", "json", "--snapshot", CLUSTER)


def test_nodes_are_chosen_by_their_labels_as_kubectl_chooses_them() -> None:
    chosen = run("drain", "-l", "topology.kubernetes.io/zone=b", *FLAGS)
    assert chosen.out == run("drain", "topology.kubernetes.io/zone=b", *FLAGS).out
    assert '"node": "bee-2"' in chosen.out


def test_without_nodes_the_answer_names_both_ways() -> None:
    assert run("drain", "--snapshot", CLUSTER).err == "kwhatif: name the nodes to drain: NODE, or -l SELECTOR\n"
