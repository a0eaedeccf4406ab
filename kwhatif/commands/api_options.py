"""The keyword arguments of the Python API, and how they become a scenario."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, TypeVar

from kwhatif.api.spelling_hints import suggest_spelling
from kwhatif.commands.common_options import FleetOptions
from kwhatif.errors import FidelityError, UsageError
from kwhatif.results.base import Result
from kwhatif.simulation import pipeline
from kwhatif.simulation.flag import flags_of
from kwhatif.simulation.inputs import (
    PROVISION_SECONDS,
    AutoscalingOptions,
    Files,
    Inputs,
    ManifestOptions,
    SchedulerOptions,
)
from kwhatif.simulation.question import Question
from kwhatif.simulation.scenario import Scenario

if TYPE_CHECKING:
    from kwhatif.framework.interface import Plugin
    from kwhatif.simulation.edits.kind import ParsedEdit
    from kwhatif.simulation.inputs import LiveSource
    from kwhatif.snapshot.format.model import Snapshot

R = TypeVar("R", bound=Result)
G = TypeVar("G", ManifestOptions, SchedulerOptions)

Path: TypeAlias = str | os.PathLike[str]

Manifests: TypeAlias = Path | Mapping[str, Any] | Sequence[Path | Mapping[str, Any]]
"""Files or directories by their paths, objects as plain values, or several of either."""

ClusterSource: TypeAlias = "Path | Sequence[Path] | Snapshot | LiveSource"
"""A cluster: a snapshot, the files that make one up, or the ``live`` one."""


class EditKeywords(TypedDict, total=False):
    """What-if edits of the cluster, and what time it is there.

    ``edits`` are ClusterEdits documents by their paths, and single edits as plain values, such as ``{"cordon":
    "worker-3"}``. No more than ``max_pods`` pods are made of edits, manifests and evictions. It is ``now``, by
    default by the clock for the age of the snapshot, and when that was taken for autoscalers.
    """

    edits: Manifests
    max_pods: int
    now: datetime


class AutoscalingKeywords(TypedDict, total=False):
    """Autoscalers that add nodes for pods without one.

    ``autoscale`` are their documents, one or several: NodeGroups for cluster-autoscaler, a catalogue of InstanceTypes
    for Karpenter (and NodePools, which replace those of the snapshot). New nodes come up after ``provision_seconds``.
    """

    autoscale: Path | Sequence[Path]
    provision_seconds: float


class ManifestKeywords(EditKeywords, total=False):
    """How manifests are read and sent to the API server.

    ``namespace`` is that of objects without one. ``pod_template_paths`` say where custom resources have their pod
    template (``example.com/Job=$.spec.template``), ``admission_plugins`` are enabled besides the default ones.
    ``ignore_unknown`` kinds are no gap in the answer. ``api_resources`` is a file of what the API server serves.
    ``exclude`` are patterns of files and directories that are left out of directories, ``variables`` are those that
    Flux substitutes; ``render`` (``never``, ``auto``, ``always``) has kustomizations built.
    """

    namespace: str
    pod_template_paths: Sequence[str]
    admission_plugins: Sequence[str]
    ignore_unknown: bool
    api_resources: Path
    exclude: Sequence[str]
    variables: Mapping[str, str]
    render: str


class SchedulerKeywords(EditKeywords, total=False):
    """The scheduler.

    ``policy`` is a KubeSchedulerConfiguration by its path or as plain values, or ``default`` for kube-scheduler's own;
    by default the cluster's, if the snapshot has it. ``kubernetes_version`` selects the rules, by default the
    cluster's. ``plugins`` from outside the tree are classes, or named ``package.module:Class``. ``load`` is the load of
    nodes: a file of what load-watcher serves or of NodeMetrics, or the URL of a load-watcher. ``strict`` raises
    FidelityError if the answer would depend on something that is missing or not modelled.
    """

    policy: Path | Mapping[str, Any]
    kubernetes_version: str
    feature_gates: Mapping[str, bool]
    plugins: Sequence[str | type[Plugin[Any, Any]]]
    all_nodes: bool
    skip_unknown_plugins: bool
    call_extenders: bool
    load: Path
    strict: bool


class ScenarioKeywords(ManifestKeywords, SchedulerKeywords, total=False):
    """Manifest and scheduler keywords."""


class AutoscaledKeywords(ScenarioKeywords, AutoscalingKeywords, total=False):
    """The keywords of questions with autoscalers."""


_KNOWN = frozenset(AutoscaledKeywords.__annotations__) | {"verb", "at"}


@dataclass(frozen=True)
class _PlainEdits:
    edits: list[str]
    plain: list[Mapping[str, Any]]

    def parse_edits(self, names: Collection[str]) -> Iterator[ParsedEdit]:
        from kwhatif.simulation.edits.document import read_edit

        for number, each in enumerate(self.plain):
            yield read_edit(each, f"edits[{number}]")


def ask(question: Question[R], *scenarios: Scenario) -> R:
    """The answer to a question, as on the command line; errors about options use their names in Python.

    Raises KwhatifError.
    """
    own = [each for each in type(question).__mro__ if is_dataclass(each) and not issubclass(each, Question)]
    with python_names(*own):
        return pipeline.ask(question, *scenarios)


@contextmanager
def python_names(*groups: type) -> Iterator[None]:
    """What is wrong with options is said by their names in Python; ``groups`` have those of the command."""
    try:
        yield
    except (UsageError, FidelityError) as error:
        raise type(error)(_in_python(str(error), groups)) from error


def _in_python(text: str, groups: Sequence[type]) -> str:
    """A message in which flags have the names of keyword arguments: ``--no-recreate`` is ``recreate=False``."""
    names = {
        flag.name.removeprefix("--"): field
        for group in (ManifestOptions, SchedulerOptions, AutoscalingOptions, FleetOptions, *groups)
        for field, _, flag in flags_of(group)
        if not flag.negated
    }
    return _FLAG.sub(lambda flag: names.get(flag[2], flag[2].replace("-", "_")) + ("=False" if flag[1] else ""), text)


_FLAG = re.compile(r"(?<![\w-])--(no-)?([a-z][a-z0-9-]*)")


def build_scenario(
    manifests: Manifests,
    snapshot: ClusterSource,
    options: Mapping[str, Any],
) -> Scenario:
    """The scenario of a Python function's keywords. Raises TypeError for an option that no function has."""
    refuse_unknown(options)
    told = files_of(options.get("edits", ()))
    edits = _PlainEdits(
        [each for each in told if isinstance(each, str)], [each for each in told if not isinstance(each, str)]
    )
    inputs = Inputs(
        cluster_of(snapshot),
        files_of(manifests),
        options.get("namespace", "default"),
        edits if told else None,
        _fields_of(ManifestOptions, options),
        options.get("now"),
        autoscale=paths_of(options.get("autoscale", ())),
        provision=options.get("provision_seconds", PROVISION_SECONDS),
    )
    return Scenario(inputs, _fields_of(SchedulerOptions, options))


def _fields_of(group: type[G], options: Mapping[str, Any]) -> G:
    """The fields of a group of options in keyword arguments; missing ones keep their defaults."""
    given = {name: options[name] for name, _, _ in flags_of(group) if options.get(name) is not None}
    return group(**{name: _PLAIN[name](value) if name in _PLAIN else value for name, value in given.items()})


_PLAIN: Mapping[str, Callable[[Any], Any]] = {
    "api_resources": os.fspath,
    "load": os.fspath,
    "feature_gates": lambda gates: [f"{name}={'true' if on else 'false'}" for name, on in gates.items()],
    "policy": lambda policy: policy_of(policy),
    "variables": lambda variables: [f"{name}={value}" for name, value in variables.items()],
}
"""How what is given in Python becomes what a field holds, where that is not the same."""


def refuse_unknown(options: Mapping[str, Any]) -> None:
    """Raise TypeError for an unknown option, which must not be ignored silently."""
    for name in options:
        if name not in _KNOWN:
            raise TypeError(f"unexpected keyword argument {name!r}{suggest_spelling(name, _KNOWN)}")


def paths_of(paths: Path | Sequence[Path]) -> list[str]:
    return [os.fspath(each) for each in ([paths] if isinstance(paths, str | os.PathLike) else paths)]


def files_of(manifests: Manifests) -> Files:
    """One or several."""
    several = [manifests] if isinstance(manifests, str | os.PathLike | Mapping) else manifests
    return [each if isinstance(each, Mapping) else os.fspath(each) for each in several]


def cluster_of(source: ClusterSource) -> Any:
    return files_of(source) if isinstance(source, str | os.PathLike | Sequence) else source


def policy_of(policy: Path | Mapping[str, Any] | None) -> str | Mapping[str, Any] | None:
    return policy if policy is None or isinstance(policy, Mapping) else os.fspath(policy)
