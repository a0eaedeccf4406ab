"""The Python API: it answers as the command line does."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

import kwhatif
from kwhatif.results.base import Result
from tests.cli.running import TESTS, run

SAMPLES = TESTS.parent / "samples"
CLUSTER = str(SAMPLES / "cluster")
WEB, URGENT, DATABASE = (str(SAMPLES / "manifests" / f"{name}.yaml") for name in ("web", "urgent", "database"))
_KARPENTER = ("cluster", "catalogue", "leave-spot")
GATE = SAMPLES / "gate"
PLUGIN = f"{SAMPLES}/plugins/sample_plugin.py:SamplePlugin"
TIDY = str(SAMPLES / "deschedule" / "policy.yaml")
POLICY = str(SAMPLES / "policies" / "sample-plugin.yaml")
BASE, HEAD, GATED = (str(GATE / name) for name in ("base", "head", "snapshot.json"))
MACHINES, OFFERS, ON_DEMAND = (str(SAMPLES / "karpenter" / f"{name}.yaml") for name in _KARPENTER)
DAY = str(TESTS / "data/recorded-day.jsonl.gz")
NOW = "2026-11-20T12:00:00Z"

QUESTIONS: dict[str, tuple[tuple[str, ...], Callable[[], Result]]] = {
    "claims of a stateful set are made, as its controller would": (
        ("place", DATABASE, "--snapshot", CLUSTER),
        lambda: kwhatif.place([DATABASE], snapshot=[CLUSTER]),
    ),
    "one file needs no list": (
        ("place", URGENT, "--snapshot", CLUSTER, "--seed", "7"),
        lambda: kwhatif.place(Path(URGENT), snapshot=Path(CLUSTER), seed=7),
    ),
    "the version, its gates and an edit": (
        (
            *("place", WEB, "--snapshot", CLUSTER, "--kubernetes-version", "1.31", "--cordon", "general-b-1"),
            *("--feature-gates", "SidecarContainers=false", "--all-nodes"),
        ),
        lambda: kwhatif.place(
            WEB,
            snapshot=CLUSTER,
            kubernetes_version="1.31",
            feature_gates={"SidecarContainers": False},
            edits={"cordon": "general-b-1"},
            all_nodes=True,
        ),
    ),
    "what Karpenter buys": (
        ("autoscale", WEB, "--snapshot", MACHINES, "--catalogue", OFFERS, "--consolidate"),
        lambda: kwhatif.karpenter(WEB, snapshot=MACHINES, catalogue=OFFERS, consolidate=True),
    ),
    "what it would cost to leave spot": (
        ("diff", "--snapshot", MACHINES, "--catalogue", OFFERS, "--node-pools", ON_DEMAND, "--rebuild"),
        lambda: kwhatif.diff_node_pools(snapshot=MACHINES, catalogue=OFFERS, node_pools=ON_DEMAND, rebuild=True),
    ),
    "why a node is not consolidated": (
        ("explain", "n1", "--consolidation", "--snapshot", MACHINES, "--catalogue", OFFERS),
        lambda: kwhatif.explain_consolidation("n1", snapshot=MACHINES, catalogue=OFFERS),
    ),
    "pods of a snapshot that were bound last": (
        ("backtest", GATED, "--last", "2"),
        lambda: kwhatif.backtest(GATED, last=2),
    ),
    "new nodes that are other, and pods that take long": (
        (
            *("upgrade", "--pool", "general-a-1", "--snapshot", CLUSTER, "--ready-after", "web=2m", "--grace", "5s"),
            *("--new-label", "tier=new", "--new-taint", "new=yes:NoSchedule", "--new-size", "cpu=2", "--surge", "100%"),
        ),
        lambda: kwhatif.upgrade(
            "general-a-1",
            snapshot=CLUSTER,
            surge="100%",
            grace_seconds=5.0,
            ready_after_seconds={"": 30.0, "web": 120.0},
            new_labels=["tier=new"],
            new_taints=["new=yes:NoSchedule"],
            new_sizes=["cpu=2"],
        ),
    ),
    "whether a recorded day comes out again": (
        ("backtest", DAY, "--need", "99"),
        lambda: kwhatif.backtest(DAY, need=99),
    ),
    "edits of a document, and pods that wait": (
        ("place", "--with-pending", "--snapshot", CLUSTER, "--edits", str(SAMPLES / "edits.yaml")),
        lambda: kwhatif.place(snapshot=CLUSTER, with_pending=True, edits=[SAMPLES / "edits.yaml"]),
    ),
    "a plugin from outside, and a policy that enables it": (
        ("place", WEB, "--snapshot", CLUSTER, "--plugin", PLUGIN, "--policy", POLICY),
        lambda: kwhatif.place(WEB, snapshot=CLUSTER, plugins=[PLUGIN], policy=POLICY),
    ),
    "the story over time": (
        ("place", URGENT, "--snapshot", CLUSTER, "--timeline", "--no-recreate"),
        lambda: kwhatif.place(URGENT, snapshot=CLUSTER, timeline=True, recreate=False),
    ),
    "why a pod goes nowhere": (
        ("explain", str(SAMPLES / "manifests" / "too-big.yaml"), "--snapshot", CLUSTER, "--node", "gpu-b-1"),
        lambda: kwhatif.explain([SAMPLES / "manifests" / "too-big.yaml"], snapshot=CLUSTER, node="gpu-b-1"),
    ),
    "why a pod runs where it runs, by its name": (
        ("explain", "batch/report-29384100-hqqqc", "--snapshot", CLUSTER, "--no-fixes"),
        lambda: kwhatif.explain("batch/report-29384100-hqqqc", snapshot=CLUSTER, fixes=False),
    ),
    "what manifests become without a cluster": (
        ("expand", DATABASE, "-n", "shop"),
        lambda: kwhatif.expand(DATABASE, namespace="shop"),
    ),
    "how many more fit": (
        ("capacity", WEB, "--snapshot", CLUSTER, "--at-least", "50"),
        lambda: kwhatif.capacity(WEB, snapshot=CLUSTER, at_least=50),
    ),
    "a cycle of the descheduler": (
        ("deschedule", "--snapshot", CLUSTER, "--descheduler-policy", TIDY, "--until-quiet", "--policy", "default"),
        lambda: kwhatif.deschedule(TIDY, snapshot=CLUSTER, until_quiet=True, policy="default"),
    ),
    "replacing the nodes of a pool": (
        ("upgrade", "--pool", "pool=general", "--snapshot", CLUSTER, "--strategy", "aks", "--within", "1h"),
        lambda: kwhatif.upgrade("pool=general", snapshot=CLUSTER, strategy="aks", within_seconds=3600.0),
    ),
    "draining a node": (
        ("drain", "general-a-1", "--snapshot", CLUSTER, "--ignore-daemonsets", "--plugin", PLUGIN),
        lambda: kwhatif.drain("general-a-1", snapshot=CLUSTER, ignore_daemonsets=True, plugins=[PLUGIN]),
    ),
    "chances of pods": (
        ("chances", WEB, "--snapshot", CLUSTER, "--trials", "20", "--seed", "3", "--workers", "1"),
        lambda: kwhatif.chances(WEB, snapshot=CLUSTER, trials=20, seed=3, workers=1),
    ),
    "nodes and zones that are gone": (
        ("outage", "--snapshot", CLUSTER, "--each", "nodes,zones", "--survive", "node", "--workers", "1"),
        lambda: kwhatif.outage(["nodes", "zones"], snapshot=CLUSTER, survive=["node"], workers=1),
    ),
    "two versions": (
        ("diff", WEB, "--snapshot", CLUSTER, "--policy", "default@1.29", "--policy", "default@1.34", "--replay", "all"),
        lambda: kwhatif.diff(WEB, snapshot=CLUSTER, policy=["default@1.29", "default@1.34"], replay=["all"]),
    ),
    "two sets of manifests": (
        ("diff", "--snapshot", CLUSTER, "--old", WEB, "--new", URGENT, "--policy", "default@1.33"),
        lambda: kwhatif.diff(snapshot=CLUSTER, old=WEB, new=URGENT, policy="default@1.33"),
    ),
    "a change that is judged": (
        (
            *("gate", HEAD, "--base", BASE, "--snapshot", GATED, "--rule", "quota=off"),
            *("--config", str(GATE / "rules-fail.yaml"), "--now", NOW),
        ),
        lambda: kwhatif.gate(
            HEAD,
            base=BASE,
            snapshot=GATED,
            config=GATE / "rules-fail.yaml",
            levels={"quota": "off"},
            now=datetime.fromisoformat(NOW),
        ),
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("question", QUESTIONS)
def test_the_answer_is_the_command_s(question: str) -> None:
    words, asked = QUESTIONS[question]
    with contextlib.chdir(TESTS):
        result = asked()
    ran = run(*words, "-o", "json")
    assert json.loads(ran.out) == json.loads(json.dumps(result.to_dict()))
    assert (ran.code, ran.err.splitlines()) == (result.exit_code, list(result.notes))


@pytest.mark.long
def test_objects_as_plain_values_are_as_good_as_a_file() -> None:
    documents = list(yaml.safe_load_all(Path(DATABASE).read_text()))
    placements = [
        [(each.pod, each.node) for each in kwhatif.place(given, snapshot=CLUSTER).placements]
        for given in (DATABASE, documents)
    ]
    assert placements[0] == placements[1] == [("shop/orders-db-0", "general-a-1"), ("shop/orders-db-1", "general-b-1")]
    (storage, database) = documents
    assert [each.pod for each in kwhatif.place([storage, database], snapshot=CLUSTER).placements]
    with pytest.raises(kwhatif.KwhatifError, match=r"object 1: \$\.kind: expected a string"):
        kwhatif.place({"apiVersion": "v1"}, snapshot=CLUSTER)


def test_a_snapshot_that_is_given_stays_as_it_is() -> None:
    snapshot = kwhatif.load_snapshot([CLUSTER])
    before = len(snapshot.objects)
    results = [kwhatif.place(DATABASE, snapshot=snapshot, edits={"cordon": "general-b-1"}).to_dict() for _ in (1, 2)]
    assert results[0] == results[1]
    assert (len(snapshot.objects), snapshot.edits) == (before, [])


def test_a_configuration_may_be_plain_values_too() -> None:
    policy = yaml.safe_load(Path(POLICY).read_text())
    by_value, by_path = (
        kwhatif.place(WEB, snapshot=CLUSTER, policy=each, plugins=[PLUGIN]) for each in (policy, POLICY)
    )
    assert by_value == by_path


def test_a_plugin_may_be_a_class() -> None:
    class Nobody:
        name = "Nobody"

        def filter_node(self, pod: Any, node: Any) -> str:
            return "nobody may"

    policy = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"filter": {"enabled": [{"name": "Nobody"}]}}}],
    }
    result = kwhatif.place(URGENT, snapshot=CLUSTER, policy=policy, plugins=[Nobody])
    assert (result.exit_code, "nobody may" in result.placements[0].message) == (1, True)


def test_two_policies_may_be_plain_values() -> None:
    policy = yaml.safe_load(Path(POLICY).read_text())
    result = kwhatif.diff(WEB, snapshot=CLUSTER, policy=[None, policy], plugins=[PLUGIN])
    assert (result.a.label, result.b.label) == ("a policy of its own", "a policy of its own")


@pytest.mark.parametrize(
    ("result", "rows"),
    [
        (lambda: kwhatif.place(URGENT, snapshot=CLUSTER), ["shop/payments-hotfix"]),
        (lambda: kwhatif.explain(URGENT, snapshot=CLUSTER, fixes=False), ["shop/payments-hotfix"]),
        (lambda: kwhatif.expand(DATABASE), ["shop/orders-db-0", "shop/orders-db-1"]),
    ],
    ids=["placements", "explained pods", "pods"],
)
def test_rows_are_plain_values(result: Callable[[], Result], rows: list[str]) -> None:
    assert [row["pod"] for row in result().to_dicts()] == rows


def test_strict_answers_are_refused_as_the_command_refuses_them() -> None:
    with pytest.raises(kwhatif.KwhatifError, match="strict: the snapshot holds no CSIDriver: touches shop/orders-db-0"):
        kwhatif.place(DATABASE, snapshot=CLUSTER, strict=True)


def test_claims_that_manifests_make_do_not_stand_for_all_claims_of_the_cluster() -> None:
    """They are put into the snapshot on the way, which does not make it know the others."""
    result = kwhatif.diff(DATABASE, snapshot=CLUSTER, policy=["default@1.33", "default@1.34"])
    for fidelity in result.fidelities:
        touching = {gap.what for gap in fidelity.touching}
        assert {f"the snapshot holds no {kind}" for kind in ("PersistentVolumeClaim", "StorageClass")} <= touching


def test_every_name_is_there_and_none_costs_anything_before_it_is_used() -> None:
    assert sorted(kwhatif.__all__) == kwhatif.__all__
    assert all(getattr(kwhatif, name) is not None for name in kwhatif.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'plaec'"):
        _ = kwhatif.plaec  # type: ignore[attr-defined]
    program = "import sys, kwhatif; print([name for name in ('numpy', 'msgspec', 'typer') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout == "[]\n"
