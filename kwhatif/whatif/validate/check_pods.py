"""Pods whose nodes, owners, classes, namespaces or budgets are not there or do not agree with them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from kwhatif.admission.plugins.priority import SYSTEM_CLASSES
from kwhatif.api.core import Pod
from kwhatif.api.kinds import KEPT_WHOLE, KINDS, NAMESPACED, struct_for
from kwhatif.api.others import PodDisruptionBudget, PriorityClass
from kwhatif.api.selectors import Selector, SelectorError
from kwhatif.results.snapshot_check import Finding
from kwhatif.whatif.validate.check_references import Known, error, named, warning

_SHOWN = 3


def pod_findings(known: Known) -> Iterator[Finding]:
    """Findings about pods and what they belong to."""
    pods = known.objects.of(Pod)
    for pod in known.unfinished:
        yield from _place(pod, known)
        yield from _claims(pod, known)
        problem = known.shapes[pod.key]
        if isinstance(problem, SelectorError):
            yield error("bad-selector", pod, f"has a selector that cannot be parsed: {problem}")
        elif isinstance(problem, ValueError):
            yield error("bad-time", pod, f"status.startTime is no time: {pod.status.start_time}")
    yield from _owners(pods, known)
    yield from _classes(pods, known)
    yield from _namespaces(known)
    yield from _budgets(pods, known.objects.of(PodDisruptionBudget))


def _place(pod: Pod, known: Known) -> Iterator[Finding]:
    node, phase, nominated = pod.spec.node_name, pod.status.phase, pod.status.nominated_node_name
    if node and known.lacks("Node", node):
        yield error("unknown-node", pod, f"runs on node {node}, which is not there")
    if node and phase == "Pending":
        yield warning("bound-but-pending", pod, f"has node {node}, and its phase is still Pending")
    if not node and phase == "Running":
        yield error("running-nowhere", pod, "its phase is Running, but it has no node")
    if nominated and not node and known.lacks("Node", nominated):
        yield warning("unknown-node", pod, f"is nominated to node {nominated}, which is not there")


def _claims(pod: Pod, known: Known) -> Iterator[Finding]:
    """Device claims; those of volumes are a matter of storage."""
    made = {s.name: s.resource_claim_name for s in pod.status.resource_claim_statuses or ()}
    for claim in pod.spec.resource_claims or ():
        name = claim.resource_claim_name or made.get(claim.name)
        if name and known.lacks("ResourceClaim", name, pod.namespace):
            finding = error if pod.spec.node_name else warning
            yield finding("missing-resource-claim", pod, f"uses ResourceClaim {name}, which is not there")


def _owners(pods: Iterable[Pod], known: Known) -> Iterator[Finding]:
    """Controllers that are not there, each once."""
    orphans: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for pod in pods:
        for owner in pod.metadata.owner_references or ():
            kind, version, name = owner.kind or "", owner.api_version or "", owner.name or ""
            group = version.rpartition("/")[0]
            ours = (kind in KINDS and struct_for(version, kind) is not None) or KEPT_WHOLE.get(kind) == group
            namespace = "" if kind == "Node" else pod.namespace
            if owner.controller and ours and known.lacks(kind, name, namespace):
                orphans[kind, namespace, name].append(pod.name)
    for (kind, namespace, name), names in orphans.items():
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        who = f"{', '.join(names[:_SHOWN])}{more}"
        text = f"is not there, but owns {len(names)} pod{'' if len(names) == 1 else 's'}: {who}"
        yield warning("missing-owner", f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}", text)


def _classes(pods: Iterable[Pod], known: Known) -> Iterator[Finding]:
    classes = known.objects.of(PriorityClass)
    values = SYSTEM_CLASSES | {each.name: each.value for each in classes}
    for pod in pods:
        name, priority = pod.spec.priority_class_name, pod.spec.priority
        if name and name in values and values[name] != (priority or 0):
            has = "no priority" if priority is None else f"priority {priority}"
            yield warning("priority-mismatch", pod, f"has {has}, its PriorityClass {name} says {values[name]}")
        elif name and name not in values and known.lacks("PriorityClass", name):
            yield warning("missing-priority-class", pod, f"names PriorityClass {name}, which is not there")
    defaults = sorted(each.name for each in classes if each.global_default)
    for other in defaults[1:]:
        text = f"is a global default, and so is {defaults[0]}"
        yield warning("two-default-classes", f"PriorityClass {other}", text)


def _namespaces(known: Known) -> Iterator[Finding]:
    """Namespaces that are not there, each once."""
    inhabitants: dict[str, list[str]] = defaultdict(list)
    for obj in known.objects:
        if type(obj).__name__ in NAMESPACED and known.lacks("Namespace", obj.namespace):
            inhabitants[obj.namespace].append(named(obj))
    for namespace, names in inhabitants.items():
        who = f"{names[0]} is" if len(names) == 1 else f"{names[0]} and {len(names) - 1} more are"
        yield error("missing-namespace", f"Namespace {namespace}", f"is not there, but {who} in it")


def _budgets(pods: Iterable[Pod], budgets: Iterable[PodDisruptionBudget]) -> Iterator[Finding]:
    labels: dict[str, set[frozenset[tuple[str, str]]]] = defaultdict(set)
    for pod in pods:
        labels[pod.namespace].add(frozenset((pod.metadata.labels or {}).items()))
    for budget in budgets:
        try:
            selector = Selector.of(budget.spec.selector)
        except SelectorError as problem:
            yield warning("bad-selector", budget, f"has a selector that cannot be parsed: {problem}")
            continue
        distinct: Iterable[Mapping[str, str]] = map(dict, labels[budget.namespace])
        if not any(selector.matches(each) for each in distinct):
            yield warning("budget-selects-nothing", budget, "selects no pod")
