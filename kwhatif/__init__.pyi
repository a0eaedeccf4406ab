"""Made of the classes of commands by ``python -m kwhatif.commands.stub kwhatif/__init__.pyi``."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from kwhatif.commands.functions import ClusterSource, Manifests, Path
from kwhatif.commands.autoscale.karpenter_result import KarpenterResult as KarpenterResult
from kwhatif.commands.autoscale.karpenter_result import NodesExplained as NodesExplained
from kwhatif.commands.autoscale.karpenter_result import PoolsDiff as PoolsDiff
from kwhatif.commands.autoscale.result import AutoscaleResult as AutoscaleResult
from kwhatif.commands.backtest.queue_day_result import QueueDayDiff as QueueDayDiff
from kwhatif.commands.backtest.result import BacktestDiff as BacktestDiff
from kwhatif.commands.backtest.result import BacktestResult as BacktestResult
from kwhatif.commands.capacity.result import CapacityResult as CapacityResult
from kwhatif.commands.chances.result import ChancesResult as ChancesResult
from kwhatif.commands.conformance.result import ConformanceResult as ConformanceResult
from kwhatif.commands.deschedule.result import DescheduleDiff as DescheduleDiff
from kwhatif.commands.deschedule.result import DescheduleExplained as DescheduleExplained
from kwhatif.commands.deschedule.result import DescheduleResult as DescheduleResult
from kwhatif.commands.live_cluster import live as live
from kwhatif.commands.policy.validate.result import PolicyCheck as PolicyCheck
from kwhatif.commands.queue.result import QueueResult as QueueResult
from kwhatif.commands.review.result import ReviewResult as ReviewResult
from kwhatif.commands.rightsize.result import RightsizeResult as RightsizeResult
from kwhatif.commands.snapshot.diff.result import DiffResult as DiffResult
from kwhatif.commands.snapshot.info.result import InfoResult as InfoResult
from kwhatif.commands.snapshot.trim.result import TrimResult as TrimResult
from kwhatif.commands.sweep.result import SweepResult as SweepResult
from kwhatif.commands.upgrade.result import UpgradeResult as UpgradeResult
from kwhatif.errors import KwhatifError as KwhatifError
from kwhatif.framework.interface import Plugin as Plugin
from kwhatif.results.diff import DecisionDiff as DecisionDiff
from kwhatif.results.disruption import DrainResult as DrainResult
from kwhatif.results.disruption import OutageResult as OutageResult
from kwhatif.results.expand import ExpandResult as ExpandResult
from kwhatif.results.explain import ExplainResult as ExplainResult
from kwhatif.results.gate import GateResult as GateResult
from kwhatif.results.place import PlaceResult as PlaceResult
from kwhatif.results.printed import Printed as Printed
from kwhatif.results.snapshot_check import CheckResult as CheckResult
from kwhatif.snapshot.format.model import Snapshot as Snapshot
from kwhatif.snapshot.load import load_snapshot as load_snapshot

__version__: str
__all__: list[str]

def autoscale(
    manifests: Manifests = (),
    *,
    snapshot: ClusterSource,
    orders: int = 6,
    groups: Path = '',
    scale_down: bool = False,
    until_quiet: bool = False,
    provision_seconds: float = 120.0,
    now: datetime | None = None,
    pod_template_paths: str | Sequence[str] | None = None,
    admission_plugins: str | Sequence[str] | None = None,
    ignore_unknown: bool = False,
    max_pods: int = 200000,
    api_resources: Path = '',
    exclude: str | Sequence[str] | None = None,
    variables: Mapping[str, str] | Sequence[str] | None = None,
    render: Literal['never', 'auto', 'always'] | None = None,
    charts: Path | Sequence[Path] | None = None,
    clusters: Path | Sequence[Path] | None = None,
    policy: Path | Mapping[str, Any] | None = None,
    kubernetes_version: str | None = None,
    assume_empty: bool = False,
    feature_gates: Mapping[str, bool] | Sequence[str] | None = None,
    all_nodes: bool = False,
    plugins: Any | Sequence[Any] | None = None,
    skip_unknown_plugins: bool = False,
    call_extenders: bool = False,
    load: Path = '',
    kueue_config: Path = '',
    strict: bool = False,
    recursive: bool = False,
    namespace: str = 'default',
    edits: Manifests = (),
) -> AutoscaleResult:
    """Which nodes would cluster-autoscaler add for these pods and those that wait in the snapshot, and which remove?"""

def autoscale_catalogue(
    *,
    snapshot: ClusterSource = (),
    kwok: str = '',
    types: str = '',
    offerings: str = '',
    spot: str = '',
    prices: str = '',
    azure: str = '',
    gcp: str = '',
    spot_prices: str = '',
    node_class: str = '',
) -> Printed:
    """Print a catalogue of instance types, as an InstanceTypes document to be completed and kept.

    It is made from what a snapshot shows, from the catalogue of Karpenter's KWOK provider, or from what the client of
    AWS, Azure or Google Cloud prints; no cloud is asked. What is missing or guessed is said in the document, and in
    each answer."""

def autoscale_groups(
    *,
    snapshot: ClusterSource,
) -> Printed:
    """Print the node groups that a snapshot shows, as a NodeGroups document to be completed and kept.

    They are found in the autoscaler's status and its own Deployment, in the annotations of Cluster API, and by the
    labels that clouds put on nodes. Each says where it was found; labels tell no sizes, so that maxima have to be
    filled in where nothing else is known."""

def backtest(
    recording: Path,
    *,
    need: float = 0,
    last: int = 100,
    policy: Path | Mapping[str, Any] | None = None,
    kubernetes_version: str | None = None,
    assume_empty: bool = False,
    feature_gates: Mapping[str, bool] | Sequence[str] | None = None,
    all_nodes: bool = False,
    plugins: Any | Sequence[Any] | None = None,
    skip_unknown_plugins: bool = False,
    call_extenders: bool = False,
    load: Path = '',
    kueue_config: Path = '',
    strict: bool = False,
) -> BacktestResult:
    """Decide again for each pod that a recording shows bound, refused or preempting, and compare.

    Of a snapshot, the pods that were bound last are taken off their nodes and scheduled again, the newest first."""

def backtest_diff(
    recording: Path,
    *,
    other: Path | Mapping[str, Any] | None = None,
    policy: Path | Mapping[str, Any] | None = None,
    kubernetes_version: str | None = None,
    assume_empty: bool = False,
    feature_gates: Mapping[str, bool] | Sequence[str] | None = None,
    all_nodes: bool = False,
    plugins: Any | Sequence[Any] | None = None,
    skip_unknown_plugins: bool = False,
    call_extenders: bool = False,
    load: Path = '',
    kueue_config: Path = '',
    strict: bool = False,
) -> BacktestDiff:
    """What would another configuration have made of a recorded day? It is simulated twice, with the recorded
    scheduler's and with the other one."""

def backtest_queues(
    recording: Path,
    *,
    queues: Manifests = (),
    policy: Path | Mapping[str, Any] | None = None,
    kubernetes_version: str | None = None,
    assume_empty: bool = False,
    feature_gates: Mapping[str, bool] | Sequence[str] | None = None,
    all_nodes: bool = False,
    plugins: Any | Sequence[Any] | None = None,
    skip_unknown_plugins: bool = False,
    call_extenders: bool = False,
    load: Path = '',
    kueue_config: Path = '',
    strict: bool = False,
) -> QueueDayDiff:
    """What would other objects of Kueue have made of a recorded day? Its workloads come twice, to the recorded queues
    and to the other ones."""

def capacity(
    manifests: Manifests,
    *,
    snapshot: ClusterSource,
    pod: bool = False,
    at_least: int = 1,
    limit: int | None = None,
    now: datetime | None = None,
    pod_template_paths: str | Sequence[str] | None = None,
    admission_plugins: str | Sequence[str] | None = None,
    ignore_unknown: bool = False,
    max_pods: int = 200000,
    api_resources: Path = '',
    exclude: str | Sequence[str] | None = None,
    variables: Mapping[str, str] | Sequence[str] | None = None,
    render: Literal['never', 'auto', 'always'] | None = None,
    charts: Path | Sequence[Path] | None = None,
    clusters: Path | Sequence[Path] | None = None,
    at: str | None = None,
    policy: Path | Mapping[str, Any] | None = None,
    kubernetes_version: str | None = None,
    assume_empty: bool = False,
    feature_gates: Mapping[str, bool] | Sequence[str] | None = None,
    all_nodes: bool = False,
    plugins: Any | Sequence[Any] | None = None,
    skip_unknown_plugins: bool = False,
    call_extenders: bool = False,
    load: Path = '',
    kueue_config: Path = '',
    strict: bool = False,
    recursive: bool = False,
    namespace: str = 'default',
    autoscale: Path | Sequence[Path] = (),
    provision_seconds: float = 120.0,
    edits: Manifests = (),
) -> CapacityResult:
    """Count how many more copies of a pod, or of a release, fit: per node, in total, and what limits them.

    A copy is all pods of the manifests together; with pod, one pod of the workload. No pod is evicted for it."""

def chances(
    manifests: Manifests = (),
    *,
    snapshot: ClusterSource,
    workers: int | None = None,
    on: str | None = None,
    out: Path | None = None,
    resume: bool = False,
    trials: int | None = None,
    precision: float | None = None,
    seed: int = 0,
    max_skew: int = 1,
    topology_key: str = 'topology.kubernetes.io/zone',
    now: datetime | None = None,
    pod_template_paths: str | Sequence[str] | None = None,
    admission_plugins: str | Sequence[str] | None = None,
    ignore_unknown: bool = False,
    max_pods: int = 200000,
    api_resources: Path = '',
    exclude: str | Sequence[str] | None = None,
    variables: Mapping[str, str] | Sequence[str] | None = None,
    render: Literal['never', 'auto', 'always'] | None = None,
    charts: Path | Sequence[Path] | None = None,
    clusters: Path | Sequence[Path] | None = None,
    policy: Path | Mapping[str, Any] | None = None,
    kubernetes_version: str | None = None,
    assume_empty: bool = False,
    feature_gates: Mapping[str, bool] | Sequence[str] | None = None,
    all_nodes: bool = False,
    plugins: Any | Sequence[Any] | None = None,
    skip_unknown_plugins: bool = False,
    call_extenders: bool = False,
    load: Path = '',
    kueue_config: Path = '',
    strict: bool = False,
    recursive: bool = False,
    namespace: str = 'default',
    autoscale: Path | Sequence[Path] = (),
    provision_seconds: float = 120.0,
    edits: Manifests = (),
) -> ChancesResult:
    """Place pods many times, each time leaving to chance what kube-scheduler leaves to it, and count what happens.

    That is which of several best nodes is taken, in what order the pods of several workloads arrive, and, above 100
    nodes, where a search for nodes begins and which of them its workers find."""

def completion(
    shell: Literal['bash', 'zsh', 'fish', 'powershell'],
) -> Printed:
    """Print the script that completes words in a shell: source <(kwhatif completion bash).

    It completes commands, options, and names of the snapshot's nodes, pods and workloads.

    Exit codes: 0 good, 2 usage error."""

def conformance(
    files: Path | Sequence[Path],
    *,
    answers: Path | None = None,
    show: int = 5,
    kubernetes_version: str | None = None,
    feature_gates: Mapping[str, bool] | Sequence[str] | None = None,
    plugins: Any | Sequence[Any] | None = None,
    skip_unknown_plugins: bool = False,
) -> ConformanceResult:
    """Replay scenarios, and compare the answers with what a real kube-scheduler was recorded to do.

    Scenarios with nodeGroups are of cluster-autoscaler, those with nodePools of Karpenter, those with a
    DeschedulerPolicy of the descheduler, and those with Kueue's Configuration of Kueue."""

def demo(
    directory: str = 'samples',
) -> Printed:
    """Copy the sample clusters, manifests and policies that the examples of help name, and say what to try.

    The examples run as they are printed beside a directory called samples.

    Exit codes: 0 good, 2 usage error."""

def deschedule(
    descheduler_policy: Path | Mapping[str, Any] = '',
    *,
    snapshot: ClusterSource,
    cycles: int = 1,
    until_quiet: bool = False,
    interval_seconds: float = 300.0,
    metrics: Path | Sequence[Path] = (),
    dry_run: bool = False,
    now: datetime | None = None,
    pod_template_paths: str | Sequence[str] | None = None,
    admission_plugins: str | Sequence[str] | None = None,
    ignore_unknown: bool = False,
    max_pods: int = 200000,
    api_resources: Path = '',
    exclude: str | Sequence[str] | None = None,
    variables: Mapping[str, str] | Sequence[str] | None = None,
    render: Literal['never', 'auto', 'always'] | None = None,
    charts: Path | Sequence[Path] | None = None,
    clusters: Path | Sequence[Path] | None = None,
    policy: Path | Mapping[str, Any] | None = None,
    kubernetes_version: str | None = None,
    assume_empty: bool = False,
    feature_gates: Mapping[str, bool] | Sequence[str] | None = None,
    all_nodes: bool = False,
    plugins: Any | Sequence[Any] | None = None,
    skip_unknown_plugins: bool = False,
    call_extenders: bool = False,
    load: Path = '',
    kueue_config: Path = '',
    strict: bool = False,
    autoscale: Path | Sequence[Path] = (),
    provision_seconds: float = 120.0,
    edits: Manifests = (),
) -> DescheduleResult:
    """Run the descheduler's next cycle as release 0.35 does, and follow the pods that it evicts.

    Controllers recreate evicted pods, and the scheduler places them. The answer says whether they find a node, whether
    nodes are in better balance, and whether the next cycle evicts the same pods again."""

def diff(
    manifests: Manifests = (),
    *,
    snapshot: ClusterSource,
    snapshot_b: ClusterSource = (),
    policy: Any | Sequence[Any] = (),
    old: Manifests = (),
    new: Manifests = (),
    replay: str | Sequence[str] = (),
    now: datetime | None = None,
    pod_template_paths: str | Sequence[str] | None = None,
    admission_plugins: str | Sequence[str] | None = None,
    ignore_unknown: bool = False,
    max_pods: int = 200000,
    api_resources: Path = '',
    exclude: str | Sequence[str] | None = None,
    variables: Mapping[str, str] | Sequence[str] | None = None,
    render: Literal['never', 'auto', 'always'] | None = None,
    charts: Path | Sequence[Path] | None = None,
    clusters: Path | Sequence[Path] | None = None,
    kubernetes_version: str | None = None,
    assume_empty: bool = False,
    feature_gates: Mapping[str, bool] | Sequence[str] | None = None,
    all_nodes: bool = False,
    plugins: Any | Sequence[Any] | None = None,
    skip_unknown_plugins: bool = False,
    load: Path = '',
    kueue_config: Path = '',
    strict: bool = False,
    recursive: bool = False,
    namespace: str = 'default',
    autoscale: Path | Sequence[Path] = (),
    provision_seconds: float = 120.0,
    edits: Manifests = (),
) -> DecisionDiff:
    """Compare the decisions of two policies, Kubernetes versions, clusters or sets of manifests.

    Each side places the pods that 'kwhatif place' does. Of equally good nodes both sides take the same one: a
    tie is no difference."""

def diff_descheduling(
    *,
    snapshot: ClusterSource,
    deschedule: Path | Sequence[Path] = (),
    metrics: Path | Sequence[Path] = (),
    now: datetime | None = None,
    pod_template_paths: str | Sequence[str] | None = None,
    admission_plugins: str | Sequence[str] | None = None,
    ignore_unknown: bool = False,
    max_pods: int = 200000,
    api_resources: Path = '',
    exclude: str | Sequence[str] | None = None,
    variables: Mapping[str, str] | Sequence[str] | None = None,
    render: Literal['never', 'auto', 'always'] | None = None,
    charts: Path | Sequence[Path] | None = None,
    clusters: Path | Sequence[Path] | None = None,
    policy: Path | Mapping[str, Any] | None = None,
    kubernetes_version: str | None = None,
    assume_empty: bool = False,
    feature_gates: Mapping[str, bool] | Sequence[str] | None = None,
    all_nodes: bool = False,
    plugins: Any | Sequence[Any] | None = None,
    skip_unknown_plugins: bool = False,
    call_extenders: bool = False,
    load: Path = '',
    kueue_config: Path = '',
    strict: bool = False,
    recursive: bool = False,
    namespace: str = 'default',
    edits: Manifests = (),
) -> DescheduleDiff:
    """Both policies of ``deschedule`` run on the same cluster, each until no pod is evicted or a state comes back."""

def diff_node_pools(
    manifests: Manifests = (),
    *,
    snapshot: ClusterSource,
    node_pools: Path | Sequence[Path] = (),
    catalogue: Path | Sequence[Path] = (),
    rebuild: bool = False,
    now: datetime | None = None,
    pod_template_paths: str | Sequence[str] | None = None,
    admission_plugins: str | Sequence[str] | None = None,
    ignore_unknown: bool = False,
    max_pods: int = 200000,
    api_resources: Path = '',
    exclude: str | Sequence[str] | None = None,
    variables: Mapping[str, str] | Sequence[str] | None = None,
    render: Literal['never', 'auto', 'always'] | None = None,
    charts: Path | Sequence[Path] | None = None,
    clusters: Path | Sequence[Path] | None = None,
    policy: Path | Mapping[str, Any] | None = None,
    kubernetes_version: str | None = None,
    assume_empty: bool = False,
    feature_gates: Mapping[str, bool] | Sequence[str] | None = None,
    all_nodes: bool = False,
    plugins: Any | Sequence[Any] | None = None,
    skip_unknown_plugins: bool = False,
    call_extenders: bool = False,
    load: Path = '',
    kueue_config: Path = '',
    strict: bool = False,
    recursive: bool = False,
    namespace: str = 'default',
    edits: Manifests = (),
) -> PoolsDiff:
    """What does Karpenter do with other NodePools, or with another catalogue?

    Of files of ``node_pools`` and of each ``catalogue`` there are one or two. Where neither is there twice, one file of
    NodePools is compared with those of the snapshot. With ``rebuild`` it is as if none of Karpenter's nodes were there:
    their pods wait, and all machines are bought anew."""

def drain(
    nodes: str | Sequence[str] = (),
    *,
    snapshot: ClusterSource,
    selector: str = '',
    manifests: Manifests = (),
    ignore_daemonsets: bool = False,
    delete_emptydir_data: bool = False,
    force: bool = False,
    one_by_one: bool = False,
    write_snapshot: Path = '',
    now: datetime | None = None,
    pod_template_paths: str | Sequence[str] | None = None,
    admission_plugins: str | Sequence[str] | None = None,
    ignore_unknown: bool = False,
    max_pods: int = 200000,
    api_resources: Path = '',
    exclude: str | Sequence[str] | None = None,
    variables: Mapping[str, str] | Sequence[str] | None = None,
    render: Literal['never', 'auto', 'always'] | None = None,
    charts: Path | Sequence[Path] | None = None,
    clusters: Path | Sequence[Path] | None = None,
    policy: Path | Mapping[str, Any] | None = None,
    kubernetes_version: str | None = None,
    assume_empty: bool = False,
    feature_gates: Mapping[str, bool] | Sequence[str] | None = None,
    all_nodes: bool = False,
    plugins: Any | Sequence[Any] | None = None,
    skip_unknown_plugins: bool = False,
    call_extenders: bool = False,
    load: Path = '',
    kueue_config: Path = '',
    strict: bool = False,
    recursive: bool = False,
    namespace: str = 'default',
    autoscale: Path | Sequence[Path] = (),
    provision_seconds: float = 120.0,
    edits: Manifests = (),
) -> DrainResult:
    """Drain nodes as kubectl does: cordon them, then evict their pods as far as disruption budgets allow.

    Recreated pods are placed at once, and assumed to become ready where they land; then budgets allow more. Pods of
    manifests, and those that what-if edits leave without a node, are placed before."""

def expand(
    manifests: Manifests,
    *,
    snapshot: ClusterSource = (),
    now: datetime | None = None,
    pod_template_paths: str | Sequence[str] | None = None,
    admission_plugins: str | Sequence[str] | None = None,
    ignore_unknown: bool = False,
    max_pods: int = 200000,
    api_resources: Path = '',
    exclude: str | Sequence[str] | None = None,
    variables: Mapping[str, str] | Sequence[str] | None = None,
    render: Literal['never', 'auto', 'always'] | None = None,
    charts: Path | Sequence[Path] | None = None,
    clusters: Path | Sequence[Path] | None = None,
    verb: Literal['create', 'apply', 'replace'] | None = None,
    kueue_config: Path = '',
    strict: bool = False,
    recursive: bool = False,
    namespace: str = 'default',
    edits: Manifests = (),
) -> ExpandResult:
    """Show the pods that come of manifests, and all that was filled in, changed or refused on the way."""

def explain(
    pods: Manifests = (),
    *,
    snapshot: ClusterSource,
    files: Manifests = (),
    namespace: str | None = None,
    node: str = '',
    versus: str = '',
    fixes: bool = True,
    after: Manifests = (),
    recursive: bool = False,
    now: datetime | None = None,
    pod_template_paths: str | Sequence[str] | None = None,
    admission_plugins: str | Sequence[str] | None = None,
    ignore_unknown: bool = False,
    max_pods: int = 200000,
    api_resources: Path = '',
    exclude: str | Sequence[str] | None = None,
    variables: Mapping[str, str] | Sequence[str] | None = None,
    render: Literal['never', 'auto', 'always'] | None = None,
    charts: Path | Sequence[Path] | None = None,
    clusters: Path | Sequence[Path] | None = None,
    policy: Path | Mapping[str, Any] | None = None,
    kubernetes_version: str | None = None,
    assume_empty: bool = False,
    feature_gates: Mapping[str, bool] | Sequence[str] | None = None,
    all_nodes: bool = False,
    plugins: Any | Sequence[Any] | None = None,
    skip_unknown_plugins: bool = False,
    call_extenders: bool = False,
    load: Path = '',
    kueue_config: Path = '',
    strict: bool = False,
    autoscale: Path | Sequence[Path] = (),
    provision_seconds: float = 120.0,
    edits: Manifests = (),
) -> ExplainResult:
    """Show every node's verdict on a pod, the scores, the evictions, and the smallest changes that would help.

    Each pod is explained by itself, one that runs as if it were to be scheduled today. With autoscale, pods that wait
    are placed together."""

def explain_consolidation(
    nodes: str | Sequence[str],
    *,
    snapshot: ClusterSource,
    catalogue: Path = '',
    node_pools: Path | Sequence[Path] = (),
    now: datetime | None = None,
    pod_template_paths: str | Sequence[str] | None = None,
    admission_plugins: str | Sequence[str] | None = None,
    ignore_unknown: bool = False,
    max_pods: int = 200000,
    api_resources: Path = '',
    exclude: str | Sequence[str] | None = None,
    variables: Mapping[str, str] | Sequence[str] | None = None,
    render: Literal['never', 'auto', 'always'] | None = None,
    charts: Path | Sequence[Path] | None = None,
    clusters: Path | Sequence[Path] | None = None,
    policy: Path | Mapping[str, Any] | None = None,
    kubernetes_version: str | None = None,
    assume_empty: bool = False,
    feature_gates: Mapping[str, bool] | Sequence[str] | None = None,
    all_nodes: bool = False,
    plugins: Any | Sequence[Any] | None = None,
    skip_unknown_plugins: bool = False,
    call_extenders: bool = False,
    load: Path = '',
    kueue_config: Path = '',
    strict: bool = False,
    recursive: bool = False,
    namespace: str = 'default',
    edits: Manifests = (),
) -> NodesExplained:
    """Does Karpenter give these nodes back, and why, or why not? They are named."""

def explain_descheduling(
    words: str | Sequence[str] = (),
    *,
    snapshot: ClusterSource,
    deschedule: Path | Mapping[str, Any] = '',
    metrics: Path | Sequence[Path] = (),
    now: datetime | None = None,
    pod_template_paths: str | Sequence[str] | None = None,
    admission_plugins: str | Sequence[str] | None = None,
    ignore_unknown: bool = False,
    max_pods: int = 200000,
    api_resources: Path = '',
    exclude: str | Sequence[str] | None = None,
    variables: Mapping[str, str] | Sequence[str] | None = None,
    render: Literal['never', 'auto', 'always'] | None = None,
    charts: Path | Sequence[Path] | None = None,
    clusters: Path | Sequence[Path] | None = None,
    policy: Path | Mapping[str, Any] | None = None,
    kubernetes_version: str | None = None,
    assume_empty: bool = False,
    feature_gates: Mapping[str, bool] | Sequence[str] | None = None,
    all_nodes: bool = False,
    plugins: Any | Sequence[Any] | None = None,
    skip_unknown_plugins: bool = False,
    call_extenders: bool = False,
    load: Path = '',
    kueue_config: Path = '',
    strict: bool = False,
    recursive: bool = False,
    namespace: str = 'default',
    edits: Manifests = (),
) -> DescheduleExplained:
    """Why does a descheduler evict these pods, or leave them? ``words`` are names of pods or label selectors."""

def gate(
    manifests: Manifests = (),
    *,
    snapshot: ClusterSource = (),
    base: Manifests | None = None,
    config: Path | None = None,
    accept: str | Sequence[str] = (),
    recursive: bool = True,
    with_pending: bool = False,
    levels: Mapping[str, str] | Sequence[str] = (),
    exemptions: bool = True,
    seed: int | None = None,
    now: datetime | None = None,
    pod_template_paths: str | Sequence[str] | None = None,
    admission_plugins: str | Sequence[str] | None = None,
    ignore_unknown: bool = False,
    max_pods: int = 200000,
    api_resources: Path = '',
    exclude: str | Sequence[str] | None = None,
    variables: Mapping[str, str] | Sequence[str] | None = None,
    render: Literal['never', 'auto', 'always'] | None = None,
    charts: Path | Sequence[Path] | None = None,
    clusters: Path | Sequence[Path] | None = None,
    verb: Literal['create', 'apply', 'replace'] | None = None,
    at: str | None = None,
    policy: Path | Mapping[str, Any] | None = None,
    kubernetes_version: str | None = None,
    assume_empty: bool = False,
    feature_gates: Mapping[str, bool] | Sequence[str] | None = None,
    all_nodes: bool = False,
    plugins: Any | Sequence[Any] | None = None,
    skip_unknown_plugins: bool = False,
    call_extenders: bool = False,
    load: Path = '',
    kueue_config: Path = '',
    strict: bool = False,
    namespace: str = 'default',
    autoscale: Path | Sequence[Path] = (),
    provision_seconds: float = 120.0,
    edits: Manifests = (),
) -> GateResult:
    """Judge a change before it is merged: roll it out on paper, and check the result against rules.

    Options count more than KWHATIF_* variables, and those more than the rules file. KWHATIF_POLICY stands for policy."""

def karpenter(
    manifests: Manifests = (),
    *,
    snapshot: ClusterSource,
    orders: int = 6,
    catalogue: Path = '',
    node_pools: Path | Sequence[Path] = (),
    consolidate: bool = False,
    now: datetime | None = None,
    pod_template_paths: str | Sequence[str] | None = None,
    admission_plugins: str | Sequence[str] | None = None,
    ignore_unknown: bool = False,
    max_pods: int = 200000,
    api_resources: Path = '',
    exclude: str | Sequence[str] | None = None,
    variables: Mapping[str, str] | Sequence[str] | None = None,
    render: Literal['never', 'auto', 'always'] | None = None,
    charts: Path | Sequence[Path] | None = None,
    clusters: Path | Sequence[Path] | None = None,
    policy: Path | Mapping[str, Any] | None = None,
    kubernetes_version: str | None = None,
    assume_empty: bool = False,
    feature_gates: Mapping[str, bool] | Sequence[str] | None = None,
    all_nodes: bool = False,
    plugins: Any | Sequence[Any] | None = None,
    skip_unknown_plugins: bool = False,
    call_extenders: bool = False,
    load: Path = '',
    kueue_config: Path = '',
    strict: bool = False,
    recursive: bool = False,
    namespace: str = 'default',
    edits: Manifests = (),
) -> KarpenterResult:
    """Which NodeClaims would Karpenter make for these pods and those that wait in the snapshot?"""

def outage(
    failures: str | Sequence[str] = (),
    *,
    snapshot: ClusterSource,
    workers: int | None = None,
    on: str | None = None,
    out: Path | None = None,
    resume: bool = False,
    nodes: str | Sequence[str] = (),
    zones: str | Sequence[str] = (),
    pools: str | Sequence[str] = (),
    by: str | Sequence[str] = (),
    pairs: bool = False,
    most_pairs: int = 1000,
    seed: int = 0,
    manifests: Manifests = (),
    unreachable: bool = False,
    survive: str | Sequence[str] = (),
    require: Literal['back', 'replicas', 'quorum', 'budgets'] | Sequence[Literal['back', 'replicas', 'quorum', 'budgets']] = ('back',),
    now: datetime | None = None,
    pod_template_paths: str | Sequence[str] | None = None,
    admission_plugins: str | Sequence[str] | None = None,
    ignore_unknown: bool = False,
    max_pods: int = 200000,
    api_resources: Path = '',
    exclude: str | Sequence[str] | None = None,
    variables: Mapping[str, str] | Sequence[str] | None = None,
    render: Literal['never', 'auto', 'always'] | None = None,
    charts: Path | Sequence[Path] | None = None,
    clusters: Path | Sequence[Path] | None = None,
    policy: Path | Mapping[str, Any] | None = None,
    kubernetes_version: str | None = None,
    assume_empty: bool = False,
    feature_gates: Mapping[str, bool] | Sequence[str] | None = None,
    all_nodes: bool = False,
    plugins: Any | Sequence[Any] | None = None,
    skip_unknown_plugins: bool = False,
    call_extenders: bool = False,
    load: Path = '',
    kueue_config: Path = '',
    strict: bool = False,
    recursive: bool = False,
    namespace: str = 'default',
    autoscale: Path | Sequence[Path] = (),
    provision_seconds: float = 120.0,
    edits: Manifests = (),
) -> OutageResult:
    """Remove nodes, zones or pools, one after the other, and show what becomes of their pods.

    Nodes fail at once: they are not drained, and disruption budgets do not apply. Controllers recreate the pods, which
    look for other nodes and may evict others."""

def place(
    manifests: Manifests = (),
    *,
    snapshot: ClusterSource,
    with_pending: bool = False,
    timeline: bool = False,
    recreate: bool = True,
    write_snapshot: Path = '',
    seed: int | None = None,
    now: datetime | None = None,
    pod_template_paths: str | Sequence[str] | None = None,
    admission_plugins: str | Sequence[str] | None = None,
    ignore_unknown: bool = False,
    max_pods: int = 200000,
    api_resources: Path = '',
    exclude: str | Sequence[str] | None = None,
    variables: Mapping[str, str] | Sequence[str] | None = None,
    render: Literal['never', 'auto', 'always'] | None = None,
    charts: Path | Sequence[Path] | None = None,
    clusters: Path | Sequence[Path] | None = None,
    verb: Literal['create', 'apply', 'replace'] | None = None,
    at: str | None = None,
    policy: Path | Mapping[str, Any] | None = None,
    kubernetes_version: str | None = None,
    assume_empty: bool = False,
    feature_gates: Mapping[str, bool] | Sequence[str] | None = None,
    all_nodes: bool = False,
    plugins: Any | Sequence[Any] | None = None,
    skip_unknown_plugins: bool = False,
    call_extenders: bool = False,
    call_extender_bind: bool = False,
    load: Path = '',
    kueue_config: Path = '',
    strict: bool = False,
    recursive: bool = False,
    namespace: str = 'default',
    autoscale: Path | Sequence[Path] = (),
    provision_seconds: float = 120.0,
    edits: Manifests = (),
) -> PlaceResult:
    """Place pods on a cluster as kube-scheduler would, in its order: by priority, then as given."""

def policy_convert(
    file: Path | None = None,
    *,
    snapshot: ClusterSource = (),
    kubernetes_version: str | None = None,
    feature_gates: Mapping[str, bool] | Sequence[str] | None = None,
    to: Literal['v1'] = 'v1',
    output: Literal['yaml', 'json'] = 'yaml',
) -> Printed:
    """Write a Policy, or a configuration in an old format, as a KubeSchedulerConfiguration v1.

    What does not mean the same afterwards is listed on standard error. Without a file, standard input is read."""

def policy_show(
    file: Path | None = None,
    *,
    snapshot: ClusterSource = (),
    kubernetes_version: str | None = None,
    feature_gates: Mapping[str, bool] | Sequence[str] | None = None,
    output: Literal['yaml', 'json'] = 'yaml',
) -> Printed:
    """Print the effective configuration with every default, as kube-scheduler write_config_to does.

    Without a file it is kube-scheduler's own."""

def policy_validate(
    file: Path | None,
    *,
    snapshot: ClusterSource = (),
    kubernetes_version: str | None = None,
    feature_gates: Mapping[str, bool] | Sequence[str] | None = None,
    out_of_tree: str | Sequence[str] = (),
) -> PolicyCheck:
    """Say whether kube-scheduler would start with this file."""

def queue(
    manifests: Manifests = (),
    *,
    snapshot: ClusterSource,
    now: datetime | None = None,
    pod_template_paths: str | Sequence[str] | None = None,
    admission_plugins: str | Sequence[str] | None = None,
    ignore_unknown: bool = False,
    max_pods: int = 200000,
    api_resources: Path = '',
    exclude: str | Sequence[str] | None = None,
    variables: Mapping[str, str] | Sequence[str] | None = None,
    render: Literal['never', 'auto', 'always'] | None = None,
    charts: Path | Sequence[Path] | None = None,
    clusters: Path | Sequence[Path] | None = None,
    at: str | None = None,
    kubernetes_version: str | None = None,
    kueue_config: Path = '',
    recursive: bool = False,
    namespace: str = 'default',
    edits: Manifests = (),
) -> QueueResult:
    """Say whether Kueue admits a job now and whom it preempts, or for which quota it waits and behind whom.

    Kueue's cycles run until nothing changes: first for the workloads of the cluster, then for those of the
    manifests. Kueue's own objects in the manifests (ClusterQueue, Cohort, ResourceFlavor, ...) take the place of those
    of the cluster. Without manifests: each ClusterQueue and cohort, and who waits at which place and why."""

def review(
    manifests: Manifests = (),
    *,
    snapshot: ClusterSource = (),
    base: Manifests | None = None,
    config: Path | None = None,
    accept: str | Sequence[str] = (),
    recursive: bool = True,
    with_pending: bool = False,
    workers: int | None = None,
    now: datetime | None = None,
    pod_template_paths: str | Sequence[str] | None = None,
    admission_plugins: str | Sequence[str] | None = None,
    ignore_unknown: bool = False,
    max_pods: int = 200000,
    api_resources: Path = '',
    exclude: str | Sequence[str] | None = None,
    variables: Mapping[str, str] | Sequence[str] | None = None,
    render: Literal['never', 'auto', 'always'] | None = None,
    charts: Path | Sequence[Path] | None = None,
    clusters: Path | Sequence[Path] | None = None,
    verb: Literal['create', 'apply', 'replace'] | None = None,
    at: str | None = None,
    policy: Path | Mapping[str, Any] | None = None,
    kubernetes_version: str | None = None,
    assume_empty: bool = False,
    feature_gates: Mapping[str, bool] | Sequence[str] | None = None,
    all_nodes: bool = False,
    plugins: Any | Sequence[Any] | None = None,
    skip_unknown_plugins: bool = False,
    call_extenders: bool = False,
    load: Path = '',
    kueue_config: Path = '',
    strict: bool = False,
    namespace: str = 'default',
    autoscale: Path | Sequence[Path] = (),
    provision_seconds: float = 120.0,
    edits: Manifests = (),
) -> ReviewResult:
    """Show on one page what a change does: which pods go where, which wait, what it costs and puts at risk, what helps.

    It reads a change as the gate does, without rules. Each line names the command that says more."""

def rightsize(
    *,
    snapshot: ClusterSource,
    usage: Path | Sequence[Path] = (),
    prometheus: str = '',
    prometheus_step: int = 60,
    prometheus_timeout: float = 60.0,
    prometheus_retries: int = 2,
    prometheus_token_file: Path = '',
    sizing: Path = '',
    prices: Path = '',
    steps: bool = False,
    most_steps: int = 8,
    write: Path = '',
    write_as: Literal['patches', 'vpa'] = 'patches',
    now: datetime | None = None,
    pod_template_paths: str | Sequence[str] | None = None,
    admission_plugins: str | Sequence[str] | None = None,
    ignore_unknown: bool = False,
    max_pods: int = 200000,
    api_resources: Path = '',
    exclude: str | Sequence[str] | None = None,
    variables: Mapping[str, str] | Sequence[str] | None = None,
    render: Literal['never', 'auto', 'always'] | None = None,
    charts: Path | Sequence[Path] | None = None,
    clusters: Path | Sequence[Path] | None = None,
    policy: Path | Mapping[str, Any] | None = None,
    kubernetes_version: str | None = None,
    assume_empty: bool = False,
    feature_gates: Mapping[str, bool] | Sequence[str] | None = None,
    all_nodes: bool = False,
    plugins: Any | Sequence[Any] | None = None,
    skip_unknown_plugins: bool = False,
    call_extenders: bool = False,
    load: Path = '',
    kueue_config: Path = '',
    strict: bool = False,
    namespace: str = 'default',
    autoscale: Path | Sequence[Path] = (),
    provision_seconds: float = 120.0,
    edits: Manifests = (),
) -> RightsizeResult:
    """Derive requests from usage, and show what they change: pods that wait, nodes that go, cost, what limits the rest.

    Both sides are compared at rest: every pod that fits has a node, and nodes that autoscalers remove are gone."""

def snapshot_convert(
    files: Path | Sequence[Path],
    *,
    output: Path,
    to: Literal['kwhatif', 'list'] = 'kwhatif',
    namespace: str = 'default',
    edits: Manifests = (),
) -> Printed:
    """Bring whatever describes a cluster into one file: other tools' dumps, lists of kubectl, snapshots.

    What scheduling does not read is left out. What-if edits are made before it is written.

    Exit codes: 0 good, 2 usage or input error."""

def snapshot_diff(
    before: Path,
    after: Path,
) -> DiffResult:
    """Show what changed between two snapshots, as far as scheduling can see it."""

def snapshot_dump(
    *,
    kubeconfig: str | None = None,
    context: str | None = None,
    as_user: str | None = None,
    as_group: str | Sequence[str] = (),
    insecure_skip_tls_verify: bool = False,
    request_timeout: float = 60.0,
    scheduler_config: str | None = None,
    keep_templates: bool = False,
    chunk_size: int = 500,
    redact: bool = False,
    translation: Path | None = None,
    output: Path,
    timeout: float = 900.0,
    retries: int = 1,
    strict: bool = False,
    usage: bool = False,
) -> Printed:
    """Read a live cluster into a snapshot: what scheduling reads, and no secrets.

    Exit codes: 0 good (kinds that may not be read are named in the file and here), 2 nothing could be written."""

def snapshot_info(
    snapshot: ClusterSource = (),
    *,
    by: str = '',
    nodes: bool = False,
    usage: Path | Sequence[Path] = (),
    now: datetime | None = None,
    edits: Manifests = (),
) -> InfoResult:
    """Show what is in a snapshot: nodes by pool and zone, what is free, who waits, how old it is, what is missing.

    Exit codes: 0 good, 2 usage or input error."""

def snapshot_rbac(
    *,
    name: str = 'kwhatif-snapshot',
    service_account: str | None = None,
    scheduler_config: str | None = None,
    watch: bool = False,
    usage: bool = False,
) -> Printed:
    """Print the ClusterRole that 'kwhatif snapshot dump' and 'live' need, for 'kubectl apply -f -'.

    Exit codes: 0 good, 2 usage error."""

def snapshot_record(
    *,
    kubeconfig: str | None = None,
    context: str | None = None,
    as_user: str | None = None,
    as_group: str | Sequence[str] = (),
    insecure_skip_tls_verify: bool = False,
    request_timeout: float = 60.0,
    scheduler_config: str | None = None,
    keep_templates: bool = False,
    chunk_size: int = 500,
    redact: bool = False,
    translation: Path | None = None,
    output: Path,
    seconds: float | None = None,
) -> Printed:
    """Write down a live cluster's objects, then every change, until stopped (Ctrl-C, SIGTERM) or seconds is over.

    'kwhatif backtest' asks again for all that was scheduled; any moment of it is a snapshot (FILE@2026-03-01T14:00:00Z,
    FILE@+2h, FILE@end). What is written can be read at any time, also after a crash.

    Exit codes: 0 good (what is missing is said in the file and here), 2 nothing, or not all, could be written."""

def snapshot_redact(
    files: Path | Sequence[Path],
    *,
    output: Path,
    translation: Path,
    namespace: str | None = None,
) -> Printed:
    """Replace the names of namespaces, pods, nodes, labels, images and all else by pseudonyms.

    Placing a pod, redacted with the same translation, on the redacted snapshot gives the redacted answer; 'snapshot
    reveal' reads it back. Exit codes: 0 good, 2 usage or input error."""

def snapshot_reveal(
    answered: Path = '-',
    *,
    translation: Path,
) -> Printed:
    """Put the names back into an answer about a redacted snapshot.

    Exit codes: 0 good, 2 usage or input error."""

def snapshot_trim(
    pods: Manifests = (),
    *,
    snapshot: ClusterSource,
    files: Manifests = (),
    namespace: str | None = None,
    output: Path,
    nodes_too: bool = False,
    steps: int | None = None,
    now: datetime | None = None,
    pod_template_paths: str | Sequence[str] | None = None,
    admission_plugins: str | Sequence[str] | None = None,
    ignore_unknown: bool = False,
    max_pods: int = 200000,
    api_resources: Path = '',
    exclude: str | Sequence[str] | None = None,
    variables: Mapping[str, str] | Sequence[str] | None = None,
    render: Literal['never', 'auto', 'always'] | None = None,
    charts: Path | Sequence[Path] | None = None,
    clusters: Path | Sequence[Path] | None = None,
    policy: Path | Mapping[str, Any] | None = None,
    kubernetes_version: str | None = None,
    assume_empty: bool = False,
    feature_gates: Mapping[str, bool] | Sequence[str] | None = None,
    all_nodes: bool = False,
    plugins: Any | Sequence[Any] | None = None,
    skip_unknown_plugins: bool = False,
    call_extenders: bool = False,
    load: Path = '',
    kueue_config: Path = '',
    strict: bool = False,
    edits: Manifests = (),
) -> TrimResult:
    """Keep only what the decision on a pod depends on: a small snapshot that reproduces it.

    A pod that runs is taken off its node first; in the new snapshot it waits. Several pods are placed one after the
    other, as the scheduler would. What is left is decided again before it is written.

    Exit codes: 0 written, 2 usage or input error."""

def snapshot_validate(
    files: Path | Sequence[Path],
    *,
    strict: bool = False,
) -> CheckResult:
    """Report everything that is wrong with a snapshot: what cannot be read, and what does not go together."""

def start_mcp_server(
    *,
    snapshot: ClusterSource,
    recording: Path = '',
    time_limit_seconds: float = 60.0,
    memory_limit: int = 1024,
) -> Printed:
    """Answer an agent's questions about a cluster, as messages of the Model Context Protocol on stdin and stdout.

    Tools are the questions of the command line; none changes anything, and none reads a file that the agent names. With
    live it follows every change of the cluster."""

def start_server(
    *,
    snapshot: ClusterSource,
    recording: Path = '',
    listen: str = '127.0.0.1:8790',
    host: str | Sequence[str] = (),
    tls_cert: Path = '',
    tls_key: Path = '',
    client_ca: Path = '',
    token_file: Path = '',
    workers: int | None = None,
    time_limit_seconds: float = 60.0,
    memory_limit: int = 1024,
    admission: Literal['warn', 'refuse'] | None = None,
    admission_rules: Path = '',
    watch: Path = '',
) -> Printed:
    """Answer questions about a cluster over HTTP, until SIGTERM or Ctrl-C: POST /v1/place, /v1/drain and the like.

    The cluster is loaded once; with live it follows every change. A request has the options of a command as JSON;
    /openapi.json describes all of them. Beyond loopback it needs TLS, and a token or clients' certificates. Needs
    kwhatif[serve]."""

def sweep(
    manifests: Manifests = (),
    *,
    snapshot: ClusterSource,
    workers: int | None = None,
    on: str | None = None,
    out: Path | None = None,
    resume: bool = False,
    space: Path | Mapping[str, Any],
    other_snapshots: Sequence[ClusterSource] = (),
    replay: str | Sequence[str] = (),
    objectives: Mapping[str, float] | Sequence[str] = (),
    search: int = 0,
    seed: int | None = None,
    probe: Manifests = (),
    prices: Path = '',
    write: Path = '',
    now: datetime | None = None,
    pod_template_paths: str | Sequence[str] | None = None,
    admission_plugins: str | Sequence[str] | None = None,
    ignore_unknown: bool = False,
    max_pods: int = 200000,
    api_resources: Path = '',
    exclude: str | Sequence[str] | None = None,
    variables: Mapping[str, str] | Sequence[str] | None = None,
    render: Literal['never', 'auto', 'always'] | None = None,
    charts: Path | Sequence[Path] | None = None,
    clusters: Path | Sequence[Path] | None = None,
    policy: Path | Mapping[str, Any] | None = None,
    kubernetes_version: str | None = None,
    assume_empty: bool = False,
    feature_gates: Mapping[str, bool] | Sequence[str] | None = None,
    all_nodes: bool = False,
    plugins: Any | Sequence[Any] | None = None,
    skip_unknown_plugins: bool = False,
    load: Path = '',
    kueue_config: Path = '',
    strict: bool = False,
    recursive: bool = False,
    namespace: str = 'default',
    autoscale: Path | Sequence[Path] = (),
    provision_seconds: float = 120.0,
    edits: Manifests = (),
) -> SweepResult:
    """Try many scheduler policies on the same pods: which are best, and which settings matter.

    Each differs from today's policy in the settings of a SweepSpace document; of equal nodes each takes the one that
    one worker of that version does. Shown are the policies that no other beats by every objective.
    docs/how-to/search-for-a-policy.md
    explains the measures.

    Exit codes: 0 policies were compared, 2 usage or input error."""

def upgrade(
    pool: str,
    *,
    snapshot: ClusterSource,
    manifests: Manifests = (),
    strategy: Literal['surge', 'gke-surge', 'gke-blue-green', 'eks', 'aks', 'capi', 'karpenter'] = 'surge',
    surge: int | str | None = None,
    unavailable: int | str | None = None,
    parallel: int | None = None,
    drain_timeout_seconds: float | None = None,
    after_timeout: Literal['force', 'fail'] | None = None,
    delete_policy: Literal['Random', 'Newest', 'Oldest'] | None = None,
    node_soak_seconds: float | None = None,
    pool_soak_seconds: float | None = None,
    grace_seconds: float | None = None,
    ready_after_seconds: float | Mapping[str, float] = 30.0,
    within_seconds: float | None = None,
    prices: Path = '',
    new_version: str = '',
    new_labels: str | Sequence[str] = (),
    new_taints: str | Sequence[str] = (),
    new_sizes: str | Sequence[str] = (),
    now: datetime | None = None,
    pod_template_paths: str | Sequence[str] | None = None,
    admission_plugins: str | Sequence[str] | None = None,
    ignore_unknown: bool = False,
    max_pods: int = 200000,
    api_resources: Path = '',
    exclude: str | Sequence[str] | None = None,
    variables: Mapping[str, str] | Sequence[str] | None = None,
    render: Literal['never', 'auto', 'always'] | None = None,
    charts: Path | Sequence[Path] | None = None,
    clusters: Path | Sequence[Path] | None = None,
    policy: Path | Mapping[str, Any] | None = None,
    kubernetes_version: str | None = None,
    assume_empty: bool = False,
    feature_gates: Mapping[str, bool] | Sequence[str] | None = None,
    all_nodes: bool = False,
    plugins: Any | Sequence[Any] | None = None,
    skip_unknown_plugins: bool = False,
    call_extenders: bool = False,
    load: Path = '',
    kueue_config: Path = '',
    strict: bool = False,
    recursive: bool = False,
    namespace: str = 'default',
    autoscale: Path | Sequence[Path] = (),
    provision_seconds: float = 120.0,
    edits: Manifests = (),
) -> UpgradeResult:
    """Replace the nodes of a pool in simulated time, as the service that runs it would.

    Nodes are cordoned and drained as far as disruption budgets allow; pods take their grace period to go, are
    recreated, find a node or wait for one, and become ready. What is in the way is named."""
