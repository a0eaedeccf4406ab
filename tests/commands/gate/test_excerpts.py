"""The lines beside a finding: what scheduling reads is shown as it stands, and nothing that may be a secret."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kwhatif.commands.gate.excerpts import excerpt, with_excerpts
from kwhatif.results.gate import Change, Location, Subject
from tests.builders import node
from tests.commands.gate.judging import judged, new, snapshot_of

SECRET = "hunter2"

MANIFEST = """\
# a comment
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations:
    note: hunter2
spec:
  replicas: 3
  template:
    spec:
      containers:
      - name: c
        image: example.com/web:1
        args:
        - --password=hunter2
        env:
        - name: TOKEN
          value: hunter2
        resources:
          requests: {cpu: 1}
          limits:
            cpu: 500m
      - command: [run, hunter2]
        name: d
      tolerations:
      - key: gpu
        operator: Exists
---
kind: Secret
"""


def test_the_lines_of_a_document_are_shown_with_their_numbers() -> None:
    assert excerpt(MANIFEST.split("\n"), 2) == (
        (2, "apiVersion: apps/v1"),
        (3, "kind: Deployment"),
        (4, "metadata:"),
        (5, "  name: web"),
        (6, "  annotations: ..."),
        (8, "spec:"),
        (9, "  replicas: 3"),
        (10, "  template:"),
        (11, "    spec:"),
        (12, "      containers:"),
        (13, "      - name: c"),
        (14, "        image: example.com/web:1"),
        (15, "        args: ..."),
        (17, "        env: ..."),
        (20, "        resources:"),
        (21, "          requests: {cpu: 1}"),
        (22, "          limits:"),
        (23, "            cpu: 500m"),
        (24, "      - command: ..."),
        (25, "        name: d"),
        (26, "      tolerations:"),
        (27, "      - key: gpu"),
        (28, "        operator: Exists"),
    )


@pytest.mark.parametrize(
    "text",
    [
        'metadata: {name: "hunter2"}',
        "spec:\n  script: |\n    name: hunter2\n    kind: hunter2",
        "spec:\n  name: web # hunter2",
        "spec:\n  name: >-\n    hunter2",
        "spec:\n  name: a\n    hunter2",
        "spec:\n  name: 'a\n    b' # hunter2\n",
        "spec:\n  password: hunter2",
        "spec:\n  env:\n  - name: hunter2",
        "spec:\n  env:\n  - hunter2",
        "spec:\n  data:\n    name: hunter2",
        "data:\n  name: hunter2\nkind: Secret",
        '{"kind": "Secret",\n"name": "hunter2"\n}',
        "spec:\n- env:\n    - {name: hunter2}\n",
        "spec:\n\tname: hunter2",
        "spec:\n  nodeSelector: &hunter2\n    a: b",
        "- hunter2",
        "spec:\n  items:\n  - hunter2\n  - |\n    name: hunter2",
    ],
)
def test_what_may_be_a_secret_is_not_shown(text: str) -> None:
    assert not any(SECRET in line for _, line in excerpt(text.split("\n"), 1))


@given(
    st.lists(st.sampled_from(["a: 1", "  - b:", "  name: c", "env:", "  - x", "---", "", "  |", "k: {"]), max_size=12)
)
def test_every_text_has_an_excerpt_of_lines_in_order(lines: list[str]) -> None:
    numbers = [number for number, _ in excerpt(lines, 1)]
    assert numbers == sorted(set(numbers))


CHANGED = [
    (("spec.replicas: 2 -> 3",), 9),
    (("spec.template.spec.containers[0].resources.requests.cpu: 500m -> 1",), 21),
    (("spec.template.spec.containers[0].resources.limits.cpu: 1 -> 500m",), 23),
    (("spec.template.spec.containers[0].image: a -> b", "spec.template.spec.tolerations[0].key: a -> gpu"), 27),
    (("metadata.labels.team: a -> nothing", "spec.template.spec.containers[1].name: c -> d"), 25),
    (("spec.template.spec.nodeSelector.pool: a -> nothing",), 11),
    (("data.key: a -> b",), 2),
    ((), 2),
]


@pytest.mark.parametrize(("details", "line"), CHANGED)
def test_a_finding_points_at_the_line_that_changed_or_at_what_it_stood_in(
    tmp_path: Path, details: tuple[str, ...], line: int
) -> None:
    file = tmp_path / "web.yaml"
    file.write_text(MANIFEST)
    subject, begin = Subject(kind="Deployment", name="web"), Location(file=str(file), line=2)
    before = judged(
        snapshot_of([node("a", cpu="1")]), new("Deployment", "web", 2, cpu="3"), rules={"unschedulable": {}}
    )
    finding = replace(before.findings[0], location=begin)
    change = Change(what="changed", subject=subject, location=begin, details=details)
    found = with_excerpts(replace(before, findings=(finding,), changes=(change,)))
    place = Location(file=str(file), line=line)
    assert (found.findings[0].location, found.changes[0].location) == (place, place)
    assert line in [number for number, _ in found.excerpts[place]]


def test_of_a_long_manifest_the_lines_around_the_change_are_shown() -> None:
    lines = ["spec:", *(f"  {name}: 1" for name in ["replicas"] * 200)]
    numbers = [number for number, _ in excerpt(lines, 1, 150)]
    assert (len(numbers), numbers[0] < 150 < numbers[-1]) == (48, True)
