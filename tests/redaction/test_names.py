"""What kind of name becomes what: decisions depend on order, equality and on what Kubernetes itself gave a name."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kwhatif.api.selectors import is_label_key, is_label_value
from kwhatif.redaction import Translation, reveal
from kwhatif.redaction.pseudonyms import Pseudonyms
from kwhatif.redaction.well_known_names import KEYS

Method = Callable[..., str]

dns_names = st.from_regex(r"[a-c0-2x]{1,4}([-.][a-c0-2x]{1,4}){0,3}", fullmatch=True)
label_values = st.from_regex(r"[A-Ca-c0-2]([A-Ca-c0-2._-]{0,6}[A-Ca-c0-2])?", fullmatch=True)


def pseudonyms(*calls: tuple[str, ...], numeric: str = "") -> tuple[list[str], Translation]:
    """What becomes of names, each given with the method for its kind, and the translation."""
    names = Pseudonyms(Translation())
    if numeric:
        names.compares(numeric)
    while True:
        made = [getattr(names, method)(*raw) for method, *raw in calls]
        if names.settle():
            return made, names.translation


# --- what is the same afterwards


@pytest.mark.long
@given(st.lists(dns_names, min_size=2, max_size=8, unique=True))
def test_names_keep_their_order_alone_and_after_a_namespace(found: list[str]) -> None:
    # Addresses in names are one word, whatever their digits.
    assume(not any(name.count(".") + name.count("-") >= 3 for name in found))
    joined = [f"{one}/{other}" for one in found for other in found]
    for raw in (found, joined):
        raw = sorted(raw)
        made, _ = pseudonyms(*(("name", name) for name in raw))
        assert all(one < other for one, other in pairwise(made))


@given(st.lists(st.text(min_size=1, max_size=9), min_size=2, max_size=8, unique=True))
def test_nodes_keep_their_order(found: list[str]) -> None:
    made, _ = pseudonyms(*(("node", name) for name in sorted(found)))
    assert all(one < other for one, other in pairwise(made))


@given(st.lists(label_values, min_size=2, max_size=8, unique=True))
def test_other_labels_stay_other_and_valid_ones_valid(found: list[str]) -> None:
    made, _ = pseudonyms(*(("label_value", "team", value) for value in found))
    assert len(set(made)) == len(made)
    assert all(map(is_label_value, made))


@pytest.mark.parametrize("method", ["name", "node", "image", "qualified_name", "resource", "disk", "free"])
@given(text=st.text(st.characters(exclude_characters="~", exclude_categories=["Cs"]), max_size=20))
def test_every_name_can_be_read_back(method: str, text: str) -> None:
    (made,), translation = pseudonyms((method, text))
    assert reveal(f"x {made}", translation) == f"x {text}" or made.isspace() or "\n" in text or text != text.strip()
    assert reveal(f"<{made}>", translation) == f"<{text}>"


@pytest.mark.parametrize("raw", ["Web", "größe", "a b", "-a", "x" * 64, "a/b", "a" * 70 + "-" * 3])
def test_what_upstream_would_not_take_for_a_label_it_does_not_take_afterwards(raw: str) -> None:
    (key, value), _ = pseudonyms(("label_key", raw), ("label_value", "k", raw))
    assert is_label_key(key) == is_label_key(raw)
    assert is_label_value(value) == is_label_value(raw)


@given(st.lists(st.sampled_from("abcdefgh12"), min_size=25, max_size=32, unique=False))
def test_a_label_that_would_become_too_long_is_taken_for_one_word(parts: list[str]) -> None:
    raw = ".".join(parts)[:63].rstrip(".")
    (value, key), translation = pseudonyms(("label_value", "k", raw), ("label_key", f"acme.io/{raw}"))
    assert is_label_value(value)
    assert is_label_key(key)
    assert reveal(f"{value} {key}", translation) == f"{raw} acme.io/{raw}"


# --- what belongs together still does

TOGETHER: list[tuple[str, list[tuple[str, ...]], Callable[..., bool]]] = [
    (
        "a pod is called after its replica set, and that after its deployment and the label of the template",
        [("name", "web"), ("label_value", "pod-template-hash", "5d4c"), ("name", "web-5d4c"), ("name", "web-5d4c-x2x")],
        lambda app, label, owner, pod: owner == f"{app}-{label}" and pod.startswith(f"{owner}-"),
    ),
    (
        "a generated name begins with what it is generated from",
        [("name", "web-5d4c-"), ("name", "web-5d4c-x2x7q")],
        lambda prefix, name: name.startswith(prefix),
    ),
    (
        "a claim of a stateful set is called after its template, the set and the ordinal",
        [("name", "data"), ("name", "web"), ("name", "data-web-12")],
        lambda template, owner, claim: claim == f"{template}-{owner}-12",
    ),
    (
        "an ephemeral volume's claim is called after the pod and the volume",
        [("name", "job-7"), ("name", "scratch"), ("name", "job-7-scratch")],
        lambda pod, volume, claim: claim == f"{pod}-{volume}",
    ),
    (
        "a namespace is what the label of its name says",
        [("name", "shop"), ("label_value", "kubernetes.io/metadata.name", "shop")],
        lambda namespace, label: namespace == label,
    ),
    (
        "a node is what the label of its host name says",
        [("node", "ip-10-0-0-7.ec2.internal"), ("label_value", "kubernetes.io/hostname", "ip-10-0-0-7.ec2.internal")],
        lambda node, label: node == label,
    ),
    (
        "a set of zones is a set of the zones",
        [
            *(("label_value", "topology.kubernetes.io/zone", zone) for zone in ("eu-a", "eu-b")),
            ("label_value", "topology.kubernetes.io/zone", "eu-a__eu-b"),
        ],
        lambda one, other, both: both == f"{one}__{other}",
    ),
    (
        "the uid of a job is what its pods' labels say",
        [("uid", "0b1e-77"), ("label_value", "batch.kubernetes.io/controller-uid", "0b1e-77")],
        lambda uid, label: uid == label,
    ),
    (
        "a resource belongs to its group",
        [("resource", "acme.com/fpga"), ("resource_group", "acme.com")],
        lambda resource, group: resource.startswith(f"{group}/"),
    ),
    (
        "a quota's resource is the resource",
        [("resource", "requests.acme.com/fpga"), ("resource", "acme.com/fpga")],
        lambda quota, resource: quota == f"requests.{resource}",
    ),
    (
        "an image without a tag is still the one that is called latest",
        [("image", "nginx"), ("image", "nginx:latest")],
        lambda bare, latest: latest == f"{bare}:latest",
    ),
    (
        "a disk is the same under its zone and without",
        [("disk", "vol-07a"), ("disk", "aws://eu-west-1a/vol-07a")],
        lambda bare, zoned: zoned.startswith("aws://") and zoned.endswith(f"/{bare}") and bare.startswith("vol-"),
    ),
    (
        "a disk of Google's is found in its handle",
        [("disk", "data-1"), ("disk", "projects/UNSPECIFIED/zones/a-b-c/disks/data-1")],
        lambda bare, handle: handle.startswith("projects/UNSPECIFIED/zones/") and handle.endswith(f"/disks/{bare}"),
    ),
    (
        "an attribute is what expressions about it say",
        [
            *(("attribute", "gpu.acme.com/model"), ("driver", "gpu.acme.com"), ("free", "a100")),
            ("expression", "device.driver == 'gpu.acme.com' && device.attributes['gpu.acme.com'].model == \"a100\""),
        ],
        lambda attribute, driver, value, expression: (
            expression == f"device.driver == '{driver}' && "
            f"device.attributes['{driver}'].{attribute.rpartition('/')[2]} == \"{value}\""
        ),
    ),
    (
        "quantities and versions in an expression stay",
        [
            (
                "expression",
                "device.capacity['acme.com'].memory.compareTo(quantity('40Gi')) >= 0 && 'x' == semver('1.9.0')",
            )
        ],
        lambda expression: "compareTo(quantity('40Gi')) >= 0" in expression and "semver('1.9.0')" in expression,
    ),
]


@pytest.mark.parametrize(("calls", "holds"), [row[1:] for row in TOGETHER], ids=[row[0] for row in TOGETHER])
def test_what_belongs_together_still_does(calls: list[tuple[str, ...]], holds: Callable[..., bool]) -> None:
    made, _ = pseudonyms(*calls)
    assert holds(*made)
    assert all(value != call[-1] for value, call in zip(made, calls, strict=True))


# --- what stays, and what does not

STAYS = [
    *[("label_key", key) for key in sorted(KEYS)],
    *[("name", name) for name in ("default", "kube-system", "kube-public", "kube-node-lease", "true", "12")],
    *[("resource", name) for name in ("cpu", "memory", "ephemeral-storage", "pods", "hugepages-2Mi")],
    *[("resource", name) for name in ("limits.cpu", "count/deployments.apps", "attachable-volumes-aws-ebs")],
    ("resource", "attachable-volumes-csi-ebs.csi.aws.com"),
    *[("driver", name) for name in ("kubernetes.io/no-provisioner", "pd.csi.storage.gke.io")],
    *[("address", address) for address in ("", "0.0.0.0", "127.0.0.1", "::")],
    ("scheduler", "default-scheduler"),
    ("priority_class", "system-node-critical"),
    ("label_value", "kubernetes.io/arch", "arm64"),
    ("label_value", "kubernetes.io/os", "linux"),
    ("label_value", "apps.kubernetes.io/pod-index", "12345"),
    ("label_value", "gen", "7"),
]


@pytest.mark.parametrize("call", STAYS, ids=" ".join)
def test_what_kubernetes_named_stays(call: tuple[str, ...]) -> None:
    made, _ = pseudonyms(call)
    assert made == [call[-1]]


GOES = [
    ("name", "payments"),
    ("name", "ip-10-0-12-7"),
    ("name", "10.0.12.7"),
    ("node", "true"),
    ("label_key", "acme.com/kubernetes.io"),
    ("label_key", "node-role.kubernetes.io/blackops"),
    ("label_value", "tenant", "48213"),
    ("label_value", "kubernetes.io/arch", "z80"),
    ("image", "10.1.2.3:5000/web:v1@sha256:0badcafe"),
    ("resource", "nvidia.com/gpu"),
    ("resource", "hugepages-4acme"),
    ("driver", "csi.acme.com"),
    ("priority_class", "urgent"),
    ("address", "10.0.0.7"),
    ("uid", "3ad1cdd0-6d5e-4b7e-b8f5-0d1e7b7c0a11"),
]


@pytest.mark.parametrize("call", GOES, ids=" ".join)
def test_what_people_named_goes(call: tuple[str, ...]) -> None:
    (made,), _ = pseudonyms(call)
    assert made != call[-1]
    words = [word for word in call[-1].replace("/", " ").replace(".", " ").replace("-", " ").split() if len(word) > 3]
    assert not any(
        word in made for word in words if word not in ("hugepages", "kubernetes", "node", "role", "true", "sha256")
    )
    assert "10-0-12-7" not in made
    assert "10.0.12.7" not in made


def test_numbers_stay_under_keys_that_are_compared_as_numbers() -> None:
    (value, other), _ = pseudonyms(("label_value", "gen", "48213"), ("label_value", "tenant", "48213"), numeric="gen")
    assert value == "48213"
    assert other != "48213"
