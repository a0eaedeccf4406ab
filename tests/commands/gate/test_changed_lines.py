"""The line at which a finding points, in whatever way manifests are written and put together."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pytest

from kwhatif.commands.gate.changed_lines import ChangedLines
from kwhatif.results.gate import Change, Location, Subject

CPU = "spec.template.spec.containers[0].resources.requests.cpu: 1 -> 12"
REPLICAS = "spec.replicas: 9 -> 400"
CART = Subject(kind="Deployment", namespace="shop", name="cart")


def place_of(
    details: str | tuple[str, ...], texts: str | Mapping[str, str], line: int = 1, changed: Sequence[str] = ()
) -> tuple[str, int]:
    """The file and line of a change to an object of ``cart.yaml``, of which one text is; ``changed`` are files."""
    files = {"cart.yaml": texts} if isinstance(texts, str) else texts
    place = Location(file="cart.yaml", line=line)
    change = Change(
        what="changed", subject=CART, location=place, details=(details,) if isinstance(details, str) else details
    )
    lines = {name: text.split("\n") for name, text in files.items()}
    moved = ChangedLines([change], lines, changed).find(place, CART)
    return moved.file, moved.line


def body(name: str, cpu: str) -> dict[str, object]:
    container = {"name": name, "resources": {"requests": {"cpu": cpu}}}
    return {
        "kind": "Deployment",
        "metadata": {"namespace": "shop", "name": name},
        "spec": {"replicas": 9, "template": {"spec": {"containers": [container]}}},
    }


def line_with(text: str, part: str) -> int:
    (number,) = (number for number, line in enumerate(text.split("\n"), 1) if part in line)
    return number


def test_the_line_of_a_field_in_json_is_its_own() -> None:
    text = json.dumps(body("cart", "12"), indent="\t")
    assert place_of(CPU, text) == ("cart.yaml", line_with(text, '"12"'))


def test_an_item_of_a_list_in_json_is_known_by_its_name() -> None:
    text = json.dumps({"kind": "List", "items": [body("api", "1"), body("cart", "12"), body("web", "1")]}, indent=1)
    assert place_of(CPU, text) == ("cart.yaml", line_with(text, '"12"'))


@pytest.mark.parametrize("indent", ["", "  "])
def test_an_item_of_a_list_in_yaml_is_the_one_that_begins_there(indent: str) -> None:
    item = f"{indent}- kind: Deployment\n{indent}  spec:\n{indent}    replicas: 400\n"
    text = f"items:\n{item}{item}kind: List\n"
    assert place_of(REPLICAS, text, 5) == ("cart.yaml", 7)


def test_behind_an_alias_the_line_is_that_of_the_anchor() -> None:
    text = """\
kind: Deployment
spec:
  template:
    spec:
      initContainers:
      - resources: &r
          requests: {memory: 1Gi,
                     cpu: 12}
      containers:
      - resources: *r
"""
    assert place_of(CPU, text) == ("cart.yaml", 8)


def test_behind_a_merge_the_line_is_that_of_what_is_merged() -> None:
    text = "kind: Deployment\nx: &x\n  replicas: 400\nspec:\n  <<: *x\n  paused: true\n"
    assert place_of(REPLICAS, text) == ("cart.yaml", 3)


def test_what_is_gone_is_shown_where_it_stood_unless_another_field_is_still_there() -> None:
    text = "kind: Deployment\nspec:\n  paused: true\n  replicas: 400\n"
    gone = "spec.minReadySeconds: 3 -> nothing"
    assert place_of(gone, text) == ("cart.yaml", 2)
    assert place_of((gone, REPLICAS), text) == ("cart.yaml", 4)


def test_what_an_autoscaler_changes_is_at_the_lines_of_the_autoscaler() -> None:
    place = Location(file="hpa.yaml", line=1)
    scaler = Subject(kind="HorizontalPodAutoscaler", namespace="shop", name="cart")
    texts = {"hpa.yaml": ["kind: HorizontalPodAutoscaler", "spec:", "  maxReplicas: 400"]}
    own = Change(what="changed", subject=scaler, location=place, details=("spec.maxReplicas: 9 -> 400",))
    pods = Change(what="changed", subject=CART, location=place, details=(REPLICAS,))
    for changes in ([own, pods], [pods, own]):
        assert ChangedLines(changes, texts).find(place, CART) == Location(file="hpa.yaml", line=3)


OWN = "kind: Deployment\nmetadata:\n  name: cart\nspec:\n  replicas: 9\n"
PATCH = "kind: Deployment\nmetadata: {name: cart}\nspec:\n  replicas: 400\n"
BUILT = "resources: [../base]\n"

OVERLAYS = {
    "a patch in a file": ("patch.yaml", PATCH, 4),
    "a JSON patch in a file": ("patch.yaml", "- op: replace\n  path: /spec/replicas\n  value: 400\n", 3),
    "one that lays over all of spec": ("patch.yaml", '[{"op": "add", "path": "/spec",\n "value": {"replicas": 1}}]', 2),
    "replicas": ("kustomization.yaml", BUILT + "replicas:\n- name: cart\n  count: 400\n", 4),
    "an inline patch": (
        "kustomization.yaml",
        BUILT
        + "patches:\n- patch: |-\n    kind: Deployment\n    metadata: {name: cart}\n    spec:\n      replicas: 400\n",
        7,
    ),
    "an inline JSON patch": (
        "kustomization.yaml",
        BUILT + "patches:\n- target: {kind: Deployment}\n  patch: |-\n    - op: add\n      path: /spec/replicas\n"
        "      value: 400\n",
        7,
    ),
    "the one of two patches with the new value": (
        "patch.yaml",
        f"{PATCH.replace('400', '9')}---\n{PATCH}",
        9,
    ),
    "a patch of the same name in another namespace": (
        "patch.yaml",
        f"{PATCH.replace('{name', '{namespace: test, name')}---\n{PATCH}",
        9,
    ),
    "something that has no such field": ("kustomization.yaml", BUILT + "namePrefix: a-\n", 1),
}


@pytest.mark.parametrize(("file", "text", "line"), OVERLAYS.values(), ids=OVERLAYS)
def test_where_a_manifest_is_as_it_was_the_finding_points_at_what_is_laid_over_it(
    file: str, text: str, line: int
) -> None:
    assert place_of(REPLICAS, {"cart.yaml": OWN, file: text}, changed=[file]) == (file, line)


def test_where_both_changed_the_finding_points_at_the_one_with_the_value() -> None:
    files = {"cart.yaml": OWN, "patch.yaml": PATCH}
    assert place_of(REPLICAS, files, changed=["./cart.yaml", "patch.yaml"]) == ("patch.yaml", 4)
    files = {"cart.yaml": OWN.replace("9", "400"), "patch.yaml": PATCH.replace("400", "9")}
    assert place_of(REPLICAS, files, changed=["./cart.yaml", "patch.yaml"]) == ("cart.yaml", 5)


def test_a_new_image_is_at_its_tag() -> None:
    own = "kind: Deployment\nspec: {template: {spec: {containers: [{image: web}]}}}\n"
    built = "images:\n- name: web\n  newTag: '7'\n"
    detail = "spec.template.spec.containers[0].image: web:6 -> web:7"
    files = {"cart.yaml": own, "kustomization.yaml": built}
    assert place_of(detail, files, changed=["kustomization.yaml"]) == ("kustomization.yaml", 3)


@pytest.mark.parametrize("text", ["", "[" * 5000, "a: &a [*a, *b]\n<<: *a", "? [a]\n: b\nspec: 1", "\t", "kind: !!x y"])
def test_what_cannot_be_read_leaves_the_finding_where_it_was(text: str) -> None:
    assert place_of(REPLICAS, text) in [("cart.yaml", 1), ("cart.yaml", 3)]
