"""Which policy is best: planted answers, measures by hand, laws of the front, and spaces that are wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import kwhatif
from kwhatif.commands.sweep.measures import front_of, influences_of, measure_run, objectives_of, ranks_of, scalars
from kwhatif.commands.sweep.points import points_of
from kwhatif.commands.sweep.policy_variant import apply_settings, build_variant, describe_differences
from kwhatif.commands.sweep.result import Objective, SweepResult
from kwhatif.commands.sweep.space_document import Axis, Space, read_space
from kwhatif.errors import InputError, UsageError
from kwhatif.policy.configuration_file import default_configuration, load_configuration
from kwhatif.results.outcome import EvictedPod
from kwhatif.results.place import Placement
from kwhatif.scheduling.setup import Setup
from kwhatif.simulation.autoscalers.node_prices import read_prices
from kwhatif.simulation.placement.run import Run
from tests.builders import FEATURES, node, pod
from tests.cli.running import TESTS, run
from tests.simulation.sessions import session_of

SAMPLE = TESTS.parent / "samples" / "sweep"
CLUSTER, JOB, SPACE, PRICES = (str(SAMPLE / f"{name}.yaml") for name in ("cluster", "training", "space", "prices"))
WORDS = ("sweep", JOB, "--replay", "all", "--space", SPACE, "--snapshot", CLUSTER)

PACK: dict[str, Any] = {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}


def space_of(**settings: Any) -> Space:
    return read_space({"apiVersion": "kwhatif.dev/v1", "kind": "SweepSpace", **settings})


def sample(**options: Any) -> SweepResult:
    return kwhatif.sweep(JOB, space=SPACE, snapshot=CLUSTER, replay=["all"], workers=1, **options)


# --- planted answers


@pytest.mark.long
def test_the_policy_that_was_planted_is_on_the_front_and_the_best(tmp_path: Path) -> None:
    """Machines of 4 cpus, pods of 500m on all of them, and two that want 3500m: only who packs has room for both."""
    best = tmp_path / "best.yaml"
    strategies = {"spread": {"type": "LeastAllocated", "resources": PACK["resources"]}, "pack": PACK}
    space = {"scoringStrategies": strategies, "weights": {"PodTopologySpread": [0, 2]}}
    document = {"apiVersion": "kwhatif.dev/v1", "kind": "SweepSpace", **space}
    result = kwhatif.sweep(JOB, space=document, snapshot=CLUSTER, replay=["all"], workers=1, write=best)
    planted = next(
        each for each in result.points if each.settings == {"scoringStrategy": "pack", "PodTopologySpread.weight": 0}
    )
    assert (result.best, planted.on_front, planted.rank) == (planted.number, True, 1)
    assert (planted.measures["pending"], planted.measures["nodesInUse"]) == (0, 4)
    assert (result.today.on_front, result.today.measures["pending"]) == (False, 2)
    # What was written is a policy that does it.
    configuration = load_configuration(yaml.safe_load(best.read_text()), source="")
    assert configuration.profiles[0].args_of("NodeResourcesFit").scoring_strategy.type == "MostAllocated"
    again = kwhatif.diff(JOB, snapshot=CLUSTER, policy=["default", best], replay=["all"])
    assert (again.a.unplaced, again.b.unplaced, again.cluster_b.used) == (2, 0, 4)
    matters = {each.setting: each.percent for each in result.influences if each.measure == "pending"}
    assert matters == {"scoringStrategy": 100.0, "PodTopologySpread.weight": 0.0}


@pytest.mark.long
def test_the_answer_is_the_same_whoever_asks_and_after_it_was_cut_off(tmp_path: Path) -> None:
    answers, rows = [], []
    for workers in ("1", "2"):
        rows.append(tmp_path / f"{workers}.jsonl")
        answers.append(run(*WORDS, "-o", "json", "--workers", workers, "--out", str(rows[-1])))
    assert answers[0] == answers[1]
    assert rows[0].read_bytes() == rows[1].read_bytes()
    lines = rows[0].read_bytes().splitlines(keepends=True)
    rows[1].write_bytes(b"".join(lines[:5]) + lines[5][:40])
    resumed = run(*WORDS, "-o", "json", "--out", str(rows[1]), "--resume")
    assert (resumed, rows[1].read_bytes()) == (answers[0], rows[0].read_bytes())
    other = run(*WORDS, "--cordon", "general-a-1", "--out", str(rows[1]), "--resume")
    assert other.code == 2
    assert "the rows are of another study" in other.err


@pytest.mark.long
def test_measures_of_several_clusters_are_means(tmp_path: Path) -> None:
    document = list(yaml.safe_load_all(Path(CLUSTER).read_text()))
    small = tmp_path / "small.yaml"
    small.write_text(yaml.safe_dump_all([each for each in document if each["metadata"]["name"] != "general-c-2"]))
    result = sample(other_snapshots=[str(small)])
    for point in result.points:
        assert point.measures["pending"] == sum(each.pending for each in point.on) / 2
    assert [each.nodes_in_use for each in result.today.on] == [6, 5]
    assert len(result.fidelity) == len(result.snapshots) == 2


@pytest.mark.long
def test_room_for_a_probe_is_what_capacity_counts() -> None:
    result = sample(probe=JOB, objectives={"probeRoom": 1})
    rooms = {each.policy: each.measures["probeRoom"] for each in result.points}
    assert rooms["today's"] == 0
    assert max(rooms.values()) > 0


# --- measures


def test_measures_of_a_small_cluster_by_hand() -> None:
    nodes = [
        node("a", cpu="4", zone="x", allocatable={"nvidia.com/gpu": "2"}),
        node("b", cpu="4", zone="y"),
        node("c", cpu="4", zone="y"),
    ]
    pods = [
        pod("one", owner=("apps/v1", "ReplicaSet", "web"), cpu="1", on="a"),
        pod("two", owner=("apps/v1", "ReplicaSet", "web"), on="a", requests={"cpu": "1", "nvidia.com/gpu": "1"}),
        pod("three", owner=("apps/v1", "DaemonSet", "agent"), cpu="1", on="c"),
    ]
    placements = [
        Placement(pod="default/one", outcome="placed", node="a"),
        Placement(pod="default/two", outcome="placed", node="a"),
        Placement(pod="default/four", outcome="unschedulable", priority=7),
        Placement(pod="default/five", outcome="unschedulable"),
    ]
    session = session_of(nodes, pods)
    today = {"default/one": "a", "default/two": "b"}
    victims = tuple(EvictedPod(pod=f"default/old-{number}") for number in range(3))
    found = measure_run(Run(session, (), placements, victims=victims), today, {"a": 0.5, "b": 0.25})
    assert scalars([found]) == {
        "pending": 2,
        "evictions": 3,
        "cost": 0.5,
        "nodesInUse": 1,
        "nodesEmpty": 2,
        "moved": 1,
        "zoneSkew": 2,
        "gpuAllocation": 50.0,
        "cpuMean": 25.0,
        "cpuDeviation": 20.4,
        "cpuLargestFree": 4000,
        "memoryMean": 0.0,
        "memoryDeviation": 0.0,
        "memoryLargestFree": 8 * 1024**3,
    }
    assert [(each.priority, each.pods) for each in found.pending_by_priority] == [(7, 1), (0, 1)]


# --- the front

VALUES = st.dictionaries(
    st.integers(0, 30),
    st.fixed_dictionaries({"pending": st.integers(0, 4), "nodesEmpty": st.integers(0, 4), "cost": st.integers(0, 4)}),
    min_size=1,
)


def beats(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    signs = {"pending": 1, "nodesEmpty": -1, "cost": 1}
    pairs = [(sign * one[name], sign * other[name]) for name, sign in signs.items()]
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


@given(VALUES)
def test_who_is_on_the_front_is_beaten_by_nobody_and_who_is_not_by_somebody_on_it(
    points: dict[int, dict[str, float]],
) -> None:
    objectives = objectives_of(["pending", "nodesEmpty=2", "cost"], priced=True)
    front = front_of(points, objectives)
    for number, values in points.items():
        by = [other for other in front if beats(points[other], values)]
        assert bool(by) != (number in front)
    ranks = ranks_of(points, objectives)
    assert any(ranks[number] == 1 for number in front)


def test_ranks_weigh_shares_of_the_range() -> None:
    points = {0: {"pending": 0.0, "cost": 30.0}, 1: {"pending": 1.0, "cost": 10.0}, 2: {"pending": 2.0, "cost": 10.0}}
    objectives = [Objective(measure=name, goal="min", weight=1) for name in ("pending", "cost")]
    assert ranks_of(points, objectives) == {0: 2, 1: 1, 2: 2}
    heavy = [Objective(measure="pending", goal="min", weight=5), objectives[1]]
    assert ranks_of(points, heavy) == {0: 1, 1: 2, 2: 3}


def test_a_setting_that_decides_alone_has_all_the_influence_and_one_without_any_has_none() -> None:
    axes = [Axis("a.weight", tuple(range(12)), "$", ordered=True), Axis("b.enabled", (True, False), "$")]
    points = [
        ({"a.weight": a, "b.enabled": b}, {"pending": float(a), "cost": 1.0}) for a in range(12) for b in (True, False)
    ]
    found = {(each.setting, each.measure): each for each in influences_of(axes, points)}
    assert {key: each.percent for key, each in found.items()} == {
        ("a.weight", "pending"): pytest.approx(100 * 10 / 11, abs=0.1),
        ("b.enabled", "pending"): 0.0,
    }
    of_a = found["a.weight", "pending"]
    assert (of_a.best, [each.level for each in of_a.levels][1:3]) == ("0 to 1", ["2 to 3", "4 to 5"])


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("pendin", "did you mean pending?"),
        ("pending=much", "expected a weight above 0, found much"),
        ("pending=0", "expected a weight above 0"),
    ],
)
def test_objectives_that_there_are_not(word: str, told: str) -> None:
    with pytest.raises(UsageError, match=told.replace("?", r"\?")):
        objectives_of([word], priced=False)


# --- policies

SETUP = Setup(default_configuration(FEATURES), FEATURES)


@pytest.mark.parametrize(
    ("settings", "scores", "words"),
    [
        ({"ImageLocality.weight": 7}, {"ImageLocality": 7}, "ImageLocality weighs 7"),
        ({"ImageLocality.weight": 0}, {"ImageLocality": None}, "ImageLocality does not score"),
        ({"ImageLocality.weight": 1}, {"ImageLocality": 1}, ""),
        ({"PodTopologySpread.enabled": False}, {"PodTopologySpread": None}, "PodTopologySpread off"),
        ({"PodTopologySpread.enabled": True}, {"PodTopologySpread": 2}, ""),
        ({"percentageOfNodesToScore": 30}, {}, "30% of nodes scored"),
        ({"percentageOfNodesToScore": 0}, {}, ""),
        ({"scoringStrategy": "pack"}, {"NodeResourcesFit": 1}, "strategy pack"),
    ],
)
def test_a_policy_is_todays_but_for_its_settings(
    settings: dict[str, Any], scores: dict[str, int | None], words: str
) -> None:
    space = space_of(scoringStrategies={"pack": PACK})
    changed = apply_settings(SETUP, space, settings)
    profile = changed.profile(changed.configuration.profiles[0])
    weights = {plugin.name: weight for plugin, weight in profile.framework.scorers}
    assert {plugin: weights.get(plugin) for plugin in scores} == scores
    filters = {plugin.name for plugin in profile.framework.filters}
    assert ("PodTopologySpread" in filters) == settings.get("PodTopologySpread.enabled", True)
    assert describe_differences(SETUP, space)(settings) == words
    assert profile.percentage == settings.get("percentageOfNodesToScore", 0)


def test_a_variant_leaves_todays_policy_as_it_is() -> None:
    space = space_of(weights={"ImageLocality": [3]})
    before = repr(SETUP.configuration)
    build_variant(SETUP, space, {"ImageLocality.weight": 3})
    assert repr(SETUP.configuration) == before


# --- points


def test_a_plugin_that_is_off_has_no_weight_so_such_points_are_one() -> None:
    space = space_of(weights={"ImageLocality": {"min": 0, "max": 4, "step": 2}}, plugins=["ImageLocality"])
    points, repeated = points_of(space, None)
    assert (len(points), repeated) == (4, 2)
    assert {"ImageLocality.enabled": False} in points


def test_a_random_sample_is_that_of_its_seed() -> None:
    space = space_of(weights={"ImageLocality": {"min": 0, "max": 99}}, sample={"method": "random", "points": 20})
    assert points_of(space, 4) == points_of(space, 4) != points_of(space, 5)
    with pytest.raises(UsageError, match="name a --seed"):
        points_of(space, None)


# --- what is wrong


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (
            {},
            r"space: \$: expected weights, .*, arguments or plugins, found none",
        ),
        ({"weigths": {}}, r'space: \$: unknown field "weigths"; did you mean weights\?'),
        ({"weights": {"ImageLocality": []}}, r"space: \$\.weights\.ImageLocality"),
        (
            {"weights": {"ImageLocality": {"min": 5, "max": 2}}},
            r"space: \$\.weights\.ImageLocality\.max: expected no less",
        ),
        ({"weights": {"ImageLocality": [1, 1]}}, r"space: \$\.weights\.ImageLocality: a number is listed twice"),
        (
            {"arguments": {"TargetLoadPacking": {"targetUtilization": [40, 40]}}},
            r"space: \$\.arguments\.TargetLoadPacking\.targetUtilization: a value is listed twice",
        ),
        (
            {"arguments": {"TargetLoadPacking": {"targetUtilization": [[1]]}}},
            r"space: \$\.arguments\.TargetLoadPacking\.targetUtilization",
        ),
        ({"plugins": ["ImageLocality", "ImageLocality"]}, r"space: \$\.plugins\[0\]: ImageLocality is listed twice"),
        ({"plugins": ["A"], "sample": {"method": "monteCarlo"}}, r"space: \$\.sample\.method: .*found \"monteCarlo\""),
        (
            {"weights": {"ImageLocality": {"min": 0, "max": 999}, "NodeAffinity": {"min": 0, "max": 999}}},
            r"space: \$\.sample\.method: a grid of 1,000,000 points",
        ),
    ],
)
def test_a_space_that_makes_no_sense(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        space_of(**settings)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"weights": {"NodePorts": [3]}, "profile": "other"}, r"space: \$\.profile: .*default-scheduler; found other"),
        ({"weights": {"Nonesuch": [3]}}, r"space: \$\.weights\.Nonesuch: the profile does not enable Nonesuch"),
        ({"plugins": ["Nonesuch"]}, r"space: \$\.plugins\[0\]: .*Nonesuch"),
        ({"percentageOfNodesToScore": [0, 101]}, r"space: \$\.percentageOfNodesToScore: .*101"),
        ({"scoringStrategies": {"odd": {"type": "Odd"}}}, r"space: \$\.scoringStrategies\.odd: .*Odd"),
        (
            {"arguments": {"NodeAffinity": {"nonesuch": [3]}}},
            r'space: \$\.arguments\.NodeAffinity\.nonesuch: .*unknown field "nonesuch"',
        ),
        (
            {"arguments": {"InterPodAffinity": {"hardPodAffinityWeight": [3, 300]}}},
            r"space: \$\.arguments\.InterPodAffinity\.hardPodAffinityWeight: .*300",
        ),
        (
            {"arguments": {"NodePorts": {"any": [3]}}},
            r"space: \$\.arguments\.NodePorts\.any: the profile has no arguments of NodePorts",
        ),
        (
            {"arguments": {"PodTopologySpread": {"defaultingType.deep": [3]}}},
            r"defaultingType of defaultingType\.deep is no object",
        ),
        ({"plugins": ["DefaultBinder"]}, r"space: \$\.plugins\[0\]: .*bind"),
    ],
)
def test_a_policy_that_kube_scheduler_refuses_is_told_with_its_place(settings: dict[str, Any], told: str) -> None:
    document = {"apiVersion": "kwhatif.dev/v1", "kind": "SweepSpace", **settings}
    with pytest.raises(InputError, match=told):
        kwhatif.sweep(JOB, space=document, snapshot=CLUSTER)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--space", SPACE), "name files with pods to schedule, or pods of the snapshot with --replay"),
        ((JOB,), "name the settings to try: --space FILE"),
        ((JOB, "--space", SPACE, "--search", "3"), "--search draws at random: name a --seed"),
        ((JOB, "--space", SPACE, "--objective", "cost"), "--objective cost: nothing is known of it without --prices"),
        ((JOB, "--space", SPACE, "--resume"), "--resume needs --out"),
        ((JOB, "--space", SPACE, "--out", "rows.csv"), "expected a name that ends in .jsonl or .parquet"),
        ((JOB, "--space", SPACE, "--probe", CLUSTER), "--probe: expected manifests with one pod or workload, found 12"),
        ((JOB, "--space", SPACE, "--write", "-"), "--write -: standard output is for the answer"),
        ((JOB, "--space", SPACE, "--write", "none/best.yaml"), "none/best.yaml: cannot be written"),
        ((JOB, "--space", SPACE, "--against-snapshot", "data/cluster.json", "--workers", "0"), "--workers"),
    ],
)
def test_what_cannot_be_swept(words: tuple[str, ...], told: str) -> None:
    ran = run("sweep", *words, "--snapshot", CLUSTER)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err


@pytest.mark.long
def test_what_the_api_server_refuses_is_told(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(Path(JOB).read_text() + "---\napiVersion: v1\nkind: Pod\nmetadata: {name: Wrong}\nspec: {}\n")
    ran = run("sweep", str(wrong), "--space", SPACE, "--snapshot", CLUSTER)
    assert ran.code == 0
    assert 'metadata.name: Invalid value: "Wrong"' in ran.out


def test_prices_are_those_of_a_table_or_of_a_catalogue(tmp_path: Path) -> None:
    labels = {"node.kubernetes.io/instance-type": "m-4", "topology.kubernetes.io/zone": "eu-a"}
    spot = {**labels, "karpenter.sh/capacity-type": "spot"}
    table, catalogue = tmp_path / "table.yaml", tmp_path / "catalogue.yaml"
    table.write_text("m-4: 0.2\n")
    offers = [
        {"zone": "eu-a", "capacityType": kind, "price": price} for kind, price in (("spot", 0.07), ("on-demand", 0.2))
    ]
    type_ = {"name": "m-4", "capacity": {"cpu": 4, "memory": "16Gi", "pods": 58}, "offerings": offers}
    catalogue.write_text(json.dumps({"apiVersion": "kwhatif.dev/v1", "kind": "InstanceTypes", "types": [type_]}))
    for path, cheap in ((table, 0.2), (catalogue, 0.07)):
        prices = read_prices(str(path))
        assert [prices(node("n", labels=each)) for each in (labels, spot, {})] == [0.2, cheap, None]
    table.write_text("m-4: dear\n")
    with pytest.raises(InputError, match=r"table.yaml: \$\.m-4: expected a price per hour, found \"dear\""):
        read_prices(str(table))
