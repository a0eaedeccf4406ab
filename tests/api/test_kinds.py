"""The table of kinds is of one piece, and what it leaves to be worked out comes out as Kubernetes has it."""

from __future__ import annotations

import pytest

from kwhatif.api.core import Node
from kwhatif.api.kinds import (
    GROUPS,
    IDLE,
    KEPT_WHOLE,
    KIND_TABLE,
    KINDS,
    READ_KINDS,
    TEMPLATES,
    Objects,
    kind_named,
    plural_of,
    struct_for,
)
from kwhatif.redaction.object_rules import RULES
from tests.builders import IN_TREE, node, pod


def test_a_kind_stands_in_the_table_once() -> None:
    names = [kind.name for kind in KIND_TABLE]
    assert len(set(names)) == len(names)


def test_a_struct_is_called_like_its_kind() -> None:
    assert {kind.name: kind.struct.__name__ for kind in KIND_TABLE if kind.struct} == {name: name for name in KINDS}


def test_what_is_idle_is_not_read_and_makes_no_pods() -> None:
    assert not IDLE & {*KINDS, *KEPT_WHOLE, *TEMPLATES}


def test_what_is_read_can_be_redacted() -> None:
    assert RULES.keys() == GROUPS.keys()


def test_what_plugins_and_admission_read_is_in_the_table() -> None:
    assert {kind for plugin in IN_TREE.values() for kind in plugin.dependencies} <= KINDS.keys()


@pytest.mark.parametrize(
    ("kind", "plural"),
    [
        ("Pod", "pods"),
        ("StorageClass", "storageclasses"),
        ("NetworkPolicy", "networkpolicies"),
        ("CSIStorageCapacity", "csistoragecapacities"),
        ("Endpoints", "endpoints"),
        ("Gateway", "gateways"),
    ],
)
def test_the_collection_of_a_kind_is_called_its_plural(kind: str, plural: str) -> None:
    assert plural_of(kind) == plural


@pytest.mark.parametrize(
    ("kind", "version", "path"),
    [
        ("Pod", "v1", "/api/v1/pods"),
        ("CronJob", "v1beta1", "/apis/batch/v1beta1/cronjobs"),
        ("DeviceTaintRule", "v1alpha3", "/apis/resource.k8s.io/v1alpha3/devicetaintrules"),
    ],
)
def test_a_kind_is_listed_under_its_group_and_version(kind: str, version: str, path: str) -> None:
    assert kind_named(kind).path(version) == path


def test_a_kind_of_another_group_is_another_kind() -> None:
    assert struct_for("v1", "Pod") is KINDS["Pod"]
    assert struct_for("metrics.k8s.io/v1", "Pod") is None
    assert struct_for("apps/v1", "Deployment") is None, "kept whole, but not decoded"


def test_pods_and_nodes_are_asked_for_first() -> None:
    assert [kind.name for kind in READ_KINDS[:2]] == ["Pod", "Node"]


def _count(objects: Objects, calls: list[int]) -> int:
    def work() -> int:
        calls.append(1)
        return len(objects.list_all(Node))

    return objects.share("nodes", ("Node",), work)


def test_copies_share_what_is_worked_out_of_the_same_objects() -> None:
    calls: list[int] = []
    origin = Objects({"Node": [node("a"), node("b")]})
    assert [_count(each, calls) for each in (origin.copy(), origin, origin.copy().copy())] == [2, 2, 2]
    assert len(calls) == 1


def test_a_copy_with_other_objects_works_for_itself_and_spoils_nothing() -> None:
    calls: list[int] = []
    origin = Objects({"Node": [node("a"), node("b")]})
    changed = origin.copy()
    changed.add(node("c"))
    assert [_count(each, calls) for each in (changed, origin, changed, origin.copy())] == [3, 2, 3, 2]
    assert len(calls) == 3


def test_what_was_worked_out_of_objects_that_have_changed_since_is_dropped() -> None:
    calls: list[int] = []
    origin = Objects({"Node": [node("a"), node("b")]})
    _count(origin, calls)
    origin.list_all(Node)[0] = node("z")
    assert _count(origin.copy(), calls) == 2
    assert len(calls) == 2


def test_objects_of_one_namespace_and_of_several_come_in_the_order_given() -> None:
    pods = [pod(name, namespace=home) for name, home in (("a", "x"), ("b", "y"), ("c", "x"), ("d", "z"))]
    objects = Objects({"Pod": pods})
    found = {homes: "".join(each.name for each in objects.in_namespaces("Pod", set(homes))) for homes in ("x", "zyx")}
    assert found == {"x": "ac", "zyx": "abcd"}
    assert objects.in_namespaces("Pod", ()) == []
