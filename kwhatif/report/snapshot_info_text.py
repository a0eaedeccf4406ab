"""What is in a snapshot: facts, then nodes by pool and zone, resources, pods, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.report.blocks import NONE, Block, Facts, Grouping, Heading, Lines, Table, joined, titled
from kwhatif.results.amounts import counted, lasted, spell_amount
from kwhatif.results.snapshot_info import InfoResult, NodeUse, ResourceUse

BAR_WIDTH = 10
_IN_GROUPS = ("cpu", "memory")


def info_blocks(result: InfoResult) -> list[Block]:
    """The report."""
    return [*_facts(result), *_nodes(result), *_resources(result), *_pods(result), *_devices(result), *_missing(result)]


def _facts(result: InfoResult) -> Iterator[Block]:
    taken = NONE
    if result.taken_at:
        taken = result.taken_at
        if result.age_seconds is not None:
            taken += f" ({lasted(result.age_seconds)} ago)" if result.age_seconds >= 0 else " (still to come)"
    held = ", ".join(f"{number} {kind}" for kind, number in result.objects.items() if number)
    looked_for = ", ".join(kind for kind, number in result.objects.items() if not number)
    pairs = [
        ("Source", result.source or NONE),
        ("Kubernetes", result.kubernetes_version or NONE),
        ("Taken", taken),
        ("Objects", held or NONE),
        *([("None of", looked_for)] if looked_for else []),
        ("Scheduler", result.scheduler or "not found: kube-scheduler's defaults are used"),
    ]
    if result.edits:
        pairs.append(("Edited", "; ".join(result.edits)))
    if result.redacted:
        pairs.append(("Redacted", "yes: the names are made up"))
    yield Facts(tuple(pairs))


def _nodes(result: InfoResult) -> Iterator[Block]:
    yield Heading(f"NODES: {sum(group.nodes for group in result.groups)}")
    if not result.groups:
        yield Lines(("The snapshot holds no nodes.",))
        return
    rows = []
    for group in result.groups:
        by_name = {use.resource: use for use in group.resources}
        rows.append(
            (
                group.pool or NONE,
                group.zone or NONE,
                *map(str, (group.nodes, group.ready, group.cordoned, group.pods)),
                *(_share(by_name.get(name)) for name in _IN_GROUPS),
            )
        )
    yield Table(
        ("pool", "zone", "nodes", "ready", "cordoned", "pods", *_IN_GROUPS), tuple(rows), grouping=Grouping("group")
    )
    headers = ("node", "pool", "zone", "status", "pods", *_IN_GROUPS, "others", "taints")
    each = map(_node, result.nodes)
    yield from titled("EACH NODE (requested/allocatable)", headers, each, grouping=Grouping("node"), nodes=(0,))


def _node(node: NodeUse) -> tuple[str, ...]:
    status = "Ready" if node.ready else "NotReady"
    others = (name for name in node.resources if name not in (*_IN_GROUPS, "ephemeral-storage"))
    return (
        node.node,
        node.pool or NONE,
        node.zone or NONE,
        f"{status},SchedulingDisabled" if node.cordoned else status,
        f"{node.pods}/{node.most_pods}",
        *(_fraction(name, node.resources.get(name, (0, 0))) for name in _IN_GROUPS),
        joined(f"{name} {_fraction(name, node.resources[name])}" for name in others),
        joined(node.taints),
    )


def _fraction(resource: str, use: tuple[int, int]) -> str:
    return "/".join(_spelt(resource, amount) for amount in use)


def _resources(result: InfoResult) -> Iterator[Block]:
    rows = []
    for use in result.resources:
        largest = _spelt(use.resource, use.largest_free)
        rows.append(
            (
                use.resource,
                _spelt(use.resource, use.allocatable),
                _spelt(use.resource, use.requested),
                _spelt(use.resource, use.free),
                f"{largest} on {use.on}" if use.on else largest,
                _share(use),
            )
        )
    headers = ("resource", "allocatable", "requested", "free", "largest free", "in use")
    yield from titled("RESOURCES", headers, rows)
    if rows and result.closed_nodes:
        closed = counted(result.closed_nodes, "node that is", "nodes that are")
        yield Lines((f"Free leaves out {closed} cordoned or not ready.",))


def _pods(result: InfoResult) -> Iterator[Block]:
    yield Heading(f"PODS: {sum(result.phases.values())}")
    if not result.phases:
        yield Lines(("The snapshot holds no pods.",))
        return
    yield Table(("phase", "pods"), tuple((phase, str(number)) for phase, number in result.phases.items()))
    rows = [(each.pods, each.reason or NONE, each.message or NONE) for each in result.pending]
    yield from titled("PENDING", ("pods", "reason", "message"), rows)
    uses = [(use.priority_class or NONE, use.priority, use.pods) for use in result.classes]
    yield from titled("PRIORITIES", ("priority class", "priority", "pods"), uses)


def _devices(result: InfoResult) -> list[Block]:
    rows = [(use.driver, use.device_class or NONE, use.nodes, use.devices, use.allocated) for use in result.devices]
    return titled("DEVICES", ("driver", "class", "nodes", "devices", "allocated"), rows)


def _missing(result: InfoResult) -> Iterator[Block]:
    missing = result.missing
    texts = [f"{kind} could not be read: {reason}" for kind, reason in missing.unreadable.items()]
    if missing.kinds:
        texts.append(f"not in the snapshot: {', '.join(missing.kinds)}")
    if missing.dropped:
        texts.append(f"left out of pod templates: {', '.join(missing.dropped)}")
    if missing.ignored:
        ignored = ", ".join(f"{number} {kind}" for kind, number in missing.ignored.items())
        texts.append(f"not read by scheduling: {ignored}")
    texts += [f"changed while it was read: {text}" for text in missing.inconsistencies]
    yield Heading("MISSING")
    yield Lines(tuple(texts) or ("nothing",), listed=bool(texts))


def bar(part: int, whole: int) -> str:
    """``██████░░░░  62%``; more than all of it is told by the number."""
    if whole <= 0:
        return "-" if not part else "nothing to give"
    percent = 100 * part // whole
    filled = min(max(round(BAR_WIDTH * part / whole), 0), BAR_WIDTH)
    return f"{'█' * filled}{'░' * (BAR_WIDTH - filled)} {percent:>3}%"


def _share(use: ResourceUse | None) -> str:
    return "-" if use is None else bar(use.requested, use.allocatable)


def _spelt(resource: str, amount: int) -> str:
    """Many cores with one decimal: the millicores of a whole cluster say little."""
    if resource == "cpu" and amount >= 10_000:
        return f"{amount / 1000:.1f}".removesuffix(".0")
    return spell_amount(resource, amount)
