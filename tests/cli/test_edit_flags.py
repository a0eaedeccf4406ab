"""What-if edits on the command line: each option is an edit that a file could hold."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from kwhatif.cli.edit_options import EditOptions
from kwhatif.errors import KwhatifError
from kwhatif.simulation.edits.document import read_edit
from tests.cli.running import refused, run

NAMES = {"n1", "n1.allocatable.x", "worker-1.example.com"}
SAMPLE = "../samples/cluster"

SAID: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "cordon a node": ({"cordon": ["n1"]}, {"cordon": "n1"}),
    "uncordon by selector": ({"uncordon": ["pool=a,!b"]}, {"uncordon": "pool=a,!b"}),
    "remove nodes": ({"remove_node": ["zone in (a,b)"]}, {"removeNodes": "zone in (a,b)"}),
    "delete pods": ({"delete": ["shop/[app=web]"]}, {"deletePods": "shop/[app=web]"}),
    "a taint with a value": (
        {"taint": ["n1=example.com/a=b:NoSchedule"]},
        {"taint": {"nodes": "n1", "key": "example.com/a", "value": "b", "effect": "NoSchedule"}},
    ),
    "a taint without a value": (
        {"taint": ["n1=a:NoExecute"]},
        {"taint": {"nodes": "n1", "key": "a", "effect": "NoExecute"}},
    ),
    "a taint of what a selector selects": (
        {"taint": ["[pool=a,zone in (b)]=a=b:PreferNoSchedule"]},
        {"taint": {"nodes": "[pool=a,zone in (b)]", "key": "a", "value": "b", "effect": "PreferNoSchedule"}},
    ),
    "a taint taken away": ({"taint": ["n1=a-"]}, {"untaint": {"nodes": "n1", "key": "a"}}),
    "a taint of one effect taken away": (
        {"taint": ["n1=a=ignored:NoExecute-"]},
        {"untaint": {"nodes": "n1", "key": "a", "effect": "NoExecute"}},
    ),
    "a label": ({"label": ["n1=pool=b"]}, {"label": {"nodes": "n1", "labels": {"pool": "b"}}}),
    "a label with an empty value": ({"label": ["n1=pool="]}, {"label": {"nodes": "n1", "labels": {"pool": ""}}}),
    "labels set and taken away": (
        {"label": ["[pool]=a=1,b-"]},
        {"label": {"nodes": "[pool]", "labels": {"a": "1", "b": None}}},
    ),
    "an amount": ({"set": ["n1.allocatable.cpu=8"]}, {"set": {"nodes": "n1", "allocatable": {"cpu": "8"}}}),
    "an amount of a resource with dots": (
        {"set": ["n1.capacity.example.com/gpu=2"]},
        {"set": {"nodes": "n1", "capacity": {"example.com/gpu": "2"}}},
    ),
    "an amount on a node with dots": (
        {"set": ["worker-1.example.com.allocatable.memory=8Gi"]},
        {"set": {"nodes": "worker-1.example.com", "allocatable": {"memory": "8Gi"}}},
    ),
    "the longest name of a node is meant": (
        {"set": ["n1.allocatable.x.allocatable.cpu=8"]},
        {"set": {"nodes": "n1.allocatable.x", "allocatable": {"cpu": "8"}}},
    ),
    "else all is the name of a resource": (
        {"set": ["n1.allocatable.y.allocatable.example.com/a=8"]},
        {"set": {"nodes": "n1", "allocatable": {"y.allocatable.example.com/a": "8"}}},
    ),
    "an amount on what a selector selects": (
        {"set": ["[pool=a].allocatable.pods=250"]},
        {"set": {"nodes": "[pool=a]", "allocatable": {"pods": "250"}}},
    ),
    "new nodes": (
        {"add_nodes": ["3"], "like": "n1", "in_": ["zone=b,rack=7", "region=c"]},
        {"addNodes": {"count": 3, "like": "n1", "in": {"zone": "b", "rack": "7", "region": "c"}}},
    ),
    "new nodes in one word": (
        {"add_nodes": ["3,like=n1,zone=b"]},
        {"addNodes": {"count": 3, "like": "n1", "in": {"zone": "b"}}},
    ),
    "a size": (
        {"scale": ["deployment/web=10"]},
        {"scale": {"kind": "deployment", "name": "web", "replicas": 10}},
    ),
    "a size in a namespace": (
        {"scale": ["sts/shop/db=0"]},
        {"scale": {"kind": "sts", "namespace": "shop", "name": "db", "replicas": 0}},
    ),
}


@pytest.mark.parametrize("case", SAID)
def test_an_option_says_what_a_document_would(case: str) -> None:
    options, edit = SAID[case]
    (given,) = EditOptions(**options).parse_edits(NAMES)
    wanted = read_edit(edit, given.source)
    assert given == wanted


def test_options_apply_in_a_fixed_order_and_say_where_they_come_from() -> None:
    options = EditOptions(
        delete=["web"],
        scale=["deploy/web=1"],
        remove_node=["n1"],
        uncordon=["n1"],
        cordon=["n2", "n1"],
        taint=["n1=a:NoExecute"],
        label=["n1=a=b"],
        set=["n1.allocatable.cpu=1"],
        add_nodes=["1,like=n1", "2"],
        like="n2",
    )
    assert [given.origin for given in options.parse_edits(NAMES)] == [
        *("--add-nodes 1,like=n1", "--add-nodes 2", "--set n1.allocatable.cpu=1", "--label n1=a=b"),
        *("--taint n1=a:NoExecute", "--cordon n2", "--cordon n1", "--uncordon n1", "--remove-node n1"),
        *("--scale deploy/web=1", "--delete web"),
    ]


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "a taint of nothing": (
        {"taint": ["a:NoSchedule"]},
        "--taint a:NoSchedule: expected NODES=KEY=VALUE:EFFECT, NODES=KEY:EFFECT or NODES=KEY:EFFECT-, "
        'found "a:NoSchedule"',
    ),
    "a taint without an effect": (
        {"taint": ["n1=a=b"]},
        '--taint n1=a=b: expected an effect, as in NODES=KEY=VALUE:NoSchedule, found "n1=a=b"',
    ),
    "an effect that is none": (
        {"taint": ["n1=a:NoShedule"]},
        "--taint n1=a:NoShedule: expected NoSchedule, PreferNoSchedule or NoExecute, "
        'found "NoShedule"; did you mean NoSchedule?',
    ),
    "a selector without its brackets": (
        {"taint": ["pool=a=b=c:NoSchedule"]},
        "--taint pool=a=b=c:NoSchedule: expected at most 63 letters, digits, '-', '_' and '.', ends being letters or "
        'digits, found "b=c"',
    ),
    "a bracket left open": (
        {"label": ["[pool=a"]},
        '--label [pool=a: expected NODES=KEY=VALUE or NODES=KEY-, found "[pool=a"',
    ),
    "a label without a value": (
        {"label": ["n1=a"]},
        '--label n1=a: expected NODES=KEY=VALUE or NODES=KEY-, found "n1=a"',
    ),
    "an amount of nothing": (
        {"set": ["n1.cpu=8"]},
        "--set n1.cpu=8: expected NODES.allocatable.RESOURCE=AMOUNT or NODES.capacity.RESOURCE=AMOUNT, "
        'found "n1.cpu=8"',
    ),
    "an amount on no node": (
        {"set": [".allocatable.cpu=8"]},
        "--set .allocatable.cpu=8: expected NODES.allocatable.RESOURCE=AMOUNT or NODES.capacity.RESOURCE=AMOUNT, "
        'found ".allocatable.cpu=8"',
    ),
    "an amount that is none": (
        {"set": ["n1.allocatable.cpu=eight"]},
        '--set n1.allocatable.cpu=eight: expected a quantity such as "500m" or "1Gi", found "eight"',
    ),
    "a size of nothing": (
        {"scale": ["web=3"]},
        '--scale web=3: expected KIND/NAME=N or KIND/NAMESPACE/NAME=N, found "web=3"',
    ),
    "a size that is no number": (
        {"scale": ["deploy/web=3.5"]},
        '--scale deploy/web=3.5: expected a whole number, found "3.5"',
    ),
    "a size below zero": (
        {"scale": ["deploy/web=-1"]},
        "--scale deploy/web=-1: expected an integer from 0 to 100000, found the number -1",
    ),
    "new nodes like nothing": (
        {"add_nodes": ["3"]},
        "--add-nodes 3: like which node? Say so with --like NODE",
    ),
    "new nodes somewhere but like nothing": (
        {"add_nodes": ["3,zone=b"]},
        '--add-nodes 3,zone=b: expected like=NODE among the rest, found "3,zone=b"',
    ),
    "how many new nodes is no number": (
        {"add_nodes": ["many"], "like": "n1"},
        '--add-nodes many: expected a whole number, found "many"',
    ),
    "no new nodes": (
        {"add_nodes": ["0"], "like": "n1"},
        "--add-nodes 0: expected an integer from 1 to 10000, found the number 0",
    ),
    "two groups of which one can only mean the other's node": (
        {"add_nodes": ["1", "2"], "like": "n1"},
        "--add-nodes 2: only one group can take --like and --in; write N,like=NODE,zone=ZONE",
    ),
    "a place that is no label": (
        {"add_nodes": ["1"], "like": "n1", "in_": ["b"]},
        '--add-nodes 1: expected --in LABEL=VALUE, found "b"',
    ),
    "a node to be like, but no new ones": (
        {"add_nodes": ["1,like=n1"], "like": "n1"},
        "--like and --in need --add-nodes N",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_an_option_that_makes_no_sense_is_refused(case: str) -> None:
    options, problem = BROKEN[case]
    with pytest.raises(KwhatifError) as error:
        EditOptions(**options).parse_edits(NAMES)
    assert str(error.value) == problem
    assert error.value.exit_code == 2


_TEXTS = st.text(alphabet="an1[]=:-,./ 3", max_size=12)
_OPTIONS = st.builds(
    EditOptions,
    **{
        name: st.lists(_TEXTS, max_size=1)
        for name in ("add_nodes", "in_", "set", "label", "taint", "cordon", "remove_node", "scale", "delete")
    },
    like=st.none() | _TEXTS,
)


@hypothesis.given(_OPTIONS)
def test_whatever_is_typed_is_read_or_refused(options: EditOptions) -> None:
    sources, problem = ["--"], ""
    try:
        sources = [edit.source for edit in options.parse_edits(NAMES)]
    except KwhatifError as error:
        problem = str(error)
    assert all(text.startswith("--") for text in (*sources, problem or "--"))


# --- in commands


@pytest.mark.long
def test_a_file_and_the_options_that_say_the_same_give_the_same_answer(tmp_path: Path) -> None:
    edits = [
        {"addNodes": {"count": 2, "like": "general-b-1", "in": {"zone": "eu-west-1c"}}},
        {"set": {"nodes": "general-a-1", "allocatable": {"cpu": "8"}}},
        {"label": {"nodes": "pool=general", "labels": {"tier": "one"}}},
        {"taint": {"nodes": "[pool=gpu]", "key": "a", "effect": "PreferNoSchedule"}},
        {"cordon": "general-c-1"},
        {"uncordon": "general-a-2"},
        {"removeNodes": "general-b-1"},
        {"scale": {"kind": "StatefulSet", "namespace": "shop", "name": "sessions", "replicas": 4}},
    ]
    path = tmp_path / "edits.json"
    path.write_text(json.dumps({"apiVersion": "kwhatif.dev/v1", "kind": "ClusterEdits", "edits": edits}))
    flags = shlex.split(
        "--add-nodes 2 --like general-b-1 --in zone=eu-west-1c --set general-a-1.allocatable.cpu=8 "
        "--label [pool=general]=tier=one --taint [pool=gpu]=a:PreferNoSchedule --cordon general-c-1 "
        "--uncordon general-a-2 --remove-node general-b-1 --scale sts/shop/sessions=4"
    )
    by_flags = run("place", "--snapshot", SAMPLE, "-o", "table", *flags)
    by_file = run("place", "--snapshot", SAMPLE, "-o", "table", "--edits", str(path))
    assert by_flags.out.replace("[pool=general]", "pool=general") == by_file.out
    assert (by_flags.code, by_file.code) == (0, 0)
    assert "9 of 9 pods placed" in by_file.out


def test_what_controllers_did_is_noted() -> None:
    ran = run("place", "--snapshot", SAMPLE, "--remove-node", "general-b-1", "-o", "name")
    assert ran.notes == [
        "note: --remove-node general-b-1: 10 pods lost their node: 8 recreated by their controllers and to be placed, "
        "2 of daemon sets, which do not run there (kube-system/kube-proxy-msw2h, monitoring/node-exporter-7629d)",
        "warning: the snapshot does not say which Kubernetes it is of: taken to be 1.36, as its nodes' kubelets are "
        "(v1.36.1); --kubernetes-version says otherwise",
    ]


@pytest.mark.long
def test_edits_that_lead_to_no_pods_still_need_pods_to_place() -> None:
    problem = "name the files with the pods to place, or ask for --with-pending"
    assert refused("place", "--snapshot", SAMPLE, "--cordon", "general-a-1") == problem
    ran = run("place", "--snapshot", SAMPLE, "--scale", "sts/sessions=2")
    assert (ran.code, ran.lines[0]) == (0, "Fits: no pods to place")
    problem = "no pod waits in namespace nobody: name the pods to explain, manifests or pods of the snapshot"
    assert refused("explain", "--snapshot", SAMPLE, "--cordon", "general-a-1", "-n", "nobody") == problem


def test_edits_need_a_cluster() -> None:
    problem = "what-if edits are of a cluster: name it with --snapshot"
    assert refused("expand", "data/pods.yaml", "--cordon", "n1") == problem


def test_an_unknown_node_is_told_with_the_option() -> None:
    told = refused("expand", "data/pods.yaml", "--snapshot", SAMPLE, "--cordon", "general-a-3")
    assert told.startswith('--cordon general-a-3: there is no node "general-a-3"; did you mean general-a-')


def test_standard_input_is_read_once() -> None:
    told = refused("place", "--snapshot", "-", "--edits", "-", "--with-pending")
    assert told == "'-' is given more than once: standard input can be read only once"


@pytest.mark.long
def test_a_pod_that_an_edit_leads_to_can_be_explained_by_its_name() -> None:
    ran = run("explain", "--snapshot", SAMPLE, "--remove-node", "general-b-1", "web-tlvq7c8t9-r1", "--no-fixes")
    assert (ran.code, ran.lines[0]) == (0, "Fits: shop/web-tlvq7c8t9-r1 goes to general-a-1.")
    every = run("explain", "--snapshot", SAMPLE, "--remove-node", "general-b-1", "--no-fixes")
    assert sum(" OF 8: " in line for line in every.lines) == 8


FRESH = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: fresh, namespace: shop}
spec:
  replicas: 12
  selector: {matchLabels: {app: fresh}}
  template:
    metadata: {labels: {app: fresh}}
    spec: {containers: [{name: main, image: fresh, resources: {requests: {cpu: 10m}}}]}
"""


@pytest.mark.parametrize("named", ["deployment/shop/fresh", "deployment/fresh"])
def test_a_workload_of_the_manifests_may_be_scaled(named: str, tmp_path: Path) -> None:
    (tmp_path / "fresh.yaml").write_text(FRESH)
    ran = run("place", str(tmp_path / "fresh.yaml"), "--snapshot", SAMPLE, "--scale", f"{named}=3")
    assert (ran.code, ran.lines[0]) == (0, "Fits: 3 of 3 pods placed")
    assert "With edits: scale Deployment shop/fresh of the manifests to 3." in ran.lines
    told = refused("place", str(tmp_path / "fresh.yaml"), "--snapshot", SAMPLE, "--scale", "deployment/other=3")
    assert "there is no Deployment other" in told
