"""WorkloadKinds: a document by which users add kinds that make pods.

    apiVersion: kwhatif.dev/v1
    kind: WorkloadKinds
    kinds:
    - group: example.com
      kind: Farm
      suspended: [$.spec.suspend]
      update: one-by-one
      sets:
      - template: $.spec.workers[*].template
        count: .size
        role: "{.name}"
        name: "{name}-{role}-{index}"

The schema of the format is ``schemas/workload-kinds.schema.json``.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from kwhatif.api.decode import describe_value
from kwhatif.errors import InputError
from kwhatif.snapshot.format.documents import read_only
from kwhatif.workloads.pod_sets import DeclaredKind, PodSet, check_pod_set
from kwhatif.workloads.template_paths import FieldPath
from kwhatif.workloads.workload_kind import UpdateOrder

KIND = "WorkloadKinds"


class _Part(msgspec.Struct, rename="camel", frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A part of the document."""


class KindRow(_Part, frozen=True, kw_only=True):
    """One kind. Without ``update`` the order in which its pods are replaced is unknown, which answers report."""

    group: Annotated[str, Meta(description="API group; empty for the core's.")]
    kind: Annotated[str, Meta(min_length=1)]
    suspended: Annotated[list[str], Meta(description="Paths to what is true where there are no pods.")] = []
    update: Literal["recreate", "one-by-one", "new-first", "left"] | None = None
    sets: Annotated[list[PodSet], Meta(min_length=1)]


class WorkloadKindsFile(_Part, frozen=True, kw_only=True):
    """Kinds of objects that make pods."""

    api_version: str
    kind: str
    metadata: dict[str, Any] | None = None
    kinds: list[KindRow]


def read_kinds(path: str) -> list[DeclaredKind]:
    """The kinds of a file. Raises InputError with the place of a mistake."""
    file, source = read_only(path, KIND, WorkloadKindsFile)
    try:
        return [_kind(row, f"$.kinds[{place}]") for place, row in enumerate(file.kinds)]
    except InputError as error:
        raise error.with_source(source) from None


def _kind(row: KindRow, place: str) -> DeclaredKind:
    for number, pods in enumerate(row.sets):
        check_pod_set(pods, f"{place}.sets[{number}]")
    for number, text in enumerate(row.suspended):
        path = FieldPath.parse(text)
        if path is None or not path.rooted:
            problem = f"expected a path from the object, such as $.spec.suspend, found {describe_value(text)}"
            raise InputError(problem, place=f"{place}.suspended[{number}]")
    order = UpdateOrder.recreate if row.update is None else UpdateOrder(row.update)
    return DeclaredKind(
        row.group, row.kind, tuple(row.sets), tuple(row.suspended), order, order_known=row.update is not None
    )
