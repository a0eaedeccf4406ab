"""Which group a node is of, by what clouds and installers put on nodes; and which nodes are of a group of some name.

The autoscaler calls a group what the cloud calls it, which is seldom what a label says: each cloud makes the one name
of the other by a rule of its own. Sizes are told nowhere on a node.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kwhatif.api.core import Node
from kwhatif.whatif.autoscale.node_groups_document import Members

_ZONE = "topology.kubernetes.io/zone"
_UUID = r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


@dataclass(frozen=True)
class _Sign:
    """A label that says which group a node is of, with others that it takes to tell groups apart.

    ``called`` matches what the autoscaler calls the group whose label has the value ``{}``.
    """

    key: str
    beside: tuple[str, ...] = ()
    called: str = r"{}"


_SIGNS = (
    _Sign("eks.amazonaws.com/nodegroup", called=r"(?:eks-)?{}(?:" + _UUID + ")?"),
    _Sign("alpha.eksctl.io/nodegroup-name", called=r"eksctl-.*-nodegroup-{}-NodeGroup-.*|{}"),
    _Sign("cloud.google.com/gke-nodepool", beside=(_ZONE,)),
    _Sign("kubernetes.azure.com/agentpool", called=r"aks-{}-[0-9]+-vmss|{}"),
    _Sign("agentpool", called=r"aks-{}-[0-9]+-vmss|{}"),
    _Sign("kops.k8s.io/instancegroup", called=r"{}(?:\..*)?"),
    _Sign("hypershift.openshift.io/nodePool", called=r"(?:MachineDeployment/[^/]*/)?{}"),
    _Sign("doks.digitalocean.com/node-pool"),
    _Sign("doks.digitalocean.com/node-pool-id"),
    _Sign("lke.linode.com/pool-id"),
    _Sign("k8s.scaleway.com/pool-name"),
    _Sign("hcloud/node-group"),
    _Sign("nodepool.ovhcloud.com/name"),
    _Sign("oci.oraclecloud.com/node-pool"),
    _Sign("magnum.openstack.org/nodegroup"),
    _Sign("worker.gardener.cloud/pool"),
    _Sign("rke.cattle.io/machine-pool-name"),
)
"""What names a node's group: the first of these that it has. GKE's groups are of one zone each."""


@dataclass(frozen=True)
class Labelled:
    """A group that labels tell: its name, made of their values, and where they were found."""

    name: str
    members: Members
    source: str
    sign: _Sign
    value: str


def labelled_groups(nodes: Iterable[Node]) -> Iterator[Labelled]:
    """The groups in the order of their first nodes."""
    seen = set()
    for node in nodes:
        labels = node.metadata.labels or {}
        sign = next((sign for sign in _SIGNS if labels.get(sign.key)), None)
        if sign is None:
            continue
        found = {key: labels[key] for key in (sign.key, *sign.beside) if key in labels}
        name = "-".join(found.values())
        if name not in seen:
            seen.add(name)
            where = f"label {sign.key} of nodes"
            yield Labelled(name, Members(labels=found), where, sign, labels[sign.key])


def members_named(name: str, nodes: Sequence[Node], labelled: Sequence[Labelled]) -> tuple[Members, str] | None:
    """The nodes of a group that the autoscaler calls so, and what tells; None where nothing does.

    A scale set of Azure is in the provider IDs of its nodes; an instance group of GCE names its instances after itself.
    """
    for pattern in _of_provider_ids(name):
        if any(re.search(pattern, node.spec.provider_id or "") for node in nodes):
            return Members(provider_id=pattern), "providerID of nodes"
    for each in labelled:
        if name == each.name or re.fullmatch(each.sign.called.replace("{}", re.escape(each.value)), name):
            return each.members, each.source
    return None


def _of_provider_ids(name: str) -> Iterator[str]:
    last = name.rpartition("/")[2]
    yield f"/virtualMachineScaleSets/{_literal(last)}/"
    if last.endswith("-grp"):
        yield f"/{_literal(last.removesuffix('-grp'))}-[a-z0-9]+$"


def _literal(text: str) -> str:
    return text.replace(".", r"\.")
