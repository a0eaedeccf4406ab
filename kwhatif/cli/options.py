"""Options that several commands share, alone and in groups (see ``grouped.py``)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import typer

__all__ = [
    "AdmissionPlugins",
    "AllNodes",
    "EngineOptions",
    "IgnoreUnknown",
    "InputOptions",
    "Namespace",
    "Plugins",
    "Policy",
    "Seed",
    "SkipUnknown",
    "Snapshots",
    "Strict",
    "Tables",
    "Templates",
]


class Tables(StrEnum):
    """The formats of answers that are tables."""

    table = "table"
    json = "json"
    yaml = "yaml"
    markdown = "markdown"


Snapshots = Annotated[
    list[str],
    typer.Option(
        "--snapshot",
        metavar="FILE",
        help="The cluster: a snapshot, or files and directories as kubectl prints them; '-' reads stdin (repeatable).",
        show_default=False,
    ),
]
Namespace = Annotated[
    str,
    typer.Option("-n", "--namespace", metavar="NAME", help="The namespace of what names none.", show_default=False),
]
Policy = Annotated[
    str | None,
    typer.Option(
        "--policy", metavar="FILE", help="A KubeSchedulerConfiguration. Default: kube-scheduler's own defaults."
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
    typer.Option("--skip-unknown-plugins", help="Go on without plugins that nobody provides, and say so."),
]
AllNodes = Annotated[
    bool,
    typer.Option("--all-nodes", help="Score all feasible nodes, whatever percentageOfNodesToScore says."),
]
Strict = Annotated[
    bool,
    typer.Option("--strict", help="Exit with 2 if the answer stands on something that is missing or not modelled."),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        help="Break ties at random from this seed, as kube-scheduler does. Default: the first node by name.",
        show_default=False,
    ),
]
Templates = Annotated[
    list[str] | None,
    typer.Option(
        "--pod-template-path",
        metavar="GROUP/KIND=PATH",
        help="Where custom resources have their pod template, such as example.com/Job=$.spec.template (repeatable).",
        show_default=False,
    ),
]
AdmissionPlugins = Annotated[
    list[str] | None,
    typer.Option(
        "--admission-plugins",
        metavar="NAME,...",
        help="Turn on admission plugins besides those that are on by default (repeatable).",
        show_default=False,
    ),
]
IgnoreUnknown = Annotated[bool, typer.Option("--ignore-unknown", help="Say nothing of kinds that nobody here knows.")]


@dataclass(frozen=True)
class InputOptions:
    """How manifests are read and what the API server makes of them."""

    templates: Templates = None
    admission_plugins: AdmissionPlugins = None
    ignore_unknown: IgnoreUnknown = False


@dataclass(frozen=True)
class EngineOptions:
    """Which scheduler decides, and how."""

    policy: Policy = None
    all_nodes: AllNodes = False
    plugin: Plugins = None
    skip_unknown_plugins: SkipUnknown = False
    strict: Strict = False
