"""The lines beside a finding: what scheduling reads is shown as it stands, and nothing that may be a secret."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.commands.gate.excerpts import excerpt

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
