from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
import yaml

from kwhatif import clock
from kwhatif.results.place import PlaceResult
from tests.builders import profile_document
from tests.cli.running import CLUSTER, TESTS, refused, run

PODS = "data/pods.yaml"
SMALL = "data/small.yaml"


def place(*words: str, snapshot: str = CLUSTER, stdin: bytes | str = b"") -> PlaceResult:
    """What ``place -o json`` says, whatever its exit code."""
    ran = run("place", *words, "--snapshot", snapshot, "-o", "json", stdin=stdin)
    assert ran.code in (0, 1), ran.err
    result = msgspec.json.decode(ran.out, type=PlaceResult)
    assert result.exit_code == ran.code
    return result


def nodes(result: PlaceResult) -> dict[str, str]:
    return {placement.pod: placement.node for placement in result.placements}


# --- which pods


def test_files_may_be_named_as_kubectl_has_it() -> None:
    by_word, by_option, by_both = (
        place(*words) for words in ([PODS, SMALL], ["-f", PODS, "--filename", SMALL], [PODS, "-f", SMALL])
    )
    assert by_word == by_option == by_both
    assert len(by_word.placements) == 5


def test_manifests_and_snapshots_are_read_from_standard_input() -> None:
    as_file = place(PODS)
    found = place("-", stdin=(TESTS / PODS).read_bytes())
    assert nodes(found) == nodes(as_file)
    assert found.placements[0].origin.startswith("standard input")
    assert nodes(place(PODS, snapshot="-", stdin=(TESTS / CLUSTER).read_bytes())) == nodes(as_file)


def test_a_snapshot_may_be_in_several_files(tmp_path: Path) -> None:
    whole = json.loads((TESTS / CLUSTER).read_text())
    names = []
    for kinds in (["Node", "Namespace"], [kind for kind in whole["objects"] if kind not in ("Node", "Namespace")]):
        part = {**whole, "objects": {kind: whole["objects"][kind] for kind in kinds}}
        names.append(str(tmp_path / f"{kinds[0]}.json"))
        Path(names[-1]).write_text(json.dumps(part))
    ran = run("place", PODS, "--snapshot", names[0], "--snapshot", names[1], "-o", "json")
    assert nodes(msgspec.json.decode(ran.out, type=PlaceResult)) == nodes(place(PODS))


def test_a_manifest_that_names_no_namespace_gets_the_one_of_the_option() -> None:
    assert list(nodes(place(SMALL))) == ["default/small"]
    assert list(nodes(place(SMALL, "-n", "shop"))) == ["shop/small"]
    assert next(iter(nodes(place(PODS, "--namespace", "elsewhere")))) == "shop/vip"


def test_pods_of_a_generated_name_get_names_of_their_own() -> None:
    text = (TESTS / SMALL).read_text().replace("name: small", "generateName: small-")
    found = place("-", stdin=f"{text}---\n{text}")
    assert list(nodes(found)) == ["default/small-1", "default/small-2"]


def test_pending_pods_come_along_when_asked_for_and_a_manifest_of_the_same_name_counts_instead() -> None:
    assert list(nodes(place("--with-pending"))) == ["shop/late", "shop/late-big"]
    text = (TESTS / SMALL).read_text().replace("name: small", "name: late-big\n  namespace: shop")
    found = place("-", "--with-pending", stdin=text)
    assert set(nodes(found)) == {"shop/late", "shop/late-big"}
    assert found.exit_code == 0


def test_a_pod_that_runs_already_is_skipped_though_its_manifest_has_no_uid() -> None:
    text = (TESTS / SMALL).read_text().replace("name: small", "name: web-1\n  namespace: shop")
    (found,) = place("-", stdin=text).placements
    assert (found.outcome, found.message) == ("skipped", "it runs on ant-1 already")


def test_a_pod_that_names_its_node_is_bound_there_without_the_scheduler() -> None:
    text = (TESTS / SMALL).read_text().replace("spec:", "spec:\n  nodeName: cat-1")
    (found,) = place("-", stdin=text).placements
    assert (found.outcome, found.message) == ("skipped", "spec.nodeName binds it to cat-1 without the scheduler")


# --- other objects


def test_other_objects_count_for_this_run_and_are_told() -> None:
    ran = run("place", "data/others.yaml", "--snapshot", CLUSTER)
    assert ran.code == 0
    assert ran.notes == [
        "note: for this run, in the snapshot: PriorityClass pressing added, Node dog-1 added",
        "note: not read by the scheduler: 1 ConfigMap",
    ]
    (huge, *_) = place("data/others.yaml").placements
    assert (huge.node, huge.priority) == ("dog-1", 5000)


def test_workloads_become_pods() -> None:
    assert [name.rpartition("-")[2] for name in nodes(place("data/others.yaml"))] == ["shop/huge", "1", "2"]


def test_kinds_that_nobody_knows_are_told_as_a_gap() -> None:
    (gap,) = place("data/others.yaml").fidelity.touching
    assert gap.what == "kinds unknown to kwhatif: 1 Gadget"
    assert "1 Gadget" in refused("place", "data/others.yaml", "--snapshot", CLUSTER, "--strict")
    assert place("data/others.yaml", "--ignore-unknown").fidelity.touching == ()


def test_a_kind_is_not_known_because_a_manifest_brings_one_object_of_it(tmp_path: Path) -> None:
    nodes_only = tmp_path / "nodes.json"
    objects = {"Node": json.loads((TESTS / CLUSTER).read_text())["objects"]["Node"], "Pod": []}
    nodes_only.write_text(
        json.dumps({"apiVersion": "kwhatif.dev/v1", "kind": "ClusterSnapshot", "metadata": {}, "objects": objects})
    )
    service = "---\napiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}}\n"
    found = place("-", snapshot=str(nodes_only), stdin=(TESTS / SMALL).read_text() + service)
    assert "the snapshot holds no Service" in [gap.what for gap in found.fidelity.touching]


def test_manifests_without_a_pod_are_an_error_that_says_what_they_hold() -> None:
    error = refused("place", "data/no-pods.yaml", "--snapshot", CLUSTER)
    assert error == "data/no-pods.yaml: no pods in here, only 2 ConfigMap, 1 Service"
    assert run("place", "data/no-pods.yaml", "--with-pending", "--snapshot", CLUSTER).code == 1


@pytest.mark.parametrize("command", ["expand", "place", "gate"])
def test_what_the_api_server_refuses_is_told_without_a_pod_too(command: str) -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {key: not base64}\n"
    ran = run(command, "-", *(("--snapshot", CLUSTER) if command != "expand" else ()), stdin=secret)
    assert ran.code == 1
    assert "illegal base64 data at input byte 3" in " ".join(ran.out.split())


# --- how


def test_a_policy_decides_and_its_warnings_are_told() -> None:
    spread, packed = (
        place(SMALL, "--policy", "data/two-profiles.yaml"),
        place(
            "-",
            "--policy",
            "data/two-profiles.yaml",
            stdin=(TESTS / SMALL).read_text().replace("spec:", "spec:\n  schedulerName: packer"),
        ),
    )
    assert nodes(spread) == {"default/small": "bee-1"}
    assert nodes(packed) == {"default/small": "bee-2"}
    assert packed.placements[0].scheduler == "packer"
    ran = run("place", SMALL, "--snapshot", CLUSTER, "--policy", "data/old-version.yaml")
    assert ran.code == 0
    assert "v1beta3" in ran.notes[0]
    assert ran.notes[0].startswith("warning: data/old-version.yaml: ")


def test_a_policy_is_read_from_standard_input() -> None:
    stdin = (TESTS / "data/old-version.yaml").read_bytes()
    assert run("place", SMALL, "--snapshot", CLUSTER, "--policy", "-", stdin=stdin).code == 0


@pytest.mark.parametrize("command", ["place", "place --timeline", "explain", "capacity", "gate"])
def test_a_pod_of_a_scheduler_that_nobody_knows_is_not_placed(command: str) -> None:
    text = (TESTS / SMALL).read_text().replace("spec:", "spec:\n  schedulerName: volcano")
    ran = run(*command.split(), "-", "--snapshot", CLUSTER, stdin=text)
    # For the gate it is a gap: another scheduler may have room.
    assert ran.code == (0 if command == "gate" else 1)
    assert "schedulerName volcano is none of the configuration's profiles" in ran.out


def test_all_nodes_scores_those_that_sampling_leaves_out(tmp_path: Path) -> None:
    policy = tmp_path / "policy.json"
    policy.write_text(
        json.dumps(
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "percentageOfNodesToScore": 1,
            }
        )
    )
    crowd = tmp_path / "crowd.json"
    crowd.write_text(
        json.dumps(
            {
                "apiVersion": "kwhatif.dev/v1",
                "kind": "ClusterSnapshot",
                "objects": {
                    "Node": [
                        {
                            "metadata": {"name": f"n{i}"},
                            "status": {"allocatable": {"cpu": "4", "memory": "4Gi", "pods": "9"}},
                        }
                        for i in range(150)
                    ],
                    "Pod": [],
                },
            }
        )
    )
    few = place(SMALL, "--policy", str(policy), snapshot=str(crowd)).placements[0]
    every = place(SMALL, "--policy", str(policy), "--all-nodes", snapshot=str(crowd)).placements[0]
    assert (few.evaluated, every.evaluated) == (100, 150)
    assert (few.ties, every.ties) == (100, 150)
    assert len(every.tied) == 10


@pytest.mark.long
@pytest.mark.parametrize(
    ("minor", "choice", "seeded"),
    [
        pytest.param("1.34", "draw", {"node-01", "node-16"}, id="until 1.34 it is drawn, else the first by name"),
        pytest.param("1.36", "heap", {"node-01"}, id="since 1.35 it is decided by the race, else by one worker"),
    ],
)
def test_a_seed_decides_ties_the_same_way_every_time(minor: str, choice: str, seeded: set[str]) -> None:
    def chosen(*words: str) -> str:
        placed = place(SMALL, *words, "--kubernetes-version", minor, snapshot="data/many-nodes.json").placements[0]
        assert placed.choice == choice
        return placed.node

    assert chosen() == "node-01"
    seeds = [chosen("--seed", str(seed)) for seed in range(8)]
    assert seeds == [chosen("--seed", str(seed)) for seed in range(8)]
    assert set(seeds) == seeded


def test_strict_is_content_where_no_gap_touches_the_pods() -> None:
    assert run("place", SMALL, "--snapshot", CLUSTER, "--strict").code == 0


def test_strict_refuses_an_answer_that_a_gap_touches() -> None:
    error = refused(
        "place",
        "--with-pending",
        "--snapshot",
        "data/hostile.json",
        "--snapshot",
        "data/hostile-cluster.json",
        "--policy",
        "data/unknown-plugin.yaml",
        "--skip-unknown-plugins",
        "--strict",
    )
    assert error.startswith(
        "--strict: Pod could not be read: the list holds those of namespace default alone: touches "
        "default/evil\\x1b[2J|"
    )


# --- plugins


def test_a_plugin_nobody_provides_is_an_error_that_names_it() -> None:
    error = refused("place", SMALL, "--snapshot", CLUSTER, "--policy", "data/unknown-plugin.yaml")
    assert error.startswith("plugin Coordinating is enabled, but no plugin provides it")


def test_unknown_plugins_can_be_skipped_which_is_told() -> None:
    found = place(SMALL, "--policy", "data/unknown-plugin.yaml", "--skip-unknown-plugins")
    (gap,) = found.fidelity.touching
    assert gap.what == "plugin Coordinating is enabled, but no plugin provides it"
    assert gap.pods == ("default/small",)
    ran = run(
        "place",
        SMALL,
        "--snapshot",
        CLUSTER,
        "--policy",
        "data/unknown-plugin.yaml",
        "--skip-unknown-plugins",
        "-o",
        "name",
    )
    assert ran.out == "pod/default/small -> node/bee-1\n"
    assert ran.notes == [
        "warning: plugin Coordinating is enabled, but no plugin provides it: whatever it would reject, score or bind "
        "is left out"
    ]


def test_it_is_told_who_does_what_only_a_skipped_plugin_did(tmp_path: Path) -> None:
    file = tmp_path / "gang.json"
    file.write_text(json.dumps(profile_document(plugins={"queueSort": GANG})))
    found = place(SMALL, "--policy", str(file), "--skip-unknown-plugins")
    assert [gap.what for gap in found.fidelity.touching] == [
        "plugin Gang is enabled, but no plugin provides it",
        "without them no plugin sorts the queue",
    ]


GANG = {"enabled": [{"name": "Gang"}], "disabled": [{"name": "*"}]}


def test_a_plugin_from_outside_takes_part() -> None:
    found = place(SMALL, "--policy", "data/with-plugin.yaml", "--plugin", "data/plugins.py:OnlyCats")
    message = found.placements[0].message
    assert message.startswith("0/5 nodes are available: ")
    assert "3 node(s) were no cats" in message


def test_a_plugin_that_no_profile_enables_is_told() -> None:
    ran = run("place", SMALL, "--snapshot", CLUSTER, "--plugin", "data/plugins.py:OnlyCats")
    assert ran.code == 0
    assert ran.notes == ["warning: plugin OnlyCats is enabled in no profile that was used: it changed nothing"]


# --- the answer


def test_exit_code_0_means_that_all_pods_have_a_node() -> None:
    assert run("place", SMALL, "--snapshot", CLUSTER).code == 0
    assert run("place", PODS, "--snapshot", CLUSTER).code == 1


def test_a_cluster_without_nodes_places_nothing_and_is_told() -> None:
    empty = '{"apiVersion": "kwhatif.dev/v1", "kind": "ClusterSnapshot", "objects": {}}'
    ran = run("place", SMALL, "--snapshot", "-", stdin=empty)
    assert ran.code == 1
    assert "no nodes available to schedule pods" in ran.out
    assert ran.notes == ["warning: standard input: holds no nodes"]


def test_json_and_yaml_say_the_same_in_the_same_order() -> None:
    as_json, as_yaml = (run("place", PODS, "--snapshot", CLUSTER, "-o", form).out for form in ("json", "yaml"))
    one, other = json.loads(as_json), yaml.safe_load(as_yaml)
    assert one == other
    assert json.dumps(one) == json.dumps(other)


def test_json_goes_in_again_as_it_came_out() -> None:
    ran = run("place", PODS, "--snapshot", CLUSTER, "-o", "json")
    result = msgspec.json.decode(ran.out, type=PlaceResult)
    again = json.loads(msgspec.json.encode(result))
    assert again == json.loads(ran.out)


def test_the_scores_add_up() -> None:
    found = place("data/small.yaml", PODS)
    scored = [placement for placement in found.placements if placement.score is not None]
    assert scored
    for placement in scored:
        assert sum(score.weighted for score in placement.scores) == placement.score
        assert all(score.weighted == score.normalized * score.weight for score in placement.scores)


@pytest.mark.parametrize(
    ("now", "age"),
    [
        ("2026-03-01T12:00:00Z", "0 seconds"),
        ("2026-03-01T12:00:01Z", "1 second"),
        ("2026-03-01T12:01:59Z", "119 seconds"),
        ("2026-03-01T12:02:00Z", "2 minutes"),
        ("2026-03-02T13:00:00Z", "25 hours"),
        ("2026-03-04T14:00:00Z", "3 days"),
    ],
)
def test_the_age_of_the_snapshot_is_told_on_standard_error_only(now: str, age: str) -> None:
    ran = run("place", SMALL, "--snapshot", CLUSTER, "--now", now)
    assert ran.err == f"note: the snapshot is {age} old as of {now}\n"
    assert " old" not in ran.out


def test_a_snapshot_may_be_of_a_time_to_come() -> None:
    ran = run("place", SMALL, "--snapshot", CLUSTER, "--now", "2026-02-01T13:00:00+01:00")
    said = "the snapshot is of 2026-03-01T12:00:00Z, in the future as of 2026-02-01T12:00:00Z"
    assert ran.err == f"note: {said}\n"


@pytest.mark.parametrize("command", [("place", SMALL, "--snapshot"), ("snapshot", "info")], ids=" ".join)
def test_what_time_it_is_can_be_said_so_that_an_answer_is_the_same_on_any_day(
    command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {"KWHATIF_NOW": "2026-03-02T13:00:00Z"}
    before = run(*command, CLUSTER, env=told)
    undated = run(*command, CLUSTER)
    monkeypatch.setattr(clock, "seconds_since_1970", lambda: 4e9)
    assert run(*command, CLUSTER, env=told) == before
    assert run(*command, CLUSTER) != undated
