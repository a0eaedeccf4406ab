"""One word has one meaning among options, and no option is offered without effect."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

import kwhatif
from kwhatif.commands.parameters import parameters_of
from kwhatif.commands.registry import all_commands
from kwhatif.simulation.flag import Flag
from kwhatif.simulation.node_pools import pool_of
from kwhatif.versions import DEFAULT_MINOR
from tests.builders import node, write_objects
from tests.cli.running import CLUSTER, refused, run

SAMPLES = "../samples"
NODES = [
    {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"eks.amazonaws.com/nodegroup": pool, "disk": "ssd"}},
        "status": {"allocatable": {"cpu": "4", "pods": "9"}, "nodeInfo": {"kubeletVersion": f"v1.{minor}.1"}},
    }
    for name, pool, minor in (("a-1", "batch", 33), ("a-2", "batch", 34), ("b-1", "web", 34))
]

# A snapshot is read with what pods use, and pods' use is read from files; documents are printed, and results drawn; a
# server watches what a file names, and a role allows to watch.
TWO_FORMS = {"--usage", "--output", "--write", "--steps", "--watch"}


def test_an_option_takes_the_same_in_every_command() -> None:
    forms: dict[str, set[str]] = defaultdict(set)
    for entry in all_commands().values():
        for parameter in parameters_of(entry.command):
            if isinstance(parameter.flag, Flag) and parameter.flag.name:
                forms[parameter.flag.name].add((parameter.flag.metavar or "").partition("|")[0].partition("[")[0])
    # A node of an outage may be many, and 'explain' is about one.
    several = {name for name, found in forms.items() if len(found) > 1} - {"--node"}
    assert several <= TWO_FORMS


@pytest.fixture
def nodes(tmp_path: Path) -> str:
    return write_objects(tmp_path / "nodes.json", *NODES)


@pytest.mark.parametrize("text", ["batch", "eks.amazonaws.com/nodegroup=batch"])
def test_a_pool_is_a_name_or_a_selector_wherever_it_is_named(text: str, nodes: str) -> None:
    assert kwhatif.outage(snapshot=nodes, pools=[text]).failures[0].nodes == ("a-1", "a-2")
    assert {each.node for each in kwhatif.upgrade(text, snapshot=nodes).nodes} >= {"a-1", "a-2"}


@pytest.mark.parametrize("command", ["outage", "upgrade"])
def test_a_pool_that_is_not_there_gets_a_suggestion(command: str, nodes: str) -> None:
    assert refused(command, "--pool", "bach", "--snapshot", nodes) == 'there is no pool "bach"; did you mean batch?'
    assert refused(command, "--pool", "general", "--snapshot", nodes).startswith(
        'there is no pool "general"; there are: '
    )
    assert refused(command, "--pool", "ssd", "--snapshot", nodes).endswith("; did you mean disk=ssd?")


def test_a_pool_is_told_by_the_label_that_people_give_their_own() -> None:
    (first, second) = (node(name, labels={"pool": name, "kubernetes.io/role": "worker"}) for name in ("spot", "web"))
    assert (pool_of(first), pool_of(second)) == ("spot", "web")


def test_a_policy_is_the_schedulers_also_where_the_descheduler_has_one() -> None:
    policy = f"{SAMPLES}/policies/most-allocated.yaml"
    own = ("--descheduler-policy", f"{SAMPLES}/deschedule/policy.yaml")
    assert run("deschedule", *own, "--policy", policy, "--snapshot", CLUSTER).code in (0, 1)


@pytest.mark.parametrize(("words", "minor"), [((), DEFAULT_MINOR), (("--snapshot",), "1.34")])
def test_a_configuration_is_read_by_the_rules_of_the_newest_kubelet(
    words: tuple[str, ...], minor: str, nodes: str
) -> None:
    asked = (*words, nodes) if words else ()
    ran = run("policy", "validate", f"{SAMPLES}/policies/most-allocated.yaml", *asked)
    assert f"kube-scheduler {minor} accepts it" in ran.out


@pytest.mark.parametrize("option", ["--policy", "--plugin", "--strict", "--load", "--all-nodes", "--call-extenders"])
def test_queue_offers_no_option_about_a_scheduler(option: str) -> None:
    assert f"no such option: {option}" in run("queue", option, "x").err
