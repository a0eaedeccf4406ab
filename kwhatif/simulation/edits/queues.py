"""Gives a quota of Kueue's another amount, and stops a queue."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

from msgspec import Meta
from msgspec.structs import replace

from kwhatif.api import kueue
from kwhatif.api.quantity import Quantity
from kwhatif.api.spelling_hints import suggest_spelling
from kwhatif.errors import InputError
from kwhatif.simulation.edits.kind import EditKind, EditPart, Option, Plain, build_usage_error

if TYPE_CHECKING:
    from kwhatif.simulation.edits.draft import Draft

_Holder = TypeVar("_Holder", kueue.ClusterQueue, kueue.Cohort)
_Queue = TypeVar("_Queue", kueue.ClusterQueue, kueue.LocalQueue)
_QUOTA = re.compile(r"(clusterqueue|cohort)/([^:=/]+):([^:=]+):([^:=]+)=(.+)")
_QUEUE = re.compile(r"(clusterqueue)/([^:=/]+)(?:=(.+))?|(localqueue)/([^:=/]+/[^:=/]+)(?:=(.+))?")


class SetQuota(EditPart):
    """Set the nominal quota of a resource in a flavor, of a ClusterQueue or a Cohort."""

    name: str
    flavor: str
    resource: str
    nominal: Quantity
    kind: Literal["ClusterQueue", "Cohort"] = "ClusterQueue"


class StopQueue(EditPart):
    """Stop a queue: ``HoldAndDrain`` also evicts what it has admitted; ``None`` lets it go on."""

    name: str
    kind: Literal["ClusterQueue", "LocalQueue"] = "ClusterQueue"
    namespace: Annotated[str, Meta(description="Of a LocalQueue.")] = ""
    policy: Literal["Hold", "HoldAndDrain", "None"] = "Hold"


def _check_quota(what: SetQuota) -> None:
    if what.nominal < Quantity.from_units(0):
        raise InputError(f"expected no less than 0, found {what.nominal}", place=".nominal")


def _set_quota(draft: Draft, what: SetQuota, origin: str) -> str:
    before: list[str] = []

    def resources(flavor: kueue.FlavorQuotas) -> kueue.FlavorQuotas:
        made = []
        for resource in flavor.resources or ():
            if resource.name == what.resource:
                before.append(str(resource.nominal_quota or 0))
                resource = replace(resource, nominal_quota=what.nominal)
            made.append(resource)
        return replace(flavor, resources=made)

    def groups(there: Sequence[kueue.ResourceGroup] | None) -> list[kueue.ResourceGroup]:
        return [
            replace(group, flavors=[resources(one) if one.name == what.flavor else one for one in group.flavors or ()])
            for group in there or ()
        ]

    names: list[str] = []

    def change(holder: _Holder) -> _Holder:
        names.append(holder.name)
        if holder.name != what.name:
            return holder
        return replace(holder, spec=replace(holder.spec, resource_groups=groups(holder.spec.resource_groups)))

    if what.kind == "ClusterQueue":
        draft.change(kueue.ClusterQueue, change)
    else:
        draft.change(kueue.Cohort, change)
    if what.name not in names:
        raise _missing(what.kind, what.name, names)
    if not before:
        problem = f"{what.kind} {what.name} has no quota for {what.resource} in flavor {what.flavor}"
        raise InputError(problem, place=".resource")
    quota = f"the quota of {what.resource} in {what.flavor} of {what.kind} {what.name}"
    return f"set {quota} from {before[0]} to {what.nominal}"


def _stop_queue(draft: Draft, what: StopQueue, origin: str) -> str:
    path = "/".join(filter(None, (what.namespace, what.name)))
    paths: list[str] = []

    def change(queue: _Queue) -> _Queue:
        paths.append("/".join(filter(None, (queue.namespace, queue.name))))
        return replace(queue, spec=replace(queue.spec, stop_policy=what.policy)) if paths[-1] == path else queue

    if what.kind == "ClusterQueue":
        draft.change(kueue.ClusterQueue, change)
    else:
        draft.change(kueue.LocalQueue, change)
    if path not in paths:
        raise _missing(what.kind, path, paths)
    verb = "let go on" if what.policy == "None" else "stop"
    return f"{verb} {what.kind} {path} ({what.policy})"


def _missing(kind: str, name: str, there: Collection[str]) -> InputError:
    return InputError(f'there is no {kind} "{name}"{suggest_spelling(name, there)}', place=".name")


def _read_quota(text: str, names: Collection[str]) -> Plain:
    match = _QUOTA.fullmatch(text)
    if match is None:
        raise build_usage_error("clusterqueue/NAME:FLAVOR:RESOURCE=AMOUNT or cohort/NAME:FLAVOR:RESOURCE=AMOUNT", text)
    kind, name, flavor, resource, amount = match.groups()
    sort = "Cohort" if kind == "cohort" else "ClusterQueue"
    return {"quota": {"kind": sort, "name": name, "flavor": flavor, "resource": resource, "nominal": amount}}


def _read_queue(text: str, names: Collection[str]) -> Plain:
    match = _QUEUE.fullmatch(text)
    if match is None:
        raise build_usage_error("clusterqueue/NAME[=POLICY] or localqueue/NAMESPACE/NAME[=POLICY]", text)
    _, name, policy, local, path, local_policy = match.groups()
    if local is None:
        return {"stopQueue": {"kind": "ClusterQueue", "name": name, "policy": policy or "Hold"}}
    namespace, _, name = path.partition("/")
    return {"stopQueue": {"kind": "LocalQueue", "namespace": namespace, "name": name, "policy": local_policy or "Hold"}}


QUOTA = EditKind("quota", SetQuota, _set_quota, _check_quota)
STOP_QUEUE = EditKind("stop_queue", StopQueue, _stop_queue)
QUOTA_OPTION = Option(
    "--quota",
    "clusterqueue/NAME:FLAVOR:RESOURCE=AMOUNT",
    "What if a quota of a ClusterQueue (or of a cohort/NAME) had another value? (repeatable)",
    _read_quota,
)
STOP_OPTION = Option(
    "--stop-queue",
    "clusterqueue/NAME[=POLICY]",
    "What if a ClusterQueue (or a localqueue/NAMESPACE/NAME) were stopped: Hold, HoldAndDrain, None? (repeatable)",
    _read_queue,
)
