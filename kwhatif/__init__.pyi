"""Made of the classes of commands by ``python -m kwhatif.commands.stub kwhatif/__init__.pyi``."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from kwhatif.commands.functions import ClusterSource, Manifests, Path
from kwhatif.commands.capacity.result import CapacityResult as CapacityResult
from kwhatif.commands.live_cluster import live as live
from kwhatif.errors import KwhatifError as KwhatifError
from kwhatif.framework.interface import Plugin as Plugin
from kwhatif.results.disruption import DrainResult as DrainResult
from kwhatif.results.place import PlaceResult as PlaceResult
from kwhatif.snapshot.format.model import Snapshot as Snapshot
from kwhatif.snapshot.load import load_snapshot as load_snapshot
from kwhatif.commands.autoscale.karpenter_result import KarpenterResult as KarpenterResult
from kwhatif.commands.autoscale.karpenter_result import NodesExplained as NodesExplained
from kwhatif.commands.autoscale.karpenter_result import PoolsDiff as PoolsDiff
from kwhatif.commands.autoscale.pools_diff import diff_node_pools as diff_node_pools
from kwhatif.commands.autoscale.result import AutoscaleResult as AutoscaleResult
from kwhatif.commands.autoscale.run import autoscale as autoscale
from kwhatif.commands.autoscale.run import explain_consolidation as explain_consolidation
from kwhatif.commands.autoscale.run import karpenter as karpenter
from kwhatif.commands.backtest.diff_result import BacktestDiff as BacktestDiff
from kwhatif.commands.backtest.result import BacktestResult as BacktestResult
from kwhatif.commands.backtest.run import backtest as backtest
from kwhatif.commands.backtest.run import backtest_diff as backtest_diff
from kwhatif.commands.chances.result import ChancesResult as ChancesResult
from kwhatif.commands.chances.run import chances as chances
from kwhatif.commands.deschedule.result import DescheduleResult as DescheduleResult
from kwhatif.commands.deschedule.run import deschedule as deschedule
from kwhatif.commands.diff.run import diff as diff
from kwhatif.commands.expand.run import expand as expand
from kwhatif.commands.explain.run import explain as explain
from kwhatif.commands.gate.run import gate as gate
from kwhatif.commands.outage.run import outage as outage
from kwhatif.commands.rightsize.result import RightsizeResult as RightsizeResult
from kwhatif.commands.rightsize.run import rightsize as rightsize
from kwhatif.commands.sweep.result import SweepResult as SweepResult
from kwhatif.commands.sweep.run import sweep as sweep
from kwhatif.commands.upgrade.result import UpgradeResult as UpgradeResult
from kwhatif.commands.upgrade.run import upgrade as upgrade
from kwhatif.results.diff import DecisionDiff as DecisionDiff
from kwhatif.results.disruption import OutageResult as OutageResult
from kwhatif.results.expand import ExpandResult as ExpandResult
from kwhatif.results.explain import ExplainResult as ExplainResult
from kwhatif.results.gate import GateResult as GateResult

__version__: str
__all__: list[str]

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
    at: str | None = None,
    policy: Path | Mapping[str, Any] | None = None,
    kubernetes_version: str | None = None,
    feature_gates: Mapping[str, bool] | Sequence[str] | None = None,
    all_nodes: bool = False,
    plugins: Any | Sequence[Any] | None = None,
    skip_unknown_plugins: bool = False,
    call_extenders: bool = False,
    load: Path = '',
    strict: bool = False,
    recursive: bool = False,
    namespace: str = 'default',
    autoscale: Path | Sequence[Path] = (),
    provision_seconds: float = 120.0,
    edits: Manifests = (),
) -> CapacityResult:
    """Count how many more of a pod, or of a release, fit beside what runs: per node, in all, and what ends it.

    What is counted is all pods of the manifests together, or with pod those of one workload one by one. Nobody is
    evicted for them."""

def drain(
    nodes: str | Sequence[str],
    *,
    snapshot: ClusterSource,
    manifests: Manifests = (),
    ignore_daemonsets: bool = False,
    delete_emptydir_data: bool = False,
    force: bool = False,
    now: datetime | None = None,
    pod_template_paths: str | Sequence[str] | None = None,
    admission_plugins: str | Sequence[str] | None = None,
    ignore_unknown: bool = False,
    max_pods: int = 200000,
    api_resources: Path = '',
    exclude: str | Sequence[str] | None = None,
    variables: Mapping[str, str] | Sequence[str] | None = None,
    render: Literal['never', 'auto', 'always'] | None = None,
    policy: Path | Mapping[str, Any] | None = None,
    kubernetes_version: str | None = None,
    feature_gates: Mapping[str, bool] | Sequence[str] | None = None,
    all_nodes: bool = False,
    plugins: Any | Sequence[Any] | None = None,
    skip_unknown_plugins: bool = False,
    call_extenders: bool = False,
    load: Path = '',
    strict: bool = False,
    recursive: bool = False,
    namespace: str = 'default',
    autoscale: Path | Sequence[Path] = (),
    provision_seconds: float = 120.0,
    edits: Manifests = (),
) -> DrainResult:
    """Drain nodes as kubectl does: cordon them all, then evict their pods as far as disruption budgets allow.

    Recreated pods are placed at once, and assumed to become ready where they land; then budgets allow more. Pods of
    manifests, and those that what-if edits leave without a node, are placed before."""

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
    verb: Literal['create', 'apply', 'replace'] | None = None,
    at: str | None = None,
    policy: Path | Mapping[str, Any] | None = None,
    kubernetes_version: str | None = None,
    feature_gates: Mapping[str, bool] | Sequence[str] | None = None,
    all_nodes: bool = False,
    plugins: Any | Sequence[Any] | None = None,
    skip_unknown_plugins: bool = False,
    call_extenders: bool = False,
    call_extender_bind: bool = False,
    load: Path = '',
    strict: bool = False,
    recursive: bool = False,
    namespace: str = 'default',
    autoscale: Path | Sequence[Path] = (),
    provision_seconds: float = 120.0,
    edits: Manifests = (),
) -> PlaceResult:
    """Place pods on a cluster as kube-scheduler would, in its order: by priority, then as given."""
