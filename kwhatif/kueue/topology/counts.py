"""How many pods and slices fit into each domain: counted at the leaves, and added up to the roots.

Upstream: fillInCounts in pkg/cache/scheduler/tas_flavor_snapshot.go, and scheduling_simulator_default.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kwhatif.api.core import Toleration
from kwhatif.api.kueue import WorkloadPodSet
from kwhatif.api.selectors import RequiredNodeAffinity, find_untolerated_taints
from kwhatif.golang.formatting import go_quote
from kwhatif.kueue.amounts import Requests, clamp
from kwhatif.kueue.topology.tree import Domain, Leaf, TopologyTree

_MOST = 2**31 - 1
_EFFECTS = ("NoSchedule", "NoExecute")


@dataclass(slots=True)
class Exclusions:
    """Why nodes have no room for even one pod."""

    nodes: int = 0
    selector: int = 0
    affinity: int = 0
    taints: Counter[str] = field(default_factory=Counter)
    resources: Counter[str] = field(default_factory=Counter)

    @property
    def text(self) -> str:
        """The end of a message; nothing where no node is left out."""
        parts = [f"{name}: {n}" for name, n in (("nodeSelector", self.selector), ("affinity", self.affinity)) if n]
        parts += [f"taint {go_quote(taint)}: {n}" for taint, n in self.taints.items()]
        parts += [f"resource {go_quote(name)}: {n}" for name, n in self.resources.items()]
        return f". Total nodes: {self.nodes}; excluded: {', '.join(sorted(parts))}" if parts else ""


@dataclass(frozen=True, slots=True)
class Slices:
    """Slices of ``size`` pods in one domain of ``level``; ``inner`` has the sizes at lower levels."""

    size: int
    level: int
    inner: Mapping[int, int]


def match_leaves(
    tree: TopologyTree, pod_set: WorkloadPodSet, tolerations: Sequence[Toleration]
) -> tuple[list[Leaf], Exclusions]:
    """The leaves that the pods may go to; where leaves are no nodes, all of them."""
    found = Exclusions(nodes=len(tree.leaves))
    leaves = list(tree.leaves.values())
    if not tree.ends_in_nodes:
        return leaves, found
    spec = pod_set.template.spec
    tolerated = [*(spec.tolerations or ()), *tolerations]
    affinity = RequiredNodeAffinity.from_pod_spec(spec)
    fitting = []
    for leaf in leaves:
        node = leaf.node
        assert node is not None
        labels = node.metadata.labels or {}
        taints = node.spec.taints or ()
        if taints and (left := find_untolerated_taints(taints, tolerated, _EFFECTS, comparison_operators=True)):
            found.taints[left[0].text] += 1
        elif not all(each.matches(labels.get(each.key)) for each in affinity.labels):
            found.selector += 1
        elif affinity.terms is not None and not any(term.matches(labels, node.name) for term in affinity.terms):
            found.affinity += 1
        else:
            fitting.append(leaf)
    return fitting, found


def count_leaf(
    leaf: Leaf,
    requests: Requests,
    leader: Requests | None,
    assumed: Requests | None,
    exclusions: Exclusions,
    *,
    empty: bool,
) -> None:
    """Count what fits into a leaf; ``empty`` as if no workload with a topology were there."""
    left = leaf.free if empty else leaf.left
    if assumed:
        left = _minus(left, assumed)
    leaf.pods, limiting = _count_in(requests, left)
    if not leaf.pods and limiting:
        exclusions.resources[limiting] += 1
    leaf.leaders = 0
    if leader is not None and _count_in(leader, left)[0] > 0:
        leaf.leaders = 1
        left = _minus(left, leader)
        leaf.pods_with_leader = _count_in(requests, left)[0]
    else:
        leaf.pods_with_leader = leaf.pods


def _minus(left: Mapping[str, int], right: Mapping[str, int]) -> Requests:
    found = dict(left)
    for name, amount in right.items():
        found[name] = clamp(found.get(name, 0) - amount)
    return found


def _count_in(requests: Requests, left: Mapping[str, int]) -> tuple[int, str]:
    """How many times requests fit, and the resource that limits it, the first by name."""
    least, limiting = _MOST, ""
    for name, amount in requests.items():
        count = min(max(left.get(name, 0) // amount, 0), _MOST) if amount else _MOST
        if count < least or (count == least and (not limiting or name < limiting)):
            least, limiting = count, name
    return (least, limiting) if limiting else (0, "")


def fits_times(requests: Requests, left: Mapping[str, int]) -> int:
    return _count_in(requests, left)[0]


def add_up(domain: Domain, level: int, slices: Slices, *, has_leader: bool) -> None:
    """What fits below a domain, from what fits below its children."""
    at_level = level == slices.level
    if not domain.children:
        if at_level:
            domain.slices = domain.pods // slices.size
            domain.slices_with_leader = domain.pods_with_leader // slices.size
        return
    pods = slice_count = leaders = 0
    least_pods = least_slices = _MOST
    contributes = False
    inner = slices.inner.get(level + 1)
    for child in domain.children:
        add_up(child, level + 1, slices, has_leader=has_leader)
        own, with_leader = child.pods, child.pods_with_leader
        if inner is not None:
            own, with_leader = own // inner * inner, with_leader // inner * inner
        pods += own
        slice_count += child.slices
        if not has_leader or child.leaders > 0:
            contributes = True
            least_pods = min(own - with_leader, least_pods)
            least_slices = min(child.slices - child.slices_with_leader, least_slices)
        leaders = max(child.leaders, leaders)
    domain.pods, domain.leaders = pods, leaders
    domain.pods_with_leader = pods - least_pods if contributes else 0
    with_leader = slice_count - least_slices if contributes else 0
    if at_level:
        slice_count, with_leader = domain.pods // slices.size, domain.pods_with_leader // slices.size
    domain.slices, domain.slices_with_leader = slice_count, with_leader
