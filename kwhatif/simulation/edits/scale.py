"""Sets the replicas of a workload."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from kwhatif.simulation.edits.kind import EditKind, EditPart, Option, Plain, build_usage_error, whole_number

if TYPE_CHECKING:
    from kwhatif.simulation.edits.draft import Draft

MOST_PODS = 100_000

_FORM = re.compile(r"([^/=]+)/(?:([^/=]+)/)?([^/=]+)=([^=]*)")


class Scale(EditPart):
    """Give a workload a size. Without a namespace, the one where there is a workload of that name."""

    kind: Annotated[str, Meta(description="Deployment, ReplicaSet, StatefulSet or ReplicationController.")]
    name: str
    replicas: Annotated[int, Meta(ge=0, le=MOST_PODS)]
    namespace: str | None = None


def _apply(draft: Draft, what: Scale, origin: str) -> str:
    from kwhatif.simulation.edits.scaling import scale

    return scale(draft, origin, what.replicas, what.kind, what.name, what.namespace)


def _read(text: str, names: Collection[str]) -> Plain:
    match = _FORM.fullmatch(text)
    if match is None:
        raise build_usage_error("KIND/NAME=N or KIND/NAMESPACE/NAME=N", text)
    kind, namespace, name, replicas = match.groups()
    whole = {"kind": kind, "namespace": namespace, "name": name, "replicas": whole_number(replicas)}
    return {"scale": {key: value for key, value in whole.items() if value is not None}}


SCALE = EditKind("scale", Scale, _apply)
OPTION = Option("--scale", "KIND/[NAMESPACE/]NAME=N", "What if a workload had N pods? (repeatable)", _read)
