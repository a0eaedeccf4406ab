"""Options that several commands share, alone and in groups (see ``grouped.py``)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import typer

from kwhatif.whatif.stages.inputs import Engine, Reading

__all__ = [
    "AdmissionPlugins",
    "AllNodes",
    "AnyNamespace",
    "CallExtenderBind",
    "CallExtenders",
    "EngineOptions",
    "FeatureGates",
    "IgnoreUnknown",
    "KubernetesVersion",
    "ManifestFiles",
    "Namespace",
    "Plugins",
    "PodFiles",
    "PodWords",
    "Policy",
    "ReadingOptions",
    "Seed",
    "SkipUnknown",
    "SnapshotFiles",
    "SnapshotOutput",
    "Snapshots",
    "Strict",
    "Tables",
    "TablesOutput",
    "Templates",
]


class Tables(StrEnum):
    """The formats of answers that are tables."""

    table = "table"
    json = "json"
    yaml = "yaml"
    markdown = "markdown"


TablesOutput = Annotated[Tables, typer.Option("-o", "--output", help="The format to print.")]
ManifestFiles = Annotated[
    list[str],
    typer.Argument(metavar="FILE", help="Manifests: files, directories, or '-' for stdin.", show_default=False),
]
Snapshots = Annotated[
    list[str],
    typer.Option(
        "--snapshot",
        metavar="FILE",
        help="The cluster: a snapshot, what kubectl prints, or another tool's dump; '-' reads stdin (repeatable).",
        show_default=False,
    ),
]
SnapshotFiles = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE", help="A snapshot, or files and directories as kubectl prints them.", show_default=False
    ),
]
SnapshotOutput = Annotated[
    str,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Where to write: .json, .json.gz or .json.zst, by name; '-' is standard output.",
        show_default=False,
    ),
]
Namespace = Annotated[
    str,
    typer.Option(
        "-n", "--namespace", metavar="NAME", help="The namespace of objects that do not name one.", show_default=False
    ),
]
AnyNamespace = Annotated[
    str | None,
    typer.Option(
        "-n", "--namespace", metavar="NAME", help="The namespace of objects that do not name one.", show_default=False
    ),
]
"""As above, for words that may mean a pod of any namespace."""

PodWords = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="POD",
        help="Manifests (files, directories, '-' for stdin), or names of pods: NAME, NAMESPACE/NAME, pod/NAME.",
        show_default=False,
    ),
]
PodFiles = Annotated[
    list[str] | None,
    typer.Option(
        "-f",
        "--filename",
        metavar="FILE",
        help="Manifests to take pods from: those named, or all of them if none is (repeatable).",
        show_default=False,
    ),
]
Policy = Annotated[
    str | None,
    typer.Option(
        "--policy",
        metavar="FILE",
        help="A KubeSchedulerConfiguration, legacy Policy, or ConfigMap with one. Default: the cluster's own if the "
        "snapshot has it, else kube-scheduler's defaults, which 'default' asks for in any case.",
        show_default=False,
    ),
]
KubernetesVersion = Annotated[
    str | None,
    typer.Option(
        "--kubernetes-version",
        metavar="VERSION",
        help="The Kubernetes whose rules apply, such as 1.34 or v1.33.2. Default: the cluster's own, else the newest.",
        show_default=False,
    ),
]
FeatureGates = Annotated[
    list[str] | None,
    typer.Option(
        "--feature-gates",
        metavar="NAME=true|false,...",
        help="Feature gates of kube-scheduler that differ from their defaults (repeatable).",
        show_default=False,
    ),
]
Plugins = Annotated[
    list[str] | None,
    typer.Option(
        "--plugin",
        metavar="MODULE:CLASS",
        help="A plugin from outside the tree, of a module or a path/to/file.py (repeatable).",
        show_default=False,
    ),
]
SkipUnknown = Annotated[
    bool,
    typer.Option("--skip-unknown-plugins", help="Go on without plugins that are not installed, and report them."),
]
AllNodes = Annotated[
    bool,
    typer.Option("--all-nodes", help="Score all feasible nodes, whatever percentageOfNodesToScore says."),
]
Strict = Annotated[
    bool,
    typer.Option("--strict", help="Exit with 2 if the answer depends on something that is missing or not modelled."),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        help="Break ties at random with this seed, as kube-scheduler does. Default: the first node by name.",
        show_default=False,
    ),
]
Templates = Annotated[
    list[str] | None,
    typer.Option(
        "--pod-template-path",
        metavar="GROUP/KIND=PATH",
        help="Where a custom resource has its pod template, as in example.com/Job=$.spec.template (repeatable).",
        show_default=False,
    ),
]
AdmissionPlugins = Annotated[
    list[str] | None,
    typer.Option(
        "--admission-plugins",
        metavar="NAME,...",
        help="Admission plugins to enable besides the default ones (repeatable).",
        show_default=False,
    ),
]
IgnoreUnknown = Annotated[bool, typer.Option("--ignore-unknown", help="Do not report unknown kinds.")]


@dataclass(frozen=True)
class ReadingOptions(Reading):
    """How manifests are read and what the API server makes of them."""

    templates: Templates = None
    admission_plugins: AdmissionPlugins = None
    ignore_unknown: IgnoreUnknown = False


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
class EngineOptions(Engine):
    """Which scheduler decides, and how."""

    policy: Policy = None
    kubernetes_version: KubernetesVersion = None
    feature_gates: FeatureGates = None
    all_nodes: AllNodes = False
    plugin: Plugins = None
    skip_unknown_plugins: SkipUnknown = False
    call_extenders: CallExtenders = False
    strict: Strict = False
