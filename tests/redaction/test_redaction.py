"""The redaction law, and what redaction must not let through."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.api.core import Node
from kwhatif.api.kinds import KEPT_WHOLE, KINDS
from kwhatif.commands.conformance.scenario_files import replay_scenario
from kwhatif.commands.conformance.scheduler_replay import SchedulerScenario
from kwhatif.redaction import Translation, redact, redact_documents, reveal_value
from kwhatif.redaction.object_rules import RULES
from kwhatif.redaction.pseudonyms import Pseudonyms, looks_inside
from kwhatif.redaction.rules import ANNOTATIONS, GONE, amount
from kwhatif.redaction.struct_rules import rule_of
from kwhatif.redaction.well_known_names import KEYS
from kwhatif.simulation.node_pools import POOL_LABELS
from kwhatif.snapshot.format.autoscaler_info import AutoscalerInfo, GroupStatus
from kwhatif.snapshot.format.model import SchedulerInfo, Snapshot, write_snapshot
from kwhatif.snapshot.live.pruning import KEPT_ANNOTATIONS
from kwhatif.snapshot.load import load_snapshot
from kwhatif.workloads.pod_autoscalers import pod_autoscaler_of
from tests.redaction.everything import every_object, every_plugin, paths_of
from tests.redaction.redacted_answers import redacted_answer, redacted_scenario
from tests.workloads.test_pod_autoscalers import hpa, scaled_object

TESTS = Path(__file__).parents[1]
RECORDED = TESTS / "conformance"
EACH, EACH_OF_MORE = 6, 20


# --- the law


def recorded(path: Path, most: int) -> Iterator[SchedulerScenario]:
    """Scenarios of a file, but those whose devices are chosen by a part of a text: there the law ends."""
    with gzip.open(path) as lines:
        within = (line for line in lines if not looks_inside(line.decode()))
        for line in itertools.islice(within, most):
            yield msgspec.json.decode(line, type=SchedulerScenario)


def check_law(scenario: SchedulerScenario) -> None:
    redacted, translation = redacted_scenario(scenario)
    before, after = replay_scenario(scenario), replay_scenario(redacted)
    assert json.dumps(after) == json.dumps(redacted_answer(before, translation))
    assert json.dumps(reveal_value(after, translation)) == json.dumps(before)
    assert not {*before["nodeOrder"]} & {*after["nodeOrder"]}


FAMILIES = sorted(RECORDED.glob("1.36-*.gz"))


@pytest.mark.long
@pytest.mark.parametrize("path", FAMILIES, ids=lambda path: path.name.split(".")[1][3:])
def test_a_redacted_scenario_has_the_redacted_answer(path: Path) -> None:
    for scenario in recorded(path, EACH):
        check_law(scenario)


def test_so_have_hundreds_of_recorded_scenarios() -> None:
    directory = os.environ.get("CONFORMANCE")
    if not directory:
        pytest.skip("there are no larger recordings: CONFORMANCE=DIR names their directory")
    paths = sorted(Path(directory).glob("1.36-*.gz"))
    checked = 0
    for path in paths:
        for scenario in recorded(path, EACH_OF_MORE):
            check_law(scenario)
            checked += 1
    assert checked >= 200


# --- nothing gets through


def marked(name: str) -> str:
    """A text for every field that nothing but it could have brought into a file."""
    return f"zqx{name.replace(' ', '')}zqx"


@pytest.mark.long
def test_no_text_of_any_field_of_any_kind_gets_through() -> None:
    documents = list(every_object(marked))
    whole = [_as_whole(kind) for kind in sorted(KEPT_WHOLE)]
    redacted, _ = redact_documents([*documents, *whole])
    assert len(redacted) == len(documents) + len(whole)
    assert "zqx" not in json.dumps(redacted).lower()


def _as_whole(kind: str) -> dict[str, Any]:
    """An object that is kept as it is, with texts wherever an object could have one and in fields nobody knows."""
    pod = next(one for one in every_object(marked) if one["kind"] == "Pod")
    spec = pod["spec"] | {marked("spec"): marked("unknown"), "serviceAccountName": marked("account")}
    container = {"env": [{"name": marked("env"), "value": marked("value")}], "command": [marked("command")]}
    spec["containers"] = [spec["containers"][0] | container]
    template = {"metadata": pod["metadata"], "spec": spec}
    rule = {key: [marked(key)] for key in ("operations", "apiGroups", "apiVersions", "resources", "resourceNames")}
    constraints = {"resourceRules": [rule], "objectSelector": {"matchLabels": {marked("key"): marked("value")}}}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": pod["metadata"] | {"managedFields": [{"manager": marked("manager")}]},
        "spec": {
            "template": template,
            "jobTemplate": {"spec": {"template": template}},
            "schedule": marked("schedule"),
            "hard": {marked("resource"): "1"},
            "limits": [{"type": marked("type"), "max": {marked("resource"): "1"}}],
            "serviceName": marked("service"),
            "volumeClaimTemplates": [{"kind": marked("kind"), "metadata": pod["metadata"]}],
            "group": marked("group"),
            "names": {"kind": marked("kind"), "plural": marked("plural"), "shortNames": [marked("short")]},
            "versions": [{"name": marked("version"), "schema": {"openAPIV3Schema": {"enum": [marked("enum")]}}}],
            "matchConstraints": constraints,
            "matchResources": constraints,
            "matchConditions": [{"name": marked("condition"), "expression": marked("expression")}],
            "variables": [{"name": marked("variable"), "expression": marked("expression")}],
            "validations": [{"expression": marked("expression"), "message": marked("message")}],
            "mutations": [{"jsonPatch": {"expression": marked("expression")}}],
            "paramKind": {"apiVersion": marked("group"), "kind": marked("kind")},
            "paramRef": {"name": marked("parameter"), "selector": {"matchLabels": {marked("key"): marked("value")}}},
            "policyName": marked("policy"),
            marked("field"): marked("text"),
        },
        "handler": marked("handler"),
        "webhooks": [
            constraints | {"clientConfig": {"url": marked("url")}, "rules": [rule], "name": marked("webhook")}
        ],
        "secrets": [{"name": marked("secret")}],
        "status": {"currentRevision": marked("revision"), "conditions": [{"message": marked("message")}]},
    }


def test_nothing_that_a_snapshot_says_of_itself_gets_through(tmp_path: Path) -> None:
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": marked("path")},
        "extenders": [{"urlPrefix": marked("url")}],
        "profiles": [{"schedulerName": marked("name"), "pluginConfig": [{"name": marked("p"), "args": {"x": "zqx"}}]}],
    }
    snapshot = Snapshot(
        source=marked("server"),
        kubernetes_version=f"v1.36.1-{marked('version')}",
        taken_at="2026-11-20T06:45:00Z",
        unreadable={"Pod": marked("reason"), marked("Kind"): "forbidden", "Job": f"forbidden (user {marked('user')})"},
        ignored={marked("Kind"): 3},
        inconsistencies=[marked("pod")],
        resource_versions={"Pod": "4711"},
        scheduler=SchedulerInfo(
            image=marked("image"), feature_gates={marked("Gate"): True}, configuration=configuration, source="zqx"
        ),
    )
    redacted, _ = redact(snapshot)
    path = tmp_path / "redacted.json"
    write_snapshot(redacted, str(path))
    assert "zqx" not in path.read_text().lower()
    assert redacted.redacted
    assert redacted.kubernetes_version == "v1.36.1"
    assert redacted.unreadable == {"Pod": "why is redacted", "Job": "forbidden"}
    assert redacted.inconsistencies


texts = st.text("abzq019-./:@_ Äß", min_size=4, max_size=12)


@pytest.mark.long
@given(st.lists(texts, min_size=1, max_size=6))
def test_no_word_of_any_name_gets_through(found: list[str]) -> None:
    names = itertools.cycle(found)
    redacted, _ = redact_documents(list(every_object(lambda _: next(names))))
    words = {word for text in found for word in re.findall(r"[^\W_]{4,}", text) if not word.isdigit()}
    text = json.dumps(redacted, ensure_ascii=False)
    assert not [word for word in words if re.search(rf"(?<![^\W_]){re.escape(word)}(?![^\W_])", text)]


# --- nothing that is read gets lost

LEFT_OUT = {
    "annotations.*",  # but those that are read
    "conditions[].message",
    "declaredFeatures[]",  # but those that are feature gates
    "disruptedPods.*",  # but times
    "nodeInfo.kubeletVersion",  # but releases
    "providerID",
    *("NodePowerModel.any", "defaultRequests.any", "riskLimitWeights.any"),  # but by nodes and resources
    *("slices[].domainCount", "podCounts.universal", "podCounts.individual[]"),  # but domain by domain
    *("valuesPerLevel[].universal", "individual.prefix", "individual.suffix", "individual.roots[]"),
}


def test_every_field_that_is_read_has_a_rule() -> None:
    def text(name: str) -> str:
        lasting = dict.fromkeys(("consolidateAfter", "duration", "expireAfter"), "7s")
        shares = dict.fromkeys(("evictionHard", "evictionSoft", "maxUnavailable", "minAvailable", "nodes"), "7%")
        spelt = {**lasting, **shares, "schedule": "@daily", "resourceVersion": "7", "requeueAt": "2026-01-01T00:00:00Z"}
        is_time = "ime" in name and not name.startswith("runtime")
        return "2026-01-01T00:00:00Z" if is_time else spelt.get(name, "wordy")

    for plain in every_object(text):
        (made,), _ = redact_documents([plain])
        before, after = (
            {re.sub(r"(?<=\.)(wordy|[a-z]{1,2}[0-9]{3}~?)(?=[.[]|$)", "*", path) for path in paths_of(one)}
            for one in (plain, made)
        )
        lost = {path for path in before - after if not path.endswith(tuple(LEFT_OUT))}
        assert not lost, plain["kind"]


def test_autoscalers_of_pods_scale_under_pseudonyms_what_they_scaled() -> None:
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}}
    given = [hpa("of-web", minReplicas=2), scaled_object("of-web", {"autoscaling.keda.sh/paused-replicas": "3"})]
    given[1]["spec"]["triggers"] = [{"type": "cron", "metadata": {"timezone": "Atlantis"}}]
    (target, *made), _ = redact_documents([deployment, *given])
    assert "Atlantis" not in str(made)
    assert "web" not in str(made)
    for before, after in zip(map(pod_autoscaler_of, given), map(pod_autoscaler_of, made), strict=True):
        assert before is not None
        assert after is not None
        assert after.scales(target)
        assert [after.replicas(running) for running in range(12)] == [before.replicas(running) for running in range(12)]


def test_every_kind_of_a_snapshot_has_a_rule() -> None:
    assert {*KINDS, *KEPT_WHOLE} == set(RULES)


def test_a_field_without_a_rule_is_named_in_a_sentence() -> None:
    class NewArgs(msgspec.Struct):
        wildcard: str = ""

    with pytest.raises(TypeError, match=r"^wildcard: no rule says what redaction makes of StrType"):
        rule_of(NewArgs)


def test_every_annotation_that_a_dump_keeps_has_a_rule() -> None:
    assert set(ANNOTATIONS.rules) == KEPT_ANNOTATIONS


def test_the_plugins_of_the_tree_and_the_labels_of_pools_keep_their_names() -> None:
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": name} for name in (*every_plugin(), "*")]}}}],
    }
    assert redact_documents([configuration])[0] == [configuration]
    assert set(POOL_LABELS) <= KEYS


def test_what_words_mean_in_arguments_stays_and_what_is_a_name_goes() -> None:
    arguments: dict[str, dict[str, Any]] = {
        "PodTopologySpread": {"defaultingType": "List", "defaultConstraints": [{"topologyKey": "acme.com/rack"}]},
        "NodeResourcesFit": {
            "ignoredResources": ["acme.com/license"],
            "ignoredResourceGroups": ["acme.com"],
            "scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "acme.com/license", "weight": 3}]},
        },
        "DynamicResources": {"filterTimeout": "90s", "bindingTimeout": "acme"},
        "NodeLabel": {"presentLabels": ["acme.com/rack"]},
        "AcmeFit": {"resources": [{"name": "acme.com/license"}]},
    }
    config = [{"name": name, "args": args} for name, args in arguments.items()]
    document = {"kind": "KubeSchedulerConfiguration", "profiles": [{"pluginConfig": config}]}
    (made,), _ = redact_documents([document])
    spread, fit, devices, label, other = made["profiles"][0]["pluginConfig"]
    license_, rack = fit["args"]["ignoredResources"][0], label["args"]["presentLabels"][0]
    assert spread["args"] == {"defaultingType": "List", "defaultConstraints": [{"topologyKey": rack}]}
    assert fit["args"]["scoringStrategy"] == {
        "type": "MostAllocated",
        "resources": [{"name": license_, "weight": 3}],
    }
    assert license_.startswith(f"{fit['args']['ignoredResourceGroups'][0]}/")
    assert devices["args"] == {"filterTimeout": "1m30s"}
    assert [*other] == ["name"]
    assert "acme" not in json.dumps(made).lower()


def test_the_template_of_an_ephemeral_volume_is_a_claim() -> None:
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {
            "storageClassName": "fast",
            "resources": {"requests": {"storage": "1Gi"}},
            "accessModes": ["ReadWriteOnce"],
        },
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web"},
        "spec": {"volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]},
    }
    (made,), translation = redact_documents([pod])
    assert made != pod
    assert reveal_value(made, translation) == pod


def test_values_in_texts_of_annotations_are_what_they_are_in_fields() -> None:
    tolerations = [{"key": "team", "operator": "Equal", "value": "red", "effect": "NoSchedule"}]
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": "shop",
            "annotations": {
                "scheduler.alpha.kubernetes.io/defaultTolerations": json.dumps(tolerations),
                "scheduler.alpha.kubernetes.io/node-selector": "team=red,disk=ssd",
                "acme.com/owner": "jane",
            },
        },
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web"},
        "spec": {"tolerations": tolerations, "nodeSelector": {"team": "red", "disk": "ssd"}},
    }
    (made, alike), _ = redact_documents([namespace, pod])
    annotations = made["metadata"]["annotations"]
    assert json.loads(annotations["scheduler.alpha.kubernetes.io/defaultTolerations"]) == alike["spec"]["tolerations"]
    pairs = (part.split("=") for part in annotations["scheduler.alpha.kubernetes.io/node-selector"].split(","))
    assert dict(pairs) == alike["spec"]["nodeSelector"]
    assert len(annotations) == 2


def test_the_pod_of_a_file_on_a_node_is_called_after_the_node() -> None:
    node = "ip-10-0-0-7.acme.internal"
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"etcd-{node}", "ownerReferences": [{"kind": "Node", "name": node}]},
        "spec": {"nodeName": node},
    }
    (made,), translation = redact_documents([pod])
    called = made["spec"]["nodeName"]
    assert made["metadata"]["name"].endswith(f"-{called}")
    assert made["metadata"]["ownerReferences"][0]["name"] == called
    assert reveal_value(made, translation) == pod


def test_a_pool_of_devices_called_after_a_node_keeps_no_part_of_its_name() -> None:
    node = "node-007"
    result = {"request": "r", "driver": "gpu.acme.com", "pool": node, "device": "gpu-0"}
    documents = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}},
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": f"{node}-gpu.acme.com-x7k2q"},
            "spec": {
                "driver": "gpu.acme.com",
                "nodeName": node,
                "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
                "devices": [{"name": "gpu-0"}],
            },
        },
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "one", "namespace": "default"},
            "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}},
            "status": {
                "allocation": {"devices": {"results": [result]}},
                "devices": [{"driver": "gpu.acme.com", "pool": node, "device": "gpu-0"}],
            },
        },
        {
            "apiVersion": "resource.k8s.io/v1beta2",
            "kind": "DeviceTaintRule",
            "metadata": {"name": "broken"},
            "spec": {"deviceSelector": {"pool": node}, "taint": {"key": "bad", "effect": "NoSchedule"}},
        },
    ]
    made, translation = redact_documents(documents)
    assert "007" not in json.dumps(made)
    _, slice_, claim, rule = made
    pool = slice_["spec"]["pool"]["name"]
    assert re.fullmatch("pool-[0-9]+", pool)
    assert claim["status"]["allocation"]["devices"]["results"][0]["pool"] == pool
    assert claim["status"]["devices"][0]["pool"] == pool
    assert rule["spec"]["deviceSelector"]["pool"] == pool
    assert slice_["metadata"]["name"].startswith(f"{slice_['spec']['nodeName']}-")
    assert reveal_value(made, translation) == documents


# --- growing


def test_a_snapshot_redacted_again_is_the_same_to_the_byte(tmp_path: Path) -> None:
    snapshot = load_snapshot([str(TESTS / "data" / "cluster.json")])
    first, translation = redact(snapshot)
    grown = redact_documents([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "aaa"}}], translation)[1]
    again, same = redact(snapshot, grown)
    assert same == grown != translation
    written = []
    for number, one in enumerate((first, again)):
        write_snapshot(one, str(tmp_path / f"{number}.json"))
        written.append((tmp_path / f"{number}.json").read_bytes())
    assert written[0] == written[1]
    assert [node.name for node in first.objects.list_all(Node)] != [
        node.name for node in snapshot.objects.list_all(Node)
    ]


def test_a_redacted_snapshot_read_back_is_the_snapshot_that_it_was() -> None:
    snapshot = load_snapshot([str(TESTS / "data" / "cluster.json")])
    redacted, translation = redact(snapshot)
    for kind in sorted(snapshot.objects.known_kinds()):
        before, after = (
            [msgspec.to_builtins(obj, enc_hook=str) for obj in one.objects.list_all(KINDS[kind])]
            for one in (snapshot, redacted)
        )
        assert reveal_value(after, translation) == before


def test_a_key_that_turns_out_to_be_compared_as_a_number_is_told() -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"gen": "20261"}}}
    requirement = {"key": "gen", "operator": "Gt", "values": ["20260"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"affinity": affinity}}
    told: list[str] = []

    (alone,), translation = redact_documents([node], Translation(), warn=told.append)
    assert "20261" not in alone["metadata"]["labels"].values()
    assert not told
    _, translation = redact_documents([pod], translation, warn=told.append)
    assert len(told) == 1
    assert told[0].startswith("values of the label gen are compared as numbers here for the first time")
    (again,), _ = redact_documents([node], translation, warn=told.append)
    assert "20261" in again["metadata"]["labels"].values()
    assert len(told) == 1


def test_an_expression_that_asks_for_a_part_of_a_text_is_told() -> None:
    selector = {"cel": {"expression": "device.attributes['acme.com'].model.startsWith('h')"}}
    device_class = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu"},
        "spec": {"selectors": [selector]},
    }
    told: list[str] = []
    redact_documents([device_class], warn=told.append)
    assert told == ["asks for a part of a text, which a pseudonym does not have: " + selector["cel"]["expression"]]


def test_amounts_of_any_length_are_looked_at_once() -> None:
    """A pattern that looks again at what it has seen would take hours."""
    assert amount("1" * 300_000 + "!", Pseudonyms(Translation())) is GONE
    assert amount("1" * 300_000, Pseudonyms(Translation())) == "1" * 300_000


def test_the_autoscalers_flags_and_sizes_stay_and_the_names_in_them_go() -> None:
    command = ["./cluster-autoscaler", "--nodes=1:9:acme-web", "--expander=acme,random", "--max-nodes-total=40"]
    command += ["--node-group-auto-discovery=asg:tag=acme", "--cloud-config=/acme", "--status-taint=acme.com/x"]
    container = {"name": "acme", "command": command}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "acme"},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }
    (made,), _ = redact_documents([deployment])
    told = made["spec"]["template"]["spec"]["containers"][0]["command"]
    assert "acme" not in str(told)
    assert [word.partition("=")[0] for word in told] == [
        *("cluster-autoscaler", "--nodes", "--expander", "--max-nodes-total", "--status-taint")
    ]
    assert told[1].startswith("--nodes=1:9:")
    assert told[2].endswith(",random")
    assert told[3] == "--max-nodes-total=40"
    groups = [GroupStatus(name=name, min=1, max=9) for name in ("acme-web", "MachineDeployment/acme/acme-web")]
    found, _ = redact(Snapshot(autoscaler=AutoscalerInfo(groups=groups, priorities={"10": ["acme.*"]})))
    assert found.autoscaler is not None
    names = [group.name for group in found.autoscaler.groups or ()]
    assert "acme" not in str(found.autoscaler)
    assert names[1].startswith("MachineDeployment/")
    assert names[1].endswith(f"/{names[0]}")
