"""Options that several commands share, alone and in groups (see ``grouped.py``).

Names that a shell completes: nodes, pods and workloads of the snapshot that the words so far name.

Whatever goes wrong, nothing is said: a shell that is asked for a word wants no other.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Self, TypedDict

import typer

from kwhatif.bounds import PODS
from kwhatif.errors import UsageError
from kwhatif.simulation.inputs import ManifestOptions, SchedulerOptions

if TYPE_CHECKING:
    from kwhatif.snapshot.format.model import Snapshot


LARGEST = 64 * 2**20
"""Bytes of files that are read while somebody waits for a word."""


def complete_node(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of nodes."""
    from kwhatif.api.core import Node

    return _beginning(incomplete, (node.name for each in _snapshot(ctx) for node in each.objects.list_all(Node)))


def complete_pod(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of pods, and of the workloads that have some, as ``deployment/web``."""
    return _beginning(incomplete, (name for workloads, pods in _list_names(ctx) for name in (*workloads, *pods)))


def complete_workload(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of workloads that have pods, before their number: ``deployment/shop/web=``."""
    return _beginning(incomplete, (f"{name}=" for workloads, _ in _list_names(ctx) for name in workloads))


def _list_names(ctx: typer.Context) -> Iterator[tuple[list[str], list[str]]]:
    """Of a snapshot the names of workloads that have pods, and of pods."""
    from kwhatif.api.core import Pod
    from kwhatif.simulation.ownership import Owners

    for each in _snapshot(ctx):
        pods, owners = each.objects.list_all(Pod), Owners(each)
        tops = (owners.workload_of(pod) for pod in pods)
        workloads = [f"{top.kind.lower()}/{top.namespace}/{top.name}" for top in tops if top.kind != "Pod"]
        yield workloads, [pod.key for pod in pods]


def _beginning(incomplete: str, names: Iterator[str]) -> list[str]:
    try:
        return sorted({name for name in names if name.startswith(incomplete) and name.isprintable()})
    except Exception:
        return []


def _snapshot(ctx: typer.Context) -> Iterator[Snapshot]:
    """The snapshot, or nothing if there is none, it cannot be read, or it is too large to wait for."""
    try:
        from kwhatif.snapshot.load import load_snapshot

        named = ctx.params.get("snapshot") or os.environ.get("KWHATIF_SNAPSHOT") or ()
        paths = [named] if isinstance(named, str) else list(named)
        if paths and "-" not in paths and sum(map(_size, paths)) <= LARGEST:
            yield load_snapshot(paths)
    except Exception:
        return


def _size(path: str) -> int:
    files = [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names] or [path]
    return sum(map(os.path.getsize, files))


def option(*names: str, **more: Any) -> Any:
    """An option without a default, or with one that its help names."""
    return typer.Option(*names, show_default=False, **more)


def argument(**more: Any) -> Any:
    """An argument, likewise."""
    return typer.Argument(show_default=False, **more)


def seconds(text: str, option: str) -> float:
    """A length of time as Go spells it, in seconds. Raises UsageError."""
    from kwhatif.golang.parsing import SECOND, Duration

    try:
        length = Duration.parse(text) / SECOND
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None
    if length < 0:
        raise UsageError(f"{option} {text}: expected a length of time, such as 1m30s")
    return length


class Tables(StrEnum):
    """The formats of answers that are tables; a wide one has names of nodes in full."""

    table = "table"
    wide = "wide"
    json = "json"
    yaml = "yaml"
    markdown = "markdown"


TablesOutput = Annotated[Tables, typer.Option("-o", "--output", help="The format to print.")]
ManifestFiles = Annotated[list[str], argument(metavar="FILE", help="Manifests: files, directories, or '-' for stdin.")]
SnapshotFiles = Annotated[
    list[str],
    argument(metavar="FILE", help="A snapshot, or files and directories as kubectl prints them."),
]
Redact = Annotated[bool, typer.Option("--redact", help="Replace all names by pseudonyms, as 'snapshot redact' does.")]
RedactedBy = Annotated[
    str | None,
    option("--translation", metavar="FILE", help="With --redact: which pseudonym stands for what. Not to be shared."),
]
SnapshotOutput = Annotated[
    str,
    option(
        "-o",
        "--output",
        metavar="FILE",
        help="Where to write: .json, .json.gz or .json.zst, by name; '-' is standard output.",
    ),
]
Namespace = Annotated[
    str, option("-n", "--namespace", metavar="NAME", help="The namespace of objects that do not name one.")
]
AnyNamespace = Annotated[
    str | None, option("-n", "--namespace", metavar="NAME", help="The namespace of objects that do not name one.")
]
"""As above, for words that may mean a pod of any namespace."""

PodWords = Annotated[
    list[str] | None,
    argument(
        metavar="POD",
        help="Manifests (files, directories, '-' for stdin), or names of pods: NAME, NAMESPACE/NAME, KIND/NAME.",
        autocompletion=complete_pod,
    ),
]
PodFiles = Annotated[
    list[str] | None,
    option(
        "-f",
        "--filename",
        metavar="FILE",
        help="Manifests to take pods from: those named, or all of them if none is (repeatable).",
    ),
]
Policy = Annotated[
    str | None,
    option(
        "--policy",
        metavar="FILE",
        help="A KubeSchedulerConfiguration, legacy Policy, or ConfigMap with one. Default: the cluster's own if the "
        "snapshot has it, else kube-scheduler's defaults, which 'default' asks for in any case.",
    ),
]
KubernetesVersion = Annotated[
    str | None,
    option(
        "--kubernetes-version",
        metavar="VERSION",
        help="The Kubernetes whose rules apply, such as 1.34 or v1.33.2. Default: the cluster's own, else the newest.",
    ),
]
FeatureGates = Annotated[
    list[str] | None,
    option(
        "--feature-gates",
        metavar="NAME=true|false,...",
        help="Feature gates of kube-scheduler that differ from their defaults (repeatable).",
    ),
]
Plugins = Annotated[
    list[str] | None,
    option(
        "--plugin",
        metavar="MODULE:CLASS",
        help="A plugin from outside the tree, of a module or a path/to/file.py (repeatable).",
    ),
]
SkipUnknown = Annotated[
    bool, typer.Option("--skip-unknown-plugins", help="Go on without plugins that are not installed, and report them.")
]
AllNodes = Annotated[
    bool, typer.Option("--all-nodes", help="Score all feasible nodes, whatever percentageOfNodesToScore says.")
]
Strict = Annotated[
    bool,
    typer.Option("--strict", help="Exit with 2 if the answer depends on something that is missing or not modelled."),
]
Replay = Annotated[
    list[str] | None,
    option(
        "--replay",
        metavar="pending|namespace=NAME|all",
        help="Schedule the snapshot's pending pods, too; or take pods of a namespace, or all, "
        "off their nodes and schedule them again, in the order they started (repeatable).",
    ),
]
Seed = Annotated[
    int | None,
    option(
        "--seed",
        metavar="N",
        help="Leave to chance, by this seed, which of equal nodes is taken: drawn until 1.34, by racing workers since. "
        "Default: the first by name until 1.34, the one that one worker takes since.",
    ),
]
Templates = Annotated[
    list[str] | None,
    option(
        "--pod-template-path",
        metavar="GROUP/KIND=PATH|FILE",
        help="Where a custom resource has its pod templates, as in example.com/Job=$.spec.workers[*].template, "
        "or a file of WorkloadKinds (repeatable).",
    ),
]
ApiResources = Annotated[
    str,
    option(
        "--api-resources",
        metavar="FILE",
        help="What the cluster's API server serves, as kubectl api-resources prints it, or as discovery documents. "
        "Default: what its version serves, and what objects of the snapshot are of.",
    ),
]
AdmissionPlugins = Annotated[
    list[str] | None,
    option(
        "--admission-plugins",
        metavar="NAME,...",
        help="Admission plugins to enable besides the default ones (repeatable).",
    ),
]
Explained = Annotated[
    list[str] | None,
    option(
        "--explain",
        metavar="POD",
        help="Explain this pod in the state in which it was tried: NAME, NAMESPACE/NAME or KIND/NAME (repeatable).",
        autocompletion=complete_pod,
    ),
]
Everything = Annotated[
    bool, typer.Option("--all", help="Show every row. Default: tables from 20 rows on are told in groups.")
]
IgnoreUnknown = Annotated[bool, typer.Option("--ignore-unknown", help="Do not report unknown kinds.")]


MaxPods = Annotated[
    int,
    option("--max-pods", metavar="N", min=1, help="Make no more pods than these of manifests, edits and evictions."),
]


Excluded = Annotated[
    list[str] | None,
    option(
        "--exclude",
        metavar="GLOB",
        help="Leave these files and directories out of directories: a name, or the end of a path (repeatable).",
    ),
]


Variables = Annotated[
    list[str] | None,
    option(
        "--var",
        metavar="NAME=VALUE",
        help="What Flux puts in place of ${NAME} in manifests (repeatable). Default: what ${NAME:=VALUE} says.",
    ),
]


class Rendering(StrEnum):
    """Whether kustomizations of directories are built."""

    never = "never"
    auto = "auto"
    always = "always"


Render = Annotated[
    Rendering,
    typer.Option(
        "--render",
        help="Have kustomize (or kubectl) build kustomizations of directories: those that need no network, or all.",
    ),
]


Autoscale = Annotated[
    list[str] | None,
    option(
        "--autoscale",
        metavar="FILE",
        help="Autoscalers add nodes for pods that find none: cluster-autoscaler by a NodeGroups document, Karpenter by "
        "an InstanceTypes catalogue (repeatable).",
    ),
]
ProvisionTime = Annotated[
    str, typer.Option("--provision-time", metavar="TIME", help="How long a new node takes to come up, such as 2m30s.")
]


@dataclass(frozen=True)
class AutoscalingFlags:
    """Which autoscalers help pods without a node."""

    autoscale: Autoscale = None
    provision_time: ProvisionTime = "2m"

    @property
    def inputs(self) -> AutoscalingInputs:
        """The inputs of a question that they make. Raises UsageError."""
        return {"autoscale": self.autoscale or (), "provision": seconds(self.provision_time, "--provision-time")}


class AutoscalingInputs(TypedDict):
    autoscale: Sequence[str]
    provision: float


@dataclass(frozen=True)
class ManifestFlags(ManifestOptions):
    """How manifests are read and what the API server makes of them."""

    templates: Templates = None
    admission_plugins: AdmissionPlugins = None
    ignore_unknown: IgnoreUnknown = False
    max_pods: MaxPods = PODS
    api_resources: ApiResources = ""
    exclude: Excluded = None
    variables: Variables = None
    render: Render = Rendering.never

    def with_rules_file(self) -> Self:
        """These, with what the nearest rules file leaves out of directories. Raises InputError for the file."""
        from kwhatif.simulation.repository_policy import find_policy, read_policy

        path = find_policy(os.curdir)
        told = read_policy(path).policy.exclude if path else None
        return dataclasses.replace(self, exclude=[*(self.exclude or ()), *told]) if told else self


class Verb(StrEnum):
    """How manifests are sent to the API server."""

    creating = "create"
    applying = "apply"
    replacing = "replace"


Verbs = Annotated[
    Verb | None,
    option(
        "--verb",
        metavar="create|apply|replace",
        help="Send manifests as kubectl create, apply --server-side or replace does. Default: as kubectl apply.",
    ),
]


@dataclass(frozen=True)
class RequestFlags(ManifestFlags):
    """How manifests are read, sent, and what the API server makes of them."""

    verb: Verbs = None


CallExtenders = Annotated[
    bool,
    typer.Option(
        "--call-extenders", help="Call the configuration's extenders, except for bind. Default: only report them."
    ),
]
CallExtenderBind = Annotated[
    bool,
    typer.Option(
        "--call-extender-bind",
        help="With --call-extenders: call bind as well, which really binds pods. Otherwise bind is assumed to succeed.",
    ),
]


@dataclass(frozen=True)
class SchedulerFlags(SchedulerOptions):
    """Which scheduler decides, and how."""

    policy: Policy = None
    kubernetes_version: KubernetesVersion = None
    feature_gates: FeatureGates = None
    all_nodes: AllNodes = False
    plugin: Plugins = None
    skip_unknown_plugins: SkipUnknown = False
    call_extenders: CallExtenders = False
    strict: Strict = False
