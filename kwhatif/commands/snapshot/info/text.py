"""A snapshot's summary as blocks: facts, nodes by pool and zone, resources, pods, usage, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwhatif.commands.snapshot.info.result import InfoResult, NodeUse, ResourceUse
from kwhatif.commands.view import View
from kwhatif.render.blocks import NONE, Block, Facts, Grouping, Heading, Lines, Verdict, build_table, join_texts, table
from kwhatif.render.page_spec import PageSpec
from kwhatif.results.amounts import format_age, format_column, format_count


def usage_blocks(result: InfoResult) -> list[Block]:
    """Two tables; none where what pods use is unknown."""
    blocks: list[Block] = []
    rows: list[tuple[str, ...]]
    if isinstance(result.usage, tuple):
        rows = []
        for pool_usage in result.usage:
            requested, used = format_column(pool_usage.resource, (pool_usage.requested, pool_usage.used or 0))
            share = (
                f"{pool_usage.used / pool_usage.requested:.0%}"
                if pool_usage.used is not None and pool_usage.requested
                else NONE
            )
            rows.append(
                (
                    pool_usage.pool or NONE,
                    pool_usage.resource,
                    requested,
                    NONE if pool_usage.used is None else used,
                    share,
                )
            )
        blocks += build_table("REQUESTED AND USED", ("pool", "resource", "requested", "used", "share"), rows)
    if isinstance(result.reserved, tuple):
        rows = []
        for one in result.reserved:
            amounts = format_column(one.resource, (one.requested, one.used, one.requested - one.used))
            rows.append((one.workload, one.resource, str(one.pods), *amounts))
        headers = ("workload", "resource", "pods", "requested", "used", "for nothing")
        blocks += build_table("LARGEST UNUSED REQUESTS", headers, rows)
    return blocks


BAR_WIDTH = 6
_IN_GROUPS = ("cpu", "memory")


def info_blocks(result: InfoResult) -> list[Block]:
    """The report."""
    return [
        _verdict(result),
        *_facts(result),
        *_nodes(result),
        *_resources(result),
        *_pods(result),
        *_devices(result),
        *usage_blocks(result),
        *_missing(result),
    ]


def _verdict(result: InfoResult) -> Verdict:
    """``6 nodes, 39 pods, 1 of them pending; 47% of cpu and 23% of memory are requested.``"""
    pods, pending = sum(result.phases.values()), sum(pending_reason.pods for pending_reason in result.pending)
    text = f"{format_count(sum(group.nodes for group in result.groups), 'node')}, {format_count(pods, 'pod')}"
    text += f", {pending} of them pending" if pending else ""
    shares = [
        f"{100 * use.requested // use.allocatable}% of {use.resource}"
        for use in result.resources
        if use.resource in _IN_GROUPS and use.allocatable
    ]
    return Verdict(f"{text}; {' and '.join(shares)} are requested." if shares else f"{text}.", True)


def _facts(result: InfoResult) -> Iterator[Block]:
    taken = NONE
    if result.taken_at:
        taken = result.taken_at
        if result.age_seconds is not None:
            age = f"{format_age(result.age_seconds)} ago" if result.age_seconds >= 0 else "still to come"
            taken += f" ({age}, as of {result.as_of})"
    held = ", ".join(f"{number} {kind}" for kind, number in result.objects.items() if number)
    pairs = [
        ("Source", result.source or NONE),
        ("Kubernetes", result.kubernetes_version or NONE),
        ("Taken", taken),
        ("Objects", held or NONE),
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
    yield table(("pool", "zone", "nodes", "ready", "cordoned", "pods", *_IN_GROUPS), tuple(rows), Grouping("group"))
    headers = ("node [node]", "pool", "zone", "status", "pods", *_IN_GROUPS, "others", "taints")
    columns = zip(*(_fractions(name, result.nodes) for name in _IN_GROUPS), strict=True)
    node_rows = [_node(node, fractions) for node, fractions in zip(result.nodes, columns, strict=True)]
    yield from build_table("EACH NODE (requested/allocatable)", headers, node_rows, Grouping("node"))


def _node(node: NodeUse, fractions: tuple[str, ...]) -> tuple[str, ...]:
    status = "Ready" if node.ready else "NotReady"
    others = (name for name in node.resources if name not in (*_IN_GROUPS, "ephemeral-storage"))
    return (
        node.node,
        node.pool or NONE,
        node.zone or NONE,
        f"{status},SchedulingDisabled" if node.cordoned else status,
        f"{node.pods}/{node.most_pods}",
        *fractions,
        join_texts(f"{name} {_fractions(name, (node,))[0]}" for name in others),
        join_texts(node.taints),
    )


def _fractions(resource: str, nodes: Sequence[NodeUse]) -> list[str]:
    """What is requested of each node's resource, and of how much."""
    amounts = [amount for node in nodes for amount in node.resources.get(resource, (0, 0))]
    spelt = format_column(resource, amounts)
    return [f"{requested}/{whole}" for requested, whole in zip(spelt[::2], spelt[1::2], strict=True)]


def _resources(result: InfoResult) -> Iterator[Block]:
    rows = []
    for use in result.resources:
        amounts = (use.allocatable, use.requested, use.free, use.largest_free)
        whole, requested, free, largest = format_column(use.resource, amounts)
        where = f"{largest} on {use.on}" if use.on else largest
        rows.append((use.resource, whole, requested, _share(use), free, where))
    headers = ("resource", "allocatable", "requested", "in use [drop 1]", "free", "largest free")
    yield from build_table("RESOURCES", headers, rows)
    if rows and result.closed_nodes:
        closed = format_count(result.closed_nodes, "node that is", "nodes that are")
        yield Lines((f"Free leaves out {closed} cordoned or not ready.",))


def _pods(result: InfoResult) -> Iterator[Block]:
    yield Heading(f"PODS: {sum(result.phases.values())}")
    if not result.phases:
        yield Lines(("The snapshot holds no pods.",))
        return
    yield table(("phase", "pods"), tuple((phase, str(number)) for phase, number in result.phases.items()))
    rows = [
        (pending_reason.pods, pending_reason.reason or NONE, pending_reason.message or NONE)
        for pending_reason in result.pending
    ]
    yield from build_table("PENDING", ("pods", "reason", "message"), rows)
    uses = [(use.priority_class or NONE, use.priority, use.pods) for use in result.classes]
    yield from build_table("PRIORITIES", ("priority class", "priority", "pods"), uses)


def _devices(result: InfoResult) -> list[Block]:
    rows = [(use.driver, use.device_class or NONE, use.nodes, use.devices, use.allocated) for use in result.devices]
    return build_table("DEVICES", ("driver", "class", "nodes", "devices", "allocated"), rows)


def _missing(result: InfoResult) -> Iterator[Block]:
    missing = result.missing
    texts = [f"{kind} could not be read: {reason}" for kind, reason in missing.unreadable.items()]
    if missing.dropped:
        texts.append(f"left out of pod templates: {', '.join(missing.dropped)}")
    if missing.ignored:
        ignored = ", ".join(f"{number} {kind}" for kind, number in missing.ignored.items())
        texts.append(f"not read by scheduling: {ignored}")
    texts += [f"changed while it was read: {text}" for text in missing.inconsistencies]
    yield Heading("MISSING")
    kinds = {
        "not in the snapshot": missing.kinds,
        "in the snapshot, but empty": [kind for kind, number in result.objects.items() if not number],
    }
    absent = [(f"{what}: ", names) for what, names in kinds.items() if names]
    lines = (*(f"{what}{', '.join(names)}" for what, names in absent), *texts)
    brief = (*(f"{what}{format_count(len(names), 'kind')}; --all names them" for what, names in absent), *texts)
    yield Lines(lines or ("nothing",), listed=bool(lines), brief=brief)


def bar(part: int, whole: int) -> str:
    """``████░░  62%``; more than all of it only the number shows."""
    if whole <= 0:
        return "-" if not part else "nothing to give"
    percent = 100 * part // whole
    filled = min(max(round(BAR_WIDTH * part / whole), 0), BAR_WIDTH)
    return f"{'█' * filled}{'░' * (BAR_WIDTH - filled)} {percent:>3}%"


def _share(use: ResourceUse | None) -> str:
    return "-" if use is None else bar(use.requested, use.allocatable)


def _sum_of(result: InfoResult, field: str, one: str) -> str:
    return format_count(sum(getattr(group, field) for group in result.groups), one)


VIEW = View(
    lambda result, look: info_blocks(result),
    page=PageSpec(
        "snapshot info",
        "The snapshot",
        lambda result: ("plain", "What is in the snapshot"),
        verdict=lambda result: f"{_sum_of(result, 'nodes', 'node')}, {_sum_of(result, 'pods', 'pod')} on them",
    ),
)
