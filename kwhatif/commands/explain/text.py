"""Explanations as blocks: the verdict, then the nodes, evictions and fixes of each pod."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from kwhatif.commands.expand.text import refusal_blocks
from kwhatif.commands.explain.fix_text import fix_blocks, workload_fix_blocks
from kwhatif.commands.place.text import device_blocks, victim_table
from kwhatif.commands.view import View
from kwhatif.render.blocks import (
    NONE,
    Block,
    Column,
    Facts,
    Heading,
    Lines,
    Part,
    Table,
    Verdict,
    build_table,
    format_part,
    table,
)
from kwhatif.render.explain_nodes import (
    arithmetic_blocks,
    feasible_blocks,
    missing,
    nearest,
    rejected_blocks,
    score_table,
)
from kwhatif.render.page_spec import PageSpec, PodOutcomes
from kwhatif.render.pod_groups import group_report_blocks
from kwhatif.render.sections import choice_of, fidelity_blocks, scale_up_blocks
from kwhatif.results.amounts import format_count, format_ordinal, format_some
from kwhatif.results.explain import (
    Comparison,
    Eviction,
    ExplainResult,
    GroupReport,
    NodeReport,
    PodReport,
    WorkloadReport,
)
from kwhatif.results.outcome import FITS, Outcome, PreemptionFailure, lead_with
from kwhatif.results.place import Placement, ScaleUp

MOST_HOMES = 4
"""The nodes of a workload are named up to this number."""


def explain_blocks(result: ExplainResult, *, everything: bool = False) -> list[Block]:
    """The report; ``everything`` shows each node by itself, however many there are."""
    blocks: list[Block] = [Verdict(_verdict(result), not result.exit_code), *_summary(result)]
    workloads = {workload_report.explained: workload_report for workload_report in _with_pods(result)}
    blocks += group_report_blocks(result.group_reports)
    several = len(result.pods) + len(result.group_reports) > 1
    for number, report in enumerate(result.pods, 1):
        # What a workload's sentence or row says of its pods is said again where everything is to be seen.
        with_alike = everything or report.pod not in workloads
        facts = [] if several else [("Pod", report.pod)]
        facts += _facts(report, result.nodes, result.fidelity.rules)
        of_pod = [Facts(tuple(facts)), *_pod(report, result.nodes, everything, with_alike=with_alike)]
        workload = workloads.get(report.pod)
        of_pod += fix_blocks(report, workload)
        if not several:
            blocks += of_pod
        else:
            heading = Heading(f"{number} OF {len(result.pods)}: {report.pod}")
            blocks.append(Part((heading, *of_pod), urgent=not report.placement.good))
    for workload in result.workloads:
        if not workload.explained:
            blocks += workload_fix_blocks(workload)
    unknown = result.outcome.unknown if isinstance(result.outcome, Outcome) else ()
    if isinstance(result.scale_up, ScaleUp):
        blocks += scale_up_blocks(result.scale_up)
    return [*blocks, *refusal_blocks(result.refusals, result.failed), *fidelity_blocks(result.fidelity, unknown)]


def _verdict(result: ExplainResult) -> str:
    """That of the outcome where pods are placed together. Else ``Does not fit: shop/big finds no node; the nearest is
    bee-1: cpu: asks 6, free 2 of 4, short 4.``, or how many do.
    """
    if isinstance(result.outcome, Outcome):
        return result.outcome.verdict
    return lead_with(FITS, _words_of(result), good=not result.exit_code)


def _words_of(result: ExplainResult) -> str:
    if not result.pods:
        return _describe_groups(result.group_reports) or "no pods to explain."
    if all(report.runs_on for report in result.pods) and (len(result.pods) > 1 or result.pods[0].alike):
        return _describe_running(result.pods)
    if len(result.pods) > 1 or result.pods[0].alike:
        every = [placement for report in result.pods for placement in (report.placement, *report.alike)]
        fit = sum(placement.good for placement in every)
        evicting = sum(bool(placement.victims) for placement in every if not placement.good)
        more = f", {evicting} only by evicting others" if evicting else ""
        return f"{format_part(fit, len(every), 'pod')} {'finds' if fit == 1 else 'find'} a node{more}."
    (report,) = result.pods
    return f"{report.pod} {_describe_report(report)}."


def _describe_groups(groups: Sequence[GroupReport]) -> str:
    """``gang ml/train: 6 of 8 find a node, needs 8: none run.``, or how many groups run."""
    if len(groups) == 1:
        return f"{groups[0].outcome.text}."
    running = sum(report.outcome.good for report in groups)
    return f"{format_part(running, len(groups), 'group')} {'runs' if running == 1 else 'run'}." if groups else ""


def _describe_running(reports: Sequence[PodReport]) -> str:
    """``3 pods run; scheduled today, 2 would stay, 1 would go elsewhere.``"""
    ends: Counter[str] = Counter()
    for report in reports:
        stays = report.placement.node == report.runs_on
        end = "stay" if stays else "go elsewhere" if report.good else "find no node"
        ends[end] += 1 + len(report.alike)
    text = ", ".join(f"{ends[end]} would {end}" for end in ("stay", "go elsewhere", "find no node") if ends[end])
    number = ends.total()
    return f"{format_count(number, 'pod')} {'runs' if number == 1 else 'run'}; scheduled today, {text}."


def _summary(result: ExplainResult) -> Iterator[Block]:
    """Where there are several pods: how each workload comes out, and what becomes of those that are named."""
    reports = {report.pod: report for report in result.pods}
    if len(result.pods) > 1:
        with_pods = _with_pods(result)
        seen = {workload_report.explained for workload_report in with_pods}
        headers = ("workload", "pods", "alone", "together", "outcome [fails .*finds? no node]")
        if with_pods:
            yield table(
                headers,
                tuple(
                    _workload_row(workload_report, reports[workload_report.explained]) for workload_report in with_pods
                ),
            )
        named = [_summarize(report) for report in result.pods if report.pod not in seen]
        if named:
            yield table(("pod", "outcome [fails .*finds? no node]"), tuple(named))
        return
    for workload in _with_pods(result):
        report = reports[workload.explained]
        yield Lines(
            (
                _describe_workload(workload, report)
                if workload.pods > 1
                else f"{report.pod} {_describe_report(report)}.",
            )
        )


def _with_pods(result: ExplainResult) -> list[WorkloadReport]:
    """The workloads of which a pod was created, and so is explained."""
    return [workload for workload in result.workloads if workload.explained]


def _workload_row(workload: WorkloadReport, report: PodReport) -> tuple[str, ...]:
    which = "" if workload.pods == 1 else f"{_which(workload)} "
    outcome = f"{which}{_describe_report(report)}"
    if report.placement.good and workload.pods > 1:
        outcome = _describe_homes(workload)
    return workload.workload, *map(str, (workload.pods, workload.alone, workload.together)), outcome


def _describe_workload(workload: WorkloadReport, report: PodReport) -> str:
    """``Deployment/shop/web: 40 pods alike; alone each finds a node, together 23 do; the 24th finds no node; ...``."""
    alike = " alike" if workload.identical else ""
    several = workload.together != 1
    together = {workload.pods: "all do", 0: "none does"}.get(
        workload.together, f"{workload.together} {'do' if several else 'does'}"
    )
    alone = {workload.pods: "each finds", 0: "none finds"}.get(
        workload.alone, f"{workload.alone} {'finds' if workload.alone == 1 else 'find'}"
    )
    evicting = f", {workload.evicting} of them by evicting others" if workload.evicting else ""
    rest = f"; {_which(workload)} {_describe_report(report)}" if not report.placement.good else ""
    homes = f": {_describe_homes(workload)}" if workload.nodes else ""
    return (
        f"{workload.workload}, {format_count(workload.pods, 'pod')}{alike}: alone {alone} a node, "
        f"together {together}{evicting}{homes}{rest}."
    )


def _which(workload: WorkloadReport) -> str:
    """The pod that is explained, by its place in the scheduler's order."""
    return "the first" if workload.number == 1 else f"the {format_ordinal(workload.number)}"


def _describe_homes(workload: WorkloadReport) -> str:
    """``2 on ant-1, 1 on bee-1``; of many nodes the number."""
    if len(workload.nodes) > MOST_HOMES:
        return f"on {format_count(len(workload.nodes), 'node')}"
    return ", ".join(f"{number} on {node}" for node, number in workload.nodes.items()) or "nowhere"


def _describe_report(report: PodReport) -> str:
    """``goes to bee-1``; of a pod that runs also where, and where it would go today."""
    if not report.runs_on:
        return _describe_placement(report)
    since = f" since {report.since}" if report.since else ""
    placement = report.placement
    if placement.node == report.runs_on:
        today = "it would stay there"
    elif placement.outcome == "placed":
        today = f"it would go to {placement.node}"
    elif placement.victims:
        today = f"it would find a node only by evicting {format_count(len(placement.victims), 'other pod')}"
    else:
        today = f"it would not run: it {_describe_placement(report)}"
    return f"runs on {report.runs_on}{since}; scheduled today, {today}"


def _describe_placement(report: PodReport) -> str:
    placement = report.placement
    if placement.outcome == "placed":
        evicting = f" by evicting {format_count(len(placement.victims), 'other pod')}" if placement.victims else ""
        return f"goes to {placement.node}{evicting}"
    if placement.outcome == "preempted":
        return placement.message
    if placement.victims:
        return f"finds a node only by evicting {format_count(len(placement.victims), 'other pod')}"
    if placement.outcome in ("gated", "unclaimed", "skipped"):
        return f"is {placement.outcome}"
    if placement.outcome == "autoscaled":
        return f"needs a new node: {placement.reason}"
    near = nearest(report.nodes) if not any(node.feasible for node in report.nodes) else None
    verdict = _describe_wait(placement) if placement.outcome == "waiting" else "finds no node"
    return f"{verdict}; the nearest is {near.node}: {missing([near])}" if near else verdict


def _describe_wait(placement: Placement) -> str:
    """``gets bee-1, where it waits for 2 of 5 siblings, up to 60 s``."""
    return f"gets {placement.node}, where it {placement.reason}" if placement.node else placement.reason


def _summarize(report: PodReport) -> tuple[str, str]:
    more = f" and {len(report.alike)} more" if report.alike else ""
    return f"{report.pod}{more}", _describe_report(report)


def _pod(report: PodReport, nodes: int, everything: bool, *, with_alike: bool) -> Iterator[Block]:
    if with_alike:
        yield from _alike_blocks(report)
    yield from device_blocks((report.placement,))
    if report.comparison is not None:
        yield from _side_by_side(report.comparison, report.preemption)
    else:
        yield from _nodes(report, nodes, everything)
    yield from _evictions(report)


def _facts(report: PodReport, nodes: int, minor: str) -> Iterator[tuple[str, str]]:
    placement = report.placement
    if report.runs_on:
        yield "Runs on", f"{report.runs_on}, since {report.since}" if report.since else report.runs_on
    yield "Today" if report.runs_on else "Outcome", _outcome(placement, nodes, minor)
    yield "Priority", str(placement.priority)
    yield "Scheduler", placement.scheduler or NONE
    if report.state:
        yield "State", report.state
    if placement.origin:
        yield "Origin", placement.origin
    if placement.defaults:
        yield "Filled in", "; ".join(placement.defaults)
    if placement.message:
        yield "Message", placement.message


def _outcome(placement: Placement, nodes: int, minor: str) -> str:
    match placement.outcome:
        case "placed" if placement.victims:
            return f"fits no node as it is; {_describe_victims(placement)} evicted, and it goes there"
        case "placed" if placement.choice == "hint":
            best = "it was the next best node for the pod before, which is identical"
            return f"goes to {placement.node}, without a score: {best}"
        case "placed" if placement.score is None:
            of = format_count(nodes, "node")
            return f"goes to {placement.node}, without a score: it is the only feasible one of {of}"
        case "placed":
            best = f"the best of {format_count(placement.feasible, 'feasible node')}"
            if placement.ties > 1:
                rivals = [name for name in placement.tied if name != placement.node]
                chosen = choice_of(placement, minor) or f"one of the {placement.ties} best"
                among = f"{chosen}, of {format_count(placement.feasible, 'feasible node')}"
                best = f"tied with {format_some(rivals)}; {among}"
            looked = (
                ""
                if placement.evaluated >= nodes
                else f", after looking at {format_part(placement.evaluated, nodes, 'node')}"
            )
            return f"goes to {placement.node} with score {placement.score}, {best}{looked}"
        case "unclaimed":
            return "unclaimed: no profile of the configuration has its schedulerName"
        case "gated":
            return "gated: it does not enter the queue"
        case _ if placement.victims:
            evicted = f"{format_count(len(placement.victims), 'pod')} on {placement.victims[0].node}"
            return f"fits no node as it is; it would evict {evicted} and go there"
        case "waiting":
            return _describe_wait(placement)
        case "preempted" | "skipped" | "autoscaled":
            return placement.reason
        case _:
            return "unschedulable"


def _describe_victims(placement: Placement) -> str:
    number = len(placement.victims)
    return f"{format_count(number, 'pod')} on {placement.victims[0].node} {'is' if number == 1 else 'are'}"


def _alike_blocks(report: PodReport) -> Iterator[Block]:
    """The nodes of pods of the same workload with the same outcome."""
    if report.alike:
        homes = Counter(placement.node for placement in report.alike)
        nodes = format_some([f"{node} ({number})" if number > 1 else node for node, number in homes.items() if node])
        number = format_count(len(report.alike), "more pod")
        names = format_some([placement.pod for placement in report.alike])
        where = f", on {nodes}" if nodes else ""
        yield Lines((f"Same for {number} of the workload{where}: {names}.",))


def _nodes(report: PodReport, nodes: int, everything: bool) -> Iterator[Block]:
    if report.refusal:
        if report.placement.outcome != "gated":
            detail = (f"{report.refusal_detail}.",) if report.refusal_detail else ()
            yield Lines((f"No node was looked at: {report.refusal}", *detail))
        return
    total = nodes if len(report.nodes) == nodes else None
    yield from feasible_blocks([node for node in report.nodes if node.feasible], total, everything=everything)
    rejected = [node for node in report.nodes if not node.feasible]
    yield from rejected_blocks(rejected, total, report.preemption, everything=everything)


# --- two nodes


def _side_by_side(comparison: Comparison, preemption: PreemptionFailure) -> Iterator[Block]:
    left, right = comparison.left, comparison.right
    yield Heading(f"{left.node} VERSUS {right.node}: {comparison.verdict}")
    if left.feasible and right.feasible:
        yield _differences(left, right)
        yield from arithmetic_blocks([[left], [right]])
        return
    for node in (left, right):
        if node.feasible:
            yield Heading(f"{node.node} is feasible: rank {node.rank}, total {node.total}")
            yield score_table(node)
    yield from rejected_blocks([node for node in (left, right) if not node.feasible], None, preemption)


def _differences(left: NodeReport, right: NodeReport) -> Table:
    others = {score.plugin: score for score in right.scores}
    rows = []
    for score in left.scores:
        other = others.get(score.plugin)
        rows.append(
            (
                score.plugin,
                str(score.weight),
                f"{score.raw}/{score.normalized}/{score.weighted}",
                "-" if other is None else f"{other.raw}/{other.normalized}/{other.weighted}",
                _format_signed(score.weighted - (other.weighted if other else 0)),
            )
        )
    total = (left.total or 0) - (right.total or 0)
    rows.append(("TOTAL", "", str(left.total), str(right.total), _format_signed(total)))
    nodes = (Column(node, name=True) for node in (left.node, right.node))
    headers: tuple[Column | str, ...] = ("plugin", "weight", *nodes, "DIFFERENCE [name]")
    return table(headers, rows)


def _format_signed(number: int) -> str:
    return f"{number:+d}" if number else "0"


# --- ways out


def _evictions(report: PodReport) -> Iterator[Block]:
    placement = report.placement
    if not placement.victims:
        return
    measures = (
        *("budgets violated", "highest priority", "sum of priorities [drop 2]", "victims"),
        "earliest start [drop 1]",
    )
    rows = [
        (
            *(e.node, e.violations, e.top_priority, _format_priority_sum(e), len(e.victims), e.earliest_start or NONE),
            placement.criterion if e.chosen else "",
            e.behind,
        )
        for e in report.evictions
    ]
    headers = ("node [node]", *measures, "chosen by", "worse by")
    yield from build_table("EVICTIONS that would make room, the best first", headers, rows)
    yield Heading("VICTIMS")
    yield victim_table([(placement, victim) for victim in placement.victims])


def _format_priority_sum(eviction: Eviction) -> str:
    """``2 * 2^31 - 20``: how kube-scheduler adds up priorities."""
    number = len(eviction.victims)
    rest = eviction.sum_of_priorities - number * 2**31
    return f"{number} * 2^31" + (f" {'+' if rest > 0 else '-'} {abs(rest)}" if rest else "")


def _page_verdict(result: ExplainResult) -> str:
    parts = [format_count(len(result.pods), "pod")] if result.pods or not result.group_reports else []
    parts += [format_count(len(result.group_reports), "group")] if result.group_reports else []
    return f"{' and '.join(parts)} explained, {format_count(result.nodes, 'node')}"


VIEW = View(
    lambda result, look: explain_blocks(result, everything=look.everything),
    page=PageSpec(
        "explain",
        "Refused",
        lambda result: ("good" if result.good else "bad", _verdict(result)),
        blocks=lambda result: [
            *group_report_blocks(result.group_reports),
            *refusal_blocks(result.refusals, result.failed),
        ],
        verdict=_page_verdict,
        pods=lambda result: PodOutcomes([report.placement for report in result.pods]),
    ),
)
