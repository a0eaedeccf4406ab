"""Every sample does what its comment and the README promise."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
import yaml

from kwhatif.api.core import Node, Pod
from kwhatif.commands.conformance.scenario_files import replay_scenario
from kwhatif.commands.conformance.scheduler_replay import SchedulerScenario
from kwhatif.commands.parameters import parameters_of
from kwhatif.commands.snapshot.dump.question import Dump
from kwhatif.framework.outside import load_outside
from kwhatif.policy.configuration_file import examine, load_configuration
from kwhatif.results.explain import ExplainResult
from kwhatif.results.place import Placement, PlaceResult
from kwhatif.scheduling.setup import Setup
from kwhatif.simulation.edits.document import apply_edits, read_edits
from kwhatif.simulation.expansion.expand import expand
from kwhatif.simulation.policy_file import read_policy
from kwhatif.simulation.session import PodToSchedule, Session, pending_pods
from kwhatif.snapshot.load import load_manifests, load_snapshot
from kwhatif.versions import DEFAULT_MINOR, LEGACY_MINOR, features_of, minor_of
from tests.commands.answers import explain, place

SAMPLES = Path(__file__).parent.parent / "samples"
CLUSTER = str(SAMPLES / "cluster")
GPU = str(SAMPLES / "gpu" / "cluster.json")
THREE_NODES = str(SAMPLES / "three-nodes.json")

FILES = {
    *(f"cluster/{kind}.yaml" for kind in ("namespaces", "nodes", "pods", "priorityclasses")),
    *(f"cluster/{kind}.yaml" for kind in ("poddisruptionbudgets", "replicasets", "services", "statefulsets")),
    "cluster/admission.yaml",
    *(f"manifests/{name}.yaml" for name in ("checkout", "database", "gpu", "sessions", "spread")),
    *(f"manifests/{name}.yaml" for name in ("too-big", "urgent", "web")),
    *(f"configuration/{name}.yaml" for name in ("broken", "deployed", "gang", "old", "policy", "scheduler", "typo")),
    "extender/extender.py",
    *(f"plugins/{name}.py" for name in ("per_node", "sample_plugin")),
    *(f"policies/{name}.yaml" for name in ("extender", "most-allocated", "per-node", "requested-to-capacity")),
    *(f"policies/{name}.yaml" for name in ("sample-plugin", "two-profiles")),
    *(f"autoscaled/{name}.yaml" for name in ("cluster", "groups", "more", "nightly", "rules", "training", "web")),
    *(f"karpenter/{name}.yaml" for name in ("catalogue", "cluster", "leave-spot", "more", "rules", "web")),
    *(f"scaled/{name}.yaml" for name in ("cluster", "more", "rules", "web", "worker")),
    *(f"sweep/{name}.yaml" for name in ("cluster", "prices", "space", "training")),
    *(f"operators/{name}.yaml" for name in ("farm", "kinds", "ray")),
    *(f"deschedule/{name}.yaml" for name in ("policy", "quiet")),
    "dump/cronjob.yaml",
    *(f"serve/{name}.yaml" for name in ("deployment", "rbac", "webhook", "metrics/alerts", "metrics/watch")),
    "serve/metrics/dashboard.json",
    *(f"upgrade/{name}.yaml" for name in ("ends", "hangs")),
    *(f"gitops/{name}.yaml" for name in ("apps/storefront/kustomization", "apps/storefront/storefront")),
    *("gitops/clusters/prod/apps.yaml", "gitops/charts/cache/Chart.yaml", "gitops/charts/cache/values.yaml"),
    "gitops/charts/cache/templates/cache.yaml",
    "gpu/cluster.json",
    *(f"gpu/{name}.yaml" for name in ("extended", "partitions", "too-much", "training")),
    *(f"kueue/{name}.yaml" for name in ("cluster", "evaluate", "more", "train")),
    *(f"legacy/{name}" for name in ("custom-scheduler.yaml", "painted.yaml", "policy.json", "sample_plugin.py")),
    *(f"gate/rules-{name}.yaml" for name in ("fail", "pass", "warn")),
    *(f"gate/base/{name}.yaml" for name in ("lab/notebook", "shop/cart", "shop/legacy-api", "shop/web", "shop/worker")),
    *(f"gate/head/{name}.yaml" for name in ("lab/notebook", "lab/training", "shop/cart", "shop/search", "shop/web")),
    *("gate/head/shop/worker.yaml", "gate/snapshot.json"),
    *(f"training/{name}.yaml" for name in ("cluster", "finetune", "job", "pretrain", "train", "tune", "urgent")),
    *(f"usage/{name}/cluster.json" for name in ("memory-binds", "pods-bind", "replicas-follow", "saves-40")),
    *(f"usage/{name}/groups.yaml" for name in ("memory-binds", "pods-bind", "replicas-follow", "saves-40")),
    *(f"usage/{name}/usage.json" for name in ("memory-binds", "replicas-follow", "saves-40")),
    "usage/pods-bind/usage.txt",
    "edits.yaml",
    "requests.yaml",
    "scenario.jsonl",
    "three-nodes.json",
}


def session(snapshot: str = CLUSTER, policy: str = "", plugin: str = "") -> Session:
    document = yaml.safe_load((SAMPLES / "policies" / f"{policy}.yaml").read_text()) if policy else None
    outside = load_outside([f"{SAMPLES}/plugins/{plugin}"] if plugin else [])
    cluster = load_snapshot([snapshot])
    features = features_of(minor_of(cluster.kubernetes_version or DEFAULT_MINOR))
    return Session(cluster, Setup(load_configuration(document, source=policy), features, outside))


def placed(*names: str, at: Session | None = None) -> PlaceResult:
    at = at or session()
    manifests = load_manifests([str(SAMPLES / "manifests" / f"{name}.yaml") for name in names])
    return place(at, expand(manifests, at.snapshot).pods)


def rolled_out(name: str) -> PlaceResult:
    at = session()
    expanded = expand(load_manifests([str(SAMPLES / "manifests" / f"{name}.yaml")]), at.snapshot)
    return place(at, expanded.pods, rollouts=expanded.rollouts)


def explained(name: str) -> ExplainResult:
    at = session()
    manifests = load_manifests([str(SAMPLES / "manifests" / f"{name}.yaml")])
    return explain(at, expand(manifests, at.snapshot).pods)


def by_pod(result: PlaceResult) -> dict[str, Placement]:
    return {placement.pod.partition("/")[2]: placement for placement in result.placements}


def test_every_sample_is_known_here() -> None:
    found = {str(path.relative_to(SAMPLES)) for path in SAMPLES.rglob("*.*") if path.is_file()}
    assert {name for name in found if "__pycache__" not in name} == FILES | {"__init__.py"}


def test_the_job_that_dumps_is_let_in_and_names_options_of_the_command() -> None:
    manifests = load_manifests([str(SAMPLES / "dump/cronjob.yaml")])
    (pod,) = expand(manifests, load_snapshot([CLUSTER])).pods
    (container,) = pod.pod.spec.containers or []
    (job,) = (each.raw for each in manifests if each.obj.kind == "CronJob")
    (written,) = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    options = {each.flag.name for each in parameters_of(Dump)}
    assert written["args"][:2] == ["snapshot", "dump"]
    assert {each.partition("=")[0] for each in written["args"][2:]} <= options
    assert container.resources is not None


def test_the_cluster_is_sound() -> None:
    snapshot = load_snapshot([CLUSTER])
    nodes, pods = snapshot.objects.list_all(Node), snapshot.objects.list_all(Pod)
    assert len(nodes) == 6
    assert len({(node.metadata.labels or {})["topology.kubernetes.io/zone"] for node in nodes}) == 3
    assert [node.name for node in nodes if node.spec.unschedulable] == ["general-a-2"]
    assert {pod.namespace for pod in pods} == {"batch", "kube-system", "monitoring", "shop"}
    assert sum(pod.status.phase == "Running" for pod in pods) == 37
    cluster = session().cluster
    assert (cluster.requested <= cluster.columns.allocatable).all()
    assert not snapshot.ignored


@pytest.mark.parametrize("snapshot", [CLUSTER, GPU, THREE_NODES])
def test_nothing_the_samples_lack_touches_a_pod(snapshot: str) -> None:
    assert placed("web", at=session(snapshot)).fidelity.touching == ()


def test_web_fits() -> None:
    result = placed("web")
    assert {placement.outcome for placement in result.placements} == {"placed"}
    assert len({placement.node for placement in result.placements}) > 1


def test_urgent_evicts_two_batch_pods_because_a_budget_protects_the_single_one() -> None:
    (placement,) = placed("urgent").placements
    assert placement.node == "general-b-1"
    assert [victim.owner.rpartition("-")[0] for victim in placement.victims] == ["Job/report", "Job/thumbnails"]
    assert placement.criterion == "fewest budget violations"
    (report,) = explained("urgent").pods
    chosen, other = report.evictions
    assert (chosen.node, len(chosen.victims), chosen.violations) == ("general-b-1", 2, 0)
    assert (other.node, len(other.victims), other.violations) == ("general-a-1", 1, 1)
    assert other.victims[0].budgets == ("cart",)


def test_too_big_fits_nowhere_and_one_toleration_would_do() -> None:
    (placement,) = placed("too-big").placements
    assert placement.message == (
        "0/6 nodes are available: 1 node(s) were unschedulable, 2 node(s) had untolerated taint(s), "
        "3 Insufficient cpu, 3 Insufficient memory. no new claims to deallocate, preemption: "
        "0/6 nodes are available: 6 Preemption is not helpful for scheduling."
    )
    (report,) = explained("too-big").pods
    fixes = [(fix.change, fix.node) for fix in report.fixes]
    assert fixes == [("add a toleration for nvidia.com/gpu=present:NoSchedule", "gpu-b-1")]


def test_of_the_gpu_pods_the_one_with_the_toleration_fits() -> None:
    found = by_pod(placed("gpu"))
    assert found["inference"].node == "gpu-b-1"
    assert found["notebook"].outcome == "unschedulable"


def test_spread_takes_a_zone_each_and_then_there_is_none_left() -> None:
    found = by_pod(placed("spread"))
    zones = {found[f"recommender-{i}"].node[:-2] for i in (1, 2, 3)}
    assert zones == {"general-a", "general-b", "general-c"}
    assert "3 node(s) didn't match pod anti-affinity rules" in found["recommender-4"].message


def test_the_demo_leaves_only_too_big_without_a_node() -> None:
    result = placed("web", "urgent", "too-big")
    assert result.placements[0].pod == "shop/payments-hotfix"
    assert [p.pod for p in result.placements if not p.good] == ["batch/too-big"]


def test_the_clusters_own_pending_pod_still_waits_with_the_message_it_has() -> None:
    at = session()
    (placement,) = place(at, pending_pods(at.snapshot)).placements
    pod = next(pod for pod in at.snapshot.objects.list_all(Pod) if pod.key == placement.pod)
    assert [c.message for c in pod.status.conditions or ()] == [placement.message]


def test_checkout_becomes_two_pods_with_requests_from_their_limits() -> None:
    result = placed("checkout")
    assert [p.pod.rpartition("-")[0] for p in result.placements] == ["shop/checkout-phqqx"] * 2
    assert all(p.good and "requests of cpu, memory from the limits" in p.defaults[0] for p in result.placements)


def test_sessions_are_replaced_from_the_last_to_the_first_each_on_its_own_node() -> None:
    result = rolled_out("sessions")
    (rollout,) = result.rollouts
    assert (rollout.creates, rollout.keeps, rollout.removes, rollout.unfinished) == (3, 0, 3, "")
    assert [p.pod for p in result.placements] == ["shop/sessions-2", "shop/sessions-1", "shop/sessions-0"]
    assert result.exit_code == 0


def test_with_a_node_gone_and_another_added_all_its_pods_and_one_more_session_fit() -> None:
    at = apply_edits(load_snapshot([CLUSTER]), read_edits([str(SAMPLES / "edits.yaml")]))
    result = place(Session(at.snapshot, Setup(load_configuration(None, source=""), features_of())), at.waiting_pods)
    assert [p.pod for p in result.placements if not p.good] == []
    assert by_pod(result)["sessions-3"].node == "general-c-1-new-1"
    assert len(result.placements) == 9
    assert result.fidelity.edits[0] == "uncordon node general-a-2"


@pytest.mark.long
def test_policies_are_accepted_and_change_something() -> None:
    usual = [placement.node for placement in placed("web").placements]
    for path in sorted((SAMPLES / "policies").iterdir()):
        outcome = examine(yaml.safe_load(path.read_text()), accept_removed=False)
        assert outcome.problems == (), path.name
        assert outcome.configuration is not None
        assert outcome.configuration.warnings == (), path.name
    packed = placed("web", at=session(policy="most-allocated")).placements
    assert [placement.node for placement in packed] != usual
    curved = placed("web", at=session(policy="requested-to-capacity")).placements
    assert [placement.score for placement in curved] != [p.score for p in placed("web").placements]
    assert session(policy="two-profiles").driver.scheduler("batch-scheduler") is not None


def test_sample_plugin_accepts_its_color_and_writes_down_who_goes_where() -> None:
    at = session(THREE_NODES, "sample-plugin", "sample_plugin.py:SamplePlugin")
    result = placed("web", at=at)
    assert {placement.node for placement in result.placements if placement.node} <= {"bob", "cy"}
    scheduler = at.driver.scheduler(None)
    assert scheduler is not None
    (plugin,) = (p for p in scheduler.framework.all_plugins if p.name == "SamplePlugin")
    bound = plugin.bound  # type: ignore[attr-defined]
    assert bound[0] == "shop/web-canary-1 goes to bob, number 7, thanks to the scheduler"
    assert len(bound) == sum(placement.good for placement in result.placements)


def legacy(policy: str, plugin: str = "") -> Session:
    document, source, _ = read_policy(str(SAMPLES / "legacy" / policy))
    features = features_of(LEGACY_MINOR)
    outside = load_outside([f"{SAMPLES}/legacy/{plugin}"] if plugin else [])
    return Session(
        load_snapshot([THREE_NODES]),
        Setup(load_configuration(document, source=source, features=features), features, outside),
    )


def test_a_custom_scheduler_of_1_16_runs_from_its_config_map() -> None:
    at = legacy("custom-scheduler.yaml", "sample_plugin.py:SamplePlugin")
    manifests = load_manifests([str(SAMPLES / "legacy" / "painted.yaml")])
    result = by_pod(place(at, expand(manifests, at.snapshot).pods))
    assert result["painted"].node == "bob"
    assert (result["painted"].feasible, result["any-color"].feasible) == (2, 3)
    scheduler = at.driver.scheduler("sample-scheduler")
    assert scheduler is not None
    (plugin,) = (p for p in scheduler.framework.all_plugins if p.name == "sample-plugin")
    assert plugin.bound == [  # type: ignore[attr-defined]
        "default/painted goes to bob, number 7, thanks to the scheduler",
        "default/any-color goes to ada, number 7, thanks to the scheduler",
    ]
    assert at.driver.scheduler("default-scheduler") is None


def test_a_policy_packs_where_the_defaults_spread() -> None:
    manifests = load_manifests([str(SAMPLES / "manifests" / "web.yaml")])
    packed = legacy("policy.json")
    spread = session(THREE_NODES)
    nodes = [
        [placement.node for placement in place(at, expand(manifests, at.snapshot).pods).placements]
        for at in (packed, spread)
    ]
    assert nodes[0] != nodes[1]


def test_per_node_plugin_keeps_pods_with_a_priority_off_spot_nodes() -> None:
    at = session(THREE_NODES, "per-node", "per_node.py:SpotAware")
    assert placed("web", at=at).placements[0].node == "bob"
    urgent = placed("urgent", at=session(THREE_NODES, "per-node", "per_node.py:SpotAware")).placements[0]
    assert urgent.node != "bob"


def on_devices(name: str) -> tuple[Session, list[PodToSchedule]]:
    at = session(GPU)
    expanded = expand(load_manifests([str(SAMPLES / "gpu" / f"{name}.yaml")]), at.snapshot)
    for obj in expanded.objects:
        at.snapshot.objects.add(obj)
    return Session(at.snapshot, at.setup), expanded.pods


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("training", [["gpu-2/gpu-0", "gpu-2/gpu-1"], ["gpu-1/gpu-2", "gpu-1/gpu-3"]]),
        ("partitions", [["parts-1/part-1"], ["parts-1/part-3"], ["parts-1/part-5"], []]),
        ("too-much", [[]]),
        ("extended", [["gpu-2/gpu-0", "gpu-2/gpu-1"]]),
    ],
)
def test_claims_get_these_devices(name: str, wanted: list[list[str]]) -> None:
    result = place(*on_devices(name))
    found = [[use.name for claim in each.devices for use in claim.devices] for each in result.placements]
    assert found == [[f"gpu.example.com/{each}" for each in some] for some in wanted]
    assert result.fidelity.touching == ()


def test_of_too_much_a_card_less_would_do() -> None:
    (report,) = explain(*on_devices("too-much")).pods
    assert [fix.node for fix in report.fixes] == ["gpu-1", "gpu-1", "gpu-2", "gpu-1"]
    assert report.fixes[0].change == "lower the count from 3 to 2 in request gpus of claim big"


def test_scenarios_agree_with_what_they_expect_and_need_not_expect_anything() -> None:
    lines = (SAMPLES / "scenario.jsonl").read_text().splitlines()
    recorded = [json.loads(line).get("expected") for line in lines]
    assert [expected is not None for expected in recorded] == [True, False]
    for line, expected in zip(lines, recorded, strict=True):
        found = replay_scenario(msgspec.json.decode(line, type=SchedulerScenario))
        del found["name"]
        assert expected is None or json.loads(json.dumps(found)) == expected
