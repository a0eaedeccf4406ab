"""What goes to an extender and what comes back.

Fields have Go's own names, for the types carry no JSON tags; pods and nodes inside are as the API spells them, with
the fields that are kept of them. Upstream: kube-scheduler/extender/v1/types.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec.structs import replace

from kwhatif.api.core import Node, Pod
from kwhatif.api.decode import convert
from kwhatif.api.quantity import plain_quantity
from kwhatif.cluster.shapes import PodInfo
from kwhatif.errors import InputError
from kwhatif.scheduling.extenders.gojson import At, GoJsonError, integer, list_of, map_of, parse, plain, struct, text
from kwhatif.scheduling.victims import Claim

__all__ = [
    "FilterAnswer",
    "MetaVictims",
    "NodeTexts",
    "bind_error",
    "bind_request",
    "filter_answer",
    "preempt_answer",
    "preempt_request",
    "priorities",
    "request",
]

_encode = msgspec.json.Encoder(enc_hook=plain_quantity).encode


# --- what goes out


class NodeTexts:
    """Nodes as JSON, each written once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Node, msgspec.Raw]] = {}

    def of(self, node: Node) -> msgspec.Raw:
        known = self._known.get(id(node))
        if known is None:
            # The node is kept, so that no other one can come to have its id.
            known = self._known[id(node)] = (node, msgspec.Raw(_encode(replace(node, api_version=None, kind=None))))
        return known[1]


def request(info: PodInfo, nodes: Sequence[Node], texts: NodeTexts | None) -> bytes:
    """ExtenderArgs, with whole nodes if there are ``texts`` for them, else with names."""
    whole = None if texts is None else {"metadata": {}, "items": [texts.of(node) for node in nodes]}
    names = [node.name for node in nodes] if texts is None else None
    return _encode({"Pod": _sent(info), "Nodes": whole, "NodeNames": names})


def preempt_request(info: PodInfo, claims: Mapping[str, Claim], *, whole: bool) -> bytes:
    """ExtenderPreemptionArgs, with whole pods or with their uids."""
    victims = {
        node: {
            "Pods": [_sent(pod, node) if whole else {"UID": pod.uid} for pod in claim.victims],
            "NumPDBViolations": claim.violations,
        }
        for node, claim in sorted(claims.items())
    }
    names = {"NodeNameToVictims": victims if whole else None, "NodeNameToMetaVictims": None if whole else victims}
    return _encode({"Pod": _sent(info), **names})


def bind_request(info: PodInfo, node: str) -> bytes:
    """ExtenderBindingArgs."""
    namespace, _, name = info.key.partition("/")
    return _encode({"PodName": name, "PodNamespace": namespace, "PodUID": info.uid, "Node": node})


def _sent(info: PodInfo, node: str = "") -> Pod:
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


@dataclass(frozen=True, slots=True)
class FilterAnswer:
    """ExtenderFilterResult. ``nodes`` and ``names`` are None where the answer does not have them."""

    nodes: list[Node] | None
    names: list[str] | None
    failed: dict[str, str]
    unresolvable: dict[str, str]
    error: str


@dataclass(frozen=True, slots=True)
class MetaVictims:
    """The uids of pods that are to leave a node; None for an entry without a pod."""

    uids: list[str | None]
    violations: int


_NODE_LIST = struct("NodeList", {"items": list_of(plain, "[]v1.Node")})
_MESSAGES = map_of(text, "v1.FailedNodesMap")
_FILTER = struct(
    "ExtenderFilterResult",
    {
        "Nodes": _NODE_LIST,
        "NodeNames": list_of(text, "[]string"),
        "FailedNodes": _MESSAGES,
        "FailedAndUnresolvableNodes": _MESSAGES,
        "Error": text,
    },
)
_PRIORITIES = list_of(struct("HostPriority", {"Host": text, "Score": integer}), "v1.HostPriorityList")
_VICTIMS = struct(
    "MetaVictims",
    {"Pods": list_of(struct("MetaPod", {"UID": text}), "[]*v1.MetaPod"), "NumPDBViolations": integer},
)
_PREEMPTION = struct(
    "ExtenderPreemptionResult", {"NodeNameToMetaVictims": map_of(_VICTIMS, "map[string]*v1.MetaVictims")}
)
_BINDING = struct("ExtenderBindingResult", {"Error": text})


def filter_answer(data: bytes) -> FilterAnswer:
    """Raises GoJsonError."""
    found = _FILTER(parse(data), At()) or _FILTER(parse(b"{}"), At())
    assert found is not None
    listed = found["Nodes"]
    nodes = None if listed is None else [_node(raw) for raw in listed["items"] or ()]
    return FilterAnswer(
        nodes, found["NodeNames"], found["FailedNodes"], found["FailedAndUnresolvableNodes"], found["Error"]
    )


def _node(raw: Any) -> Node:
    try:
        return convert({} if raw is None else raw, Node)
    except InputError as error:
        place = error.place.removeprefix("$").removeprefix(".")
        raise GoJsonError(f"json: cannot unmarshal Nodes.items.{place}: {error.problem}") from None


def priorities(data: bytes) -> list[tuple[str, int]]:
    """HostPriorityList as pairs of host and score. Raises GoJsonError."""
    return [(found["Host"], found["Score"]) if found else ("", 0) for found in _PRIORITIES(parse(data), At()) or ()]


def preempt_answer(data: bytes) -> dict[str, MetaVictims | None]:
    """ExtenderPreemptionResult: uids by node. Raises GoJsonError."""
    found = _PREEMPTION(parse(data), At())
    victims: dict[str, MetaVictims | None] = {}
    for node, meta in sorted((found or {}).get("NodeNameToMetaVictims", {}).items()):
        uids = None if meta is None else [pod and pod["UID"] for pod in meta["Pods"] or ()]
        victims[node] = None if meta is None or uids is None else MetaVictims(uids, meta["NumPDBViolations"])
    return victims


def bind_error(data: bytes) -> str:
    """What ExtenderBindingResult says went wrong; empty for nothing. Raises GoJsonError."""
    found = _BINDING(parse(data), At())
    return found["Error"] if found else ""
