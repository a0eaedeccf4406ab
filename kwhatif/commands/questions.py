"""Every question as a function: what ``kwhatif`` does on the command line, for programs.

Each answers exactly as the command of its name: with the same rules, notes and refusals, and ``to_dict()`` is what
``-o json`` prints. A pod that does not fit is an answer (``exit_code`` is 1); what cannot be understood raises
KwhatifError.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Unpack

from kwhatif.bounds import DUMP_SECONDS
from kwhatif.commands.api_options import (
    AutoscaledKeywords,
    ManifestKeywords,
    Manifests,
    Path,
    ScenarioKeywords,
    SchedulerKeywords,
    Source,
    build_scenario,
    cluster_of,
    files_of,
    paths_of,
    policy_of,
)
from kwhatif.simulation.pipeline import ask
from kwhatif.simulation.question import Question

if TYPE_CHECKING:
    from kwhatif.commands.autoscale.karpenter_result import KarpenterResult, NodesExplained, PoolsDiff
    from kwhatif.commands.autoscale.result import AutoscaleResult
    from kwhatif.commands.backtest.diff_result import BacktestDiff
    from kwhatif.commands.backtest.result import BacktestResult
    from kwhatif.commands.capacity.result import CapacityResult
    from kwhatif.commands.chances.result import ChancesResult
    from kwhatif.commands.sweep.result import SweepResult
    from kwhatif.results.diff import DecisionDiff
    from kwhatif.results.disruption import DrainResult, OutageResult, Requirement
    from kwhatif.results.expand import ExpandResult
    from kwhatif.results.explain import ExplainResult
    from kwhatif.results.gate import GateResult
    from kwhatif.results.place import PlaceResult
    from kwhatif.simulation.inputs import LiveSource


def live(
    *,
    context: str | None = None,
    kubeconfig: Path | None = None,
    as_user: str | None = None,
    as_groups: Sequence[str] = (),
    insecure_skip_tls_verify: bool = False,
    request_timeout: float = 60.0,
    timeout: float = DUMP_SECONDS,
    max_age: float = 60.0,
) -> LiveSource:
    """The cluster that kubectl would talk to, in place of a snapshot: ``place(..., snapshot=live())``.

    It is read when a question is asked, into memory, and kept for the next ones until that is ``max_age`` seconds old
    (0: read anew for each, and keep nothing). The other options are kubectl's; ``timeout`` is for reading all of it,
    in seconds. A question raises ClusterError where it cannot be read.
    """
    from kwhatif.errors import UsageError
    from kwhatif.simulation.inputs import LiveSource
    from kwhatif.snapshot.live.live_cluster import Connection

    if as_groups and as_user is None:
        raise UsageError("as_groups needs as_user: a group cannot be impersonated alone")
    connection = Connection(
        kubeconfig=None if kubeconfig is None else os.fspath(kubeconfig),
        context=context,
        user=as_user,
        groups=tuple(as_groups),
        insecure=insecure_skip_tls_verify,
        timeout=request_timeout,
        limit=timeout,
    )
    return LiveSource(connection, max_age)


def place(
    manifests: Manifests = (),
    *,
    snapshot: Source,
    with_pending: bool = False,
    timeline: bool = False,
    recreate: bool = True,
    seed: int | None = None,
    verb: str = "",
    write_snapshot: Path | None = None,
    **options: Unpack[AutoscaledKeywords],
) -> PlaceResult:
    """Where would these pods go?

    ``with_pending`` also places those that wait in the snapshot. With a ``timeline`` the queue is simulated, retries
    and all; ``recreate`` lets the controllers of victims make new pods then. Ties are broken by name, or at random
    from a ``seed``. ``verb`` is as for ``expand``. The cluster afterwards goes to the file ``write_snapshot``, to ask
    further. With ``autoscale``, pods that a node comes for count as placed.
    """
    from kwhatif.commands.place.run import Place

    write = "" if write_snapshot is None else os.fspath(write_snapshot)
    question = Place(
        with_pending=with_pending,
        timeline=timeline,
        recreate=recreate,
        seed=seed,
        write=write,
    )
    return ask(question, build_scenario(manifests, snapshot, {**options, "verb": verb}))


def explain(
    pods: Manifests = (),
    *,
    snapshot: Source,
    files: Manifests = (),
    after: Manifests = (),
    node: str = "",
    versus: str = "",
    fixes: bool = True,
    **options: Unpack[ScenarioKeywords],
) -> ExplainResult:
    """Why does a pod go where it goes, or nowhere?

    ``pods`` are manifests, or names of pods in ``files`` or in the snapshot: ``NAME``, ``NAMESPACE/NAME`` or
    ``KIND/NAME``. Manifests ``after`` which they come are placed before; a pod of theirs is explained as it was tried.
    ``node`` asks about one node alone, ``versus`` about another beside it; ``fixes`` looks for changes that would help.
    """
    from kwhatif.commands.explain.run import Explain, ExplainRun
    from kwhatif.commands.place.run import Place
    from kwhatif.simulation.explanation.explain import ExplainOptions

    looking, words, offered = ExplainOptions(node, versus, fixes), files_of(pods), files_of(files)
    namespace = options.get("namespace")
    question: Question[ExplainResult] = Explain(words, offered, namespace, explain_options=looking)
    if after:
        question = ExplainRun(Place(), words, namespace, offered, looking)
    return ask(question, build_scenario(after, snapshot, options))


def expand(
    manifests: Manifests,
    *,
    snapshot: Source = (),
    verb: str = "",
    strict: bool = False,
    **options: Unpack[ManifestKeywords],
) -> ExpandResult:
    """What pods do manifests become, and what is filled in, changed or refused on the way?

    They are sent with a ``verb``: ``create``, ``apply`` (which is server-side) or ``replace``, unsaid as ``kubectl
    apply`` sends them.
    """
    from kwhatif.commands.expand.run import Expand

    return ask(Expand(), build_scenario(manifests, snapshot, {**options, "verb": verb, "strict": strict}))


def capacity(
    manifests: Manifests,
    *,
    snapshot: Source,
    pod: bool = False,
    at_least: int = 1,
    limit: int | None = None,
    **options: Unpack[AutoscaledKeywords],
) -> CapacityResult:
    """How many more of all pods of the manifests together fit, or with ``pod`` of the pods of their one workload?

    ``limit`` ends the count; fewer than ``at_least`` make the exit code 1.
    """
    from kwhatif.commands.capacity.run import Capacity

    question = Capacity(single=pod, at_least=at_least, limit=limit)
    return ask(question, build_scenario(manifests, snapshot, options))


def autoscale(
    manifests: Manifests = (),
    *,
    snapshot: Source,
    groups: Path,
    scale_down: bool = False,
    orders: int = 6,
    provision_seconds: int | None = None,
    **options: Unpack[ScenarioKeywords],
) -> AutoscaleResult:
    """Which nodes would cluster-autoscaler add for these pods and those that wait in the snapshot, and which remove?

    ``groups`` is a NodeGroups document by its path. ``scale_down`` also looks for unneeded nodes; ``orders`` is in how
    many more orders nodes and pods are listed, to tell what is left to chance. With ``provision_seconds``, which a new
    node takes to come up, scheduler and autoscaler take turns until nothing more happens.
    """
    from kwhatif.commands.autoscale.run import Autoscale

    question = Autoscale(os.fspath(groups), scale_down=scale_down, orders=orders, provision=provision_seconds)
    return ask(question, build_scenario(manifests, snapshot, options))


def karpenter(
    manifests: Manifests = (),
    *,
    snapshot: Source,
    catalogue: Path,
    node_pools: Path | Sequence[Path] = (),
    consolidate: bool = False,
    orders: int = 6,
    **options: Unpack[ScenarioKeywords],
) -> KarpenterResult:
    """Which NodeClaims would Karpenter make for these pods and those that wait in the snapshot?

    ``catalogue`` is an InstanceTypes document; ``node_pools`` are NodePools in place of the snapshot's. With
    ``consolidate`` also: which nodes would it give back? ``orders`` is in how many more orders of Karpenter's maps is
    looked, to tell what is left to chance.
    """
    from kwhatif.commands.autoscale.run import Karpenter

    question = Karpenter(os.fspath(catalogue), paths_of(node_pools), consolidate=consolidate, orders=orders)
    return ask(question, build_scenario(manifests, snapshot, options))


def diff_node_pools(
    manifests: Manifests = (),
    *,
    snapshot: Source,
    catalogue: Path | Sequence[Path],
    node_pools: Path | Sequence[Path] = (),
    rebuild: bool = False,
    **options: Unpack[ScenarioKeywords],
) -> PoolsDiff:
    """What does Karpenter buy with other NodePools, or with another catalogue, and what does that cost?

    Of ``catalogue`` and ``node_pools`` there are one or two, for side A and B; one file of ``node_pools`` and one
    ``catalogue`` are compared with the NodePools of the snapshot. With ``rebuild``, all of Karpenter's nodes are bought
    anew.
    """
    from kwhatif.commands.autoscale.pools_diff import ComparePools

    question = ComparePools(paths_of(catalogue), paths_of(node_pools), rebuild)
    return ask(question, build_scenario(manifests, snapshot, options))


def explain_consolidation(
    nodes: str | Sequence[str],
    *,
    snapshot: Source,
    catalogue: Path,
    node_pools: Path | Sequence[Path] = (),
    **options: Unpack[SchedulerKeywords],
) -> NodesExplained:
    """Does Karpenter give these nodes back, and why, or why not? They are named."""
    from kwhatif.commands.autoscale.run import ExplainNodes

    names = [nodes] if isinstance(nodes, str) else list(nodes)
    question = ExplainNodes(names, os.fspath(catalogue), paths_of(node_pools))
    return ask(question, build_scenario((), snapshot, options))


def backtest(recording: Path, *, need: float = 0, **options: Unpack[SchedulerKeywords]) -> BacktestResult:
    """Do the decisions of a recording come out again? ``policy`` is that of the recorded scheduler.

    Less than ``need`` percent of any sort of decision makes the exit code 1.
    """
    from kwhatif.commands.backtest.run import Backtest
    from kwhatif.snapshot.load import load_recording

    recorded, start = load_recording(os.fspath(recording))
    return ask(Backtest(recorded, need), build_scenario((), start, options))


def backtest_diff(
    recording: Path, *, other: Path | Mapping[str, Any], **options: Unpack[SchedulerKeywords]
) -> BacktestDiff:
    """What would another configuration have made of a recorded day? ``policy`` is that of the recorded scheduler.

    ``other`` may name the Kubernetes whose rules hold, as in ``default@1.31``.
    """
    from kwhatif.commands.backtest.day_diff import DayDiff
    from kwhatif.snapshot.load import load_recording

    recorded, start = load_recording(os.fspath(recording))
    policy = policy_of(other)
    question = DayDiff(recorded, f"policy {policy}" if isinstance(policy, str) else "a policy of its own")
    case = build_scenario((), start, options)
    return ask(question, *question.cases(case.inputs, case.scheduler_options, policy))


def drain(
    nodes: str | Sequence[str],
    *,
    snapshot: Source,
    ignore_daemonsets: bool = False,
    delete_emptydir_data: bool = False,
    force: bool = False,
    manifests: Manifests = (),
    **options: Unpack[AutoscaledKeywords],
) -> DrainResult:
    """What would draining nodes do? They are names or label selectors, in this order; the flags are kubectl's.

    Pods of ``manifests``, and those that edits leave without a node, are placed before.
    """
    from kwhatif.commands.drain.run import Drain

    names = [nodes] if isinstance(nodes, str) else list(nodes)
    question = Drain(names, ignore_daemonsets, delete_emptydir_data, force)
    return ask(question, build_scenario(manifests, snapshot, options))


def chances(
    manifests: Manifests,
    *,
    snapshot: Source,
    trials: int = 1000,
    precision: float | None = None,
    seed: int = 0,
    max_skew: int = 1,
    topology_key: str = "topology.kubernetes.io/zone",
    workers: int | None = None,
    on: str | None = None,
    **options: Unpack[ScenarioKeywords],
) -> ChancesResult:
    """How likely is it that these pods go where they may go?

    Up to ``trials`` are made by a ``seed``; fewer if no interval reaches further than ``precision`` to either side.
    More than ``max_skew`` pods of difference over ``topology_key`` count as skewed. ``workers`` processes are asked, or
    those of a cluster of machines (``on``).
    """
    from kwhatif.commands.chances.run import Chances
    from kwhatif.fleet.executors import executor_of

    question = Chances(trials, seed, precision, max_skew, topology_key, executor_of(on, workers))
    return ask(question, build_scenario(manifests, snapshot, options))


def outage(
    failures: Sequence[str] = (),
    *,
    snapshot: Source,
    nodes: Sequence[str] = (),
    zones: Sequence[str] = (),
    pools: Sequence[str] = (),
    by: Sequence[str] = (),
    pairs: bool = False,
    most_pairs: int = 1000,
    seed: int = 0,
    unreachable: bool = False,
    survive: Sequence[str] = (),
    require: Sequence[Requirement] = ("back",),
    manifests: Manifests = (),
    workers: int | None = None,
    on: str | None = None,
    **options: Unpack[ScenarioKeywords],
) -> OutageResult:
    """What happens when nodes, zones or pools are gone? ``failures`` are words for each: ``nodes``, ``zones``...

    Without words each of the three is asked about, unless ``nodes`` (names or selectors), ``zones``, ``pools``, the
    values of labels (``by``) or ``pairs`` of nodes are named. Kinds in ``survive`` must be survived, which takes what
    is in ``require``. ``workers`` processes are asked, or those of a cluster of machines (``on``). Pods of
    ``manifests``, and those that edits leave without a node, are placed before.
    """
    from kwhatif.commands.outage.failures import FailureSelection
    from kwhatif.commands.outage.run import Outage
    from kwhatif.fleet.executors import executor_of

    wanted = FailureSelection(
        each=tuple(failures),
        nodes=tuple(nodes),
        zones=tuple(zones),
        pools=tuple(pools),
        by=tuple(by),
        pairs=pairs,
        most_pairs=most_pairs,
        seed=seed,
    )
    question = Outage(wanted, tuple(survive), tuple(require), unreachable, executor_of(on, workers))
    return ask(question, build_scenario(manifests, snapshot, options))


def diff(
    manifests: Manifests = (),
    *,
    snapshot: Source,
    snapshot_b: Source | None = None,
    policy_b: Path | Mapping[str, Any] | None = None,
    old: Manifests = (),
    new: Manifests = (),
    replay: Sequence[str] = (),
    **options: Unpack[AutoscaledKeywords],
) -> DecisionDiff:
    """What would change with another policy, version, cluster or manifests?

    ``snapshot_b`` and ``policy_b`` are what side B has instead; a policy may name the Kubernetes whose rules hold, as
    in ``default@1.31``. ``old`` are manifests of side A alone, ``new`` of side B.
    ``replay`` schedules pods of the snapshot, too: ``pending``, those of a ``namespace=NAME``, or ``all``.
    """
    from kwhatif.commands.diff.run import Diff

    policies = [] if policy_b is None and "policy" not in options else [options.get("policy")]
    policies += [] if policy_b is None else [policy_b]
    question = Diff(
        [cluster_of(each) for each in (snapshot, snapshot_b) if each is not None],
        [policy_of(policy) for policy in policies],
        files_of(manifests),
        files_of(old),
        files_of(new),
        [replay] if isinstance(replay, str) else replay,
    )
    common = build_scenario((), (), options)
    return ask(question, *question.cases(common.inputs, common.scheduler_options))


def sweep(
    manifests: Manifests = (),
    *,
    space: Path | Mapping[str, Any],
    snapshot: Source,
    other_snapshots: Sequence[Source] = (),
    replay: Sequence[str] = (),
    objectives: Mapping[str, float] | None = None,
    search: int = 0,
    seed: int | None = None,
    probe: Manifests = (),
    prices: Path | None = None,
    write: Path | None = None,
    workers: int | None = None,
    on: str | None = None,
    out: Path | None = None,
    resume: bool = False,
    **options: Unpack[ScenarioKeywords],
) -> SweepResult:
    """Which scheduler policy is best for these pods?

    ``space`` is a SweepSpace document, as a file or as plain values; every policy is tried on each of the snapshots.
    ``objectives`` are measures with their weights, ``search`` so many policies more are tried around the best. The
    ``probe`` is a manifest with one pod, of which room is measured. ``write`` is a file for the best policy.
    ``workers`` processes ask, or workers ``on`` a cluster (``dask://HOST:PORT``, ``ray``, ``ray://HOST:PORT``); rows go
    to the file ``out``, and are taken over from there to ``resume``.
    """
    from kwhatif.commands.sweep.measures import read_prices
    from kwhatif.commands.sweep.run import Sweep
    from kwhatif.commands.sweep.space_document import read_space
    from kwhatif.fleet.executors import executor_of
    from kwhatif.fleet.rows_file import RowsFile

    question = Sweep(
        space=read_space(space if isinstance(space, Mapping) else os.fspath(space)),
        snapshots=[cluster_of(each) for each in (snapshot, *other_snapshots)],
        files=files_of(manifests),
        replayed=[replay] if isinstance(replay, str) else replay,
        seed=seed,
        search=search,
        objectives=[f"{name}={weight}" for name, weight in (objectives or {}).items()],
        probe=files_of(probe),
        prices=None if prices is None else read_prices(os.fspath(prices)),
        write="" if write is None else os.fspath(write),
        executor=executor_of(on, workers),
        rows=None if out is None else RowsFile(os.fspath(out), resume=resume),
    )
    common = build_scenario((), (), options)
    return ask(question, *question.cases(common.inputs, common.scheduler_options))


def gate(
    manifests: Manifests,
    *,
    snapshot: Source = (),
    base: Manifests | None = None,
    config: Path | None = None,
    levels: Mapping[str, str] | None = None,
    exemptions: bool = True,
    recursive: bool = True,
    with_pending: bool = False,
    now: datetime | None = None,
    seed: int | None = None,
    verb: str = "",
    **options: Unpack[AutoscaledKeywords],
) -> GateResult:
    """May this change go into the cluster? Rules look at what comes of it.

    ``base`` are the manifests as they were; without, everything is judged. The rules are those of the GatePolicy
    ``config``, unsaid of the nearest ``.kwhatif.yaml``, each at its level or at that of ``levels``: ``error``, ``warn``
    or ``off``. ``now`` tells the age of the snapshot, ``verb`` is as for ``expand``.
    """
    from kwhatif.commands.gate.run import Gate

    question = Gate(
        base=None if base is None else files_of(base),
        config=None if config is None else os.fspath(config),
        rule=[f"{name}={level}" for name, level in (levels or {}).items()],
        exemptions=exemptions,
        recursive=recursive,
        with_pending=with_pending,
        seed=seed,
    )
    case = build_scenario(manifests, snapshot, {**options, "verb": verb}, now)
    return ask(question, question.case(case.inputs, case.scheduler_options))
