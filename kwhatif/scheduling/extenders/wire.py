"""The requests and answers of extenders.

Fields have Go's own names, since the types carry no JSON tags; pods and nodes inside are as the API spells them, with
the fields that are kept of them. Upstream: kube-scheduler/extender/v1/types.go.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, TypeVar

import msgspec
from msgspec import Struct, inspect
from msgspec.structs import replace

from kwhatif.api.core import Node, Pod
from kwhatif.api.decode import convert
from kwhatif.api.quantity import plain_quantity
from kwhatif.cluster.shapes import PodInfo
from kwhatif.errors import InputError
from kwhatif.golang.formatting import go_quote
from kwhatif.scheduling.extenders.http_caller import ExtenderError
from kwhatif.scheduling.preemption_candidates import Victims

T = TypeVar("T")
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_encode = msgspec.json.Encoder(enc_hook=plain_quantity).encode


# --- what goes out


class NodeTexts:
    """Nodes as JSON, each written once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Node, msgspec.Raw]] = {}

    def text_of(self, node: Node) -> msgspec.Raw:
        known = self._known.get(id(node))
        if known is None:
            # The node is kept, so that no other one can come to have its id.
            known = self._known[id(node)] = (node, msgspec.Raw(_encode(replace(node, api_version=None, kind=None))))
        return known[1]


def request(info: PodInfo, nodes: Sequence[Node], texts: NodeTexts | None) -> bytes:
    """ExtenderArgs, with whole nodes if there are ``texts`` for them, else with names."""
    whole = None if texts is None else {"metadata": {}, "items": [texts.text_of(node) for node in nodes]}
    names = [node.name for node in nodes] if texts is None else None
    return _encode({"Pod": _pod_to_send(info), "Nodes": whole, "NodeNames": names})


def preempt_request(info: PodInfo, claims: Mapping[str, Victims], *, whole: bool) -> bytes:
    """ExtenderPreemptionArgs, with whole pods or with their uids."""
    victims = {
        node: {
            "Pods": [_pod_to_send(pod, node) if whole else {"UID": pod.uid} for pod in claim.victims],
            "NumPDBViolations": claim.violations,
        }
        for node, claim in sorted(claims.items())
    }
    names = {"NodeNameToVictims": victims if whole else None, "NodeNameToMetaVictims": None if whole else victims}
    return _encode({"Pod": _pod_to_send(info), **names})


def bind_request(info: PodInfo, node: str) -> bytes:
    """ExtenderBindingArgs."""
    namespace, _, name = info.key.partition("/")
    return _encode({"PodName": name, "PodNamespace": namespace, "PodUID": info.uid, "Node": node})


def _pod_to_send(info: PodInfo, node: str = "") -> Pod:
    """The pod as the scheduler has it by now: with an identity, its node, its nomination."""
    pod, namespace = info.pod, info.key.partition("/")[0]
    return replace(
        pod,
        api_version=None,
        kind=None,
        metadata=replace(pod.metadata, uid=info.uid, namespace=namespace),
        spec=replace(pod.spec, node_name=node) if node else pod.spec,
        status=replace(pod.status, nominated_node_name=info.nominated or None),
    )


# --- what comes back


class NodeList(Struct):
    items: list[Node] = []


class FilterResult(Struct, rename="pascal"):
    """ExtenderFilterResult. ``nodes`` and ``node_names`` are None where the answer does not have them."""

    nodes: NodeList | None = None
    node_names: list[str] | None = None
    failed_nodes: dict[str, str] = {}
    failed_and_unresolvable_nodes: dict[str, str] = {}
    error: str = ""


class HostPriority(Struct, rename="pascal"):
    host: str = ""
    score: Int64 = 0


class MetaPod(Struct):
    uid: str = msgspec.field(name="UID", default="")


class MetaVictims(Struct):
    """The pods that are to leave a node; None for an entry without a pod."""

    pods: list[MetaPod | None] = msgspec.field(name="Pods", default_factory=list)
    violations: Int64 = msgspec.field(name="NumPDBViolations", default=0)


class PreemptionResult(Struct, rename="pascal"):
    node_name_to_meta_victims: dict[str, MetaVictims | None] = {}


class BindingResult(Struct, rename="pascal"):
    error: str = ""


def read(data: bytes, type_: type[T]) -> T | None:
    """The answer, read as Go reads it: names of fields in any case, null as nothing, and nothing after the first value.

    None for null. Raises ExtenderError.
    """
    text = data.decode("utf-8", "replace").strip()
    if not text:
        raise ExtenderError("its answer is empty")
    try:
        value, _ = json.JSONDecoder(parse_constant=_refuse).raw_decode(text)
        return None if value is None else convert(_rename_fields(value, inspect.type_info(type_)), type_)
    except InputError as error:
        place = error.place.removeprefix("$").removeprefix(".")
        raise ExtenderError(f"its answer cannot be used: {place}{': ' if place else ''}{error.problem}") from None
    except (ValueError, RecursionError):
        shown = text if len(text) <= 60 else f"{text[:59]}…"
        raise ExtenderError(f"its answer is not JSON: {go_quote(shown)}") from None


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _rename_fields(value: object, kind: inspect.Type) -> object:
    """The value with the fields of answers under their own names; whole nodes are left as they are."""
    match kind, value:
        case inspect.UnionType(), _ if value is not None:
            return _rename_fields(value, next(type_ for type_ in kind.types if not isinstance(type_, inspect.NoneType)))
        case inspect.ListType(), list():
            return [_rename_fields(item, kind.item_type) for item in value]
        case inspect.DictType(), dict():
            return {key: _rename_fields(item, kind.value_type) for key, item in value.items()}
        case inspect.StructType(), dict() if kind.cls is not Node:
            fields = {field.encode_name.lower(): field for field in kind.fields}
            known = [(fields[key.lower()], item) for key, item in value.items() if key.lower() in fields]
            return {field.encode_name: _rename_fields(item, field.type) for field, item in known}
    return value
