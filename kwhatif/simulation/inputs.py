"""The inputs of a question as values: cluster (files or live), manifests, scheduler options; and the notes about an
answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeAlias

from kwhatif.bounds import PODS
from kwhatif.progress import watch_reading
from kwhatif.simulation.flag import Flag, InputFile

if TYPE_CHECKING:
    from kwhatif.simulation.cluster_map import MapBase
    from kwhatif.simulation.edits.kind import ParsedEdit
    from kwhatif.snapshot.format.model import Snapshot
    from kwhatif.snapshot.live.live_cluster import Connection


Files = Sequence[str | Mapping[str, Any]]
"""Manifests: paths of files and directories, ``-`` for standard input, or objects as plain values."""

Source: TypeAlias = "Sequence[str] | Snapshot | Callable[[Notes], Snapshot]"
"""A cluster: the files that make up a snapshot, a snapshot, or who takes one of a live cluster when its turn comes."""

NO_CLUSTER = (
    "name the cluster: with --snapshot FILE, in KWHATIF_SNAPSHOT, as 'snapshot' in .kwhatif.yaml, or take the live one "
    "with --live or by asking as kubectl whatif"
)


class Edits(Protocol):
    """What-if edits: files of them, and those that can be parsed only with the ``names`` of the nodes there are."""

    @property
    def edits(self) -> Sequence[str] | None: ...

    def parse_edits(self, names: Collection[str]) -> Iterable[ParsedEdit]: ...


PROVISION_SECONDS = 120.0
"""Seconds that a new node takes to come up, by default."""


class Verb(StrEnum):
    """How manifests are sent to the API server."""

    creating = "create"
    applying = "apply"
    replacing = "replace"


class Rendering(StrEnum):
    """Whether charts of directories are rendered."""

    never = "never"
    auto = "auto"
    always = "always"


@dataclass(frozen=True)
class ManifestOptions:
    """How manifests are read and what the API server makes of them.

    No more pods than ``max_pods`` are made, of edits and evictions, too.
    """

    pod_template_paths: Annotated[
        Sequence[str] | None,
        Flag(
            "--pod-template-path",
            metavar="GROUP/KIND=PATH|FILE",
            help="Where a custom resource has its pod templates, as in example.com/Job=$.spec.workers[*].template, "
            "or a file of WorkloadKinds (repeatable).",
        ),
    ] = None
    admission_plugins: Annotated[
        Sequence[str] | None,
        Flag(
            "--admission-plugins",
            metavar="NAME,...",
            help="Admission plugins to enable besides the default ones (repeatable).",
        ),
    ] = None
    ignore_unknown: Annotated[bool, Flag("--ignore-unknown", help="Do not report unknown kinds.")] = False
    max_pods: Annotated[
        int,
        Flag("--max-pods", metavar="N", least=1, help="Create at most N pods from manifests, edits and evictions."),
    ] = PODS
    api_resources: Annotated[
        str,
        InputFile(
            "--api-resources",
            "What the cluster's API server serves, as kubectl api-resources prints it, or as discovery documents. "
            "Default: what its version serves, and the kinds in the snapshot.",
        ),
    ] = ""
    exclude: Annotated[
        Sequence[str] | None,
        Flag(
            "--exclude",
            metavar="GLOB",
            help="Leave these files and directories out of directories: a name, or the end of a path (repeatable).",
        ),
    ] = None
    variables: Annotated[
        Sequence[str] | None,
        Flag(
            "--var",
            metavar="NAME=VALUE",
            pairs=str,
            help="What Flux substitutes for ${NAME} in manifests (repeatable). Default: what ${NAME:=VALUE} says.",
        ),
    ] = None
    render: Annotated[
        str | None,
        Flag(
            "--render",
            choices=tuple(Rendering),
            metavar="auto|never|always",
            help="Render the charts of directories with helm; auto: those that need no network. "
            "Default: auto; never for a gate. Kustomizations are always built, without a program.",
        ),
    ] = None
    charts: Annotated[
        Sequence[str] | None,
        Flag(
            "--charts",
            type=list[str] | None,
            file="in",
            metavar="DIR",
            help="A directory of charts that 'helm pull' has fetched, or of OCI layouts: those that HelmReleases and "
            "Applications name are rendered from there (repeatable).",
        ),
    ] = None
    clusters: Annotated[
        Sequence[str] | None,
        InputFile(
            "--clusters",
            "Secrets of the clusters that Argo CD knows, for generators of ApplicationSets: what 'kubectl get "
            "secrets -n argocd -l argocd.argoproj.io/secret-type=cluster -o yaml' prints (repeatable).",
            type=list[str] | None,
        ),
    ] = None
    verb: Annotated[
        str | None,
        Flag(
            "--verb",
            choices=tuple(Verb),
            metavar="create|apply|replace",
            help="Send manifests as kubectl create, apply --server-side or replace does, in the order given. "
            "Default: as kubectl apply, in any order.",
        ),
    ] = None
    at: Annotated[
        str | None,
        Flag(
            "--at",
            metavar="max|min|N%|stored",
            help="Replicas of autoscaled workloads: the most or the least that their HorizontalPodAutoscaler or "
            "ScaledObject allows, N percent of the way between, or as manifests have them (stored). Default: as many "
            "as run today, within these bounds.",
        ),
    ] = None


KUBERNETES_VERSION = Flag(
    "--kubernetes-version",
    metavar="VERSION",
    help="The Kubernetes whose rules apply, such as 1.34 or v1.33.2. Default: the cluster's own, else the newest.",
)
FEATURE_GATES = Flag(
    "--feature-gates",
    metavar="NAME=true|false,...",
    pairs=bool,
    help="Feature gates of kube-scheduler that differ from their defaults (repeatable).",
)


@dataclass(frozen=True)
class SchedulerOptions:
    """Which scheduler decides, and how. ``plugins`` are classes, or name them as ``--plugin`` does."""

    policy: Annotated[
        str | Mapping[str, Any] | None,
        InputFile(
            "--policy",
            "A KubeSchedulerConfiguration, legacy Policy, or ConfigMap with one; 'default' is kube-scheduler's own. "
            "Default: the cluster's if the snapshot has it, else 'default'.",
            type=str | None,
        ),
    ] = None
    kubernetes_version: Annotated[
        str | None,
        KUBERNETES_VERSION,
    ] = None
    assume_empty: Annotated[
        bool,
        Flag("--assume-empty", help="The nodes run no pods, if the snapshot has no list of them."),
    ] = False
    feature_gates: Annotated[
        Sequence[str] | None,
        FEATURE_GATES,
    ] = None
    all_nodes: Annotated[
        bool, Flag("--all-nodes", help="Score all feasible nodes, whatever percentageOfNodesToScore says.")
    ] = False
    plugins: Annotated[
        Sequence[Any] | None,
        Flag(
            "--plugin",
            type=list[str] | None,
            metavar="MODULE:CLASS",
            help="A plugin from outside the tree, of a module or a path/to/file.py (repeatable).",
        ),
    ] = None
    skip_unknown_plugins: Annotated[
        bool, Flag("--skip-unknown-plugins", help="Go on without plugins that are not installed, and report them.")
    ] = False
    call_extenders: Annotated[
        bool,
        Flag(
            "--call-extenders", help="Call the configuration's extenders, except for bind. Default: only report them."
        ),
    ] = False
    call_extender_bind: bool = False
    load: Annotated[
        str,
        Flag(
            "--load",
            metavar="FILE|URL",
            file="in",
            help="The load of nodes, for plugins that score by it: what load-watcher serves, or NodeMetrics.",
        ),
    ] = ""
    kueue_config: Annotated[
        str,
        InputFile(
            "--kueue-config",
            "Kueue's Configuration, or the ConfigMap with it. Default: Kueue's defaults.",
        ),
    ] = ""
    strict: Annotated[
        bool, Flag("--strict", help="Exit with 2 if the answer depends on something that is missing or not modelled.")
    ] = False


ProvisionSeconds = Annotated[
    float,
    Flag(
        "--provision-time",
        metavar="DURATION",
        duration=True,
        shows_default=True,
        help="How long a new node takes to become ready, such as 2m30s.",
    ),
]


@dataclass(frozen=True)
class AutoscalingOptions:
    """Which autoscalers help pods without a node, by their documents."""

    autoscale: Annotated[
        Sequence[str],
        InputFile(
            "--autoscale",
            "Let autoscalers add nodes for pods that find none: cluster-autoscaler by a NodeGroups document, "
            "Karpenter by an InstanceTypes catalogue (repeatable).",
        ),
    ] = ()
    provision_seconds: ProvisionSeconds = PROVISION_SECONDS


@dataclass(frozen=True)
class Inputs:
    """The cluster and the manifests. A snapshot that is given as an object is not changed.

    ``namespace`` is that of manifests which name none; the age of the snapshot is that at ``now``, by default the
    clock's. ``with_map``: the answer comes with the data of a page: a map of the cluster, lines of manifests; a
    ``MapBase`` is the map that this one stands on.
    ``autoscale`` are documents of autoscalers; the nodes they add come up ``provision`` seconds later.
    """

    snapshot: Source = ()
    manifests: Files = ()
    namespace: str = "default"
    edits: Edits | None = None
    manifest_options: ManifestOptions = ManifestOptions()
    now: datetime | None = None
    with_map: bool | MapBase = False
    autoscale: Sequence[str] = ()
    provision: float = PROVISION_SECONDS


@dataclass(frozen=True)
class LiveSource:
    """A live cluster that is read when it is needed. A cached snapshot may be ``max_age`` seconds old."""

    connection: Connection
    max_age: float

    def __call__(self, notes: Notes) -> Snapshot:
        """Read the cluster, unless it was read recently. Raises ClusterError and InputError."""
        from kwhatif.snapshot.live_cache import cached_snapshot

        with watch_reading() as watching:
            snapshot, texts = cached_snapshot(
                self.connection, self.max_age, progress=watching.progress, tell=watching.tell
            )
        for text in texts:
            notes.note(text)
        return snapshot


class Notes:
    """Texts such as ``note: the snapshot is 3 days old`` in their order, each once."""

    def __init__(self) -> None:
        self._texts: dict[str, None] = {}

    def note(self, text: str) -> None:
        """Add a note."""
        self._texts[f"note: {text}"] = None

    def warn(self, text: str) -> None:
        """Add a warning: the answer may not be the one that was meant."""
        self._texts[f"warning: {text}"] = None

    def add(self, texts: Iterable[str]) -> None:
        """Add texts with their prefixes."""
        self._texts.update(dict.fromkeys(texts))

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)
