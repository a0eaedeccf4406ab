"""Manifests become pods; an empty render must not pass for a good answer."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Sequence

from kwhatif.admission.pipeline import DEFAULT_PLUGINS
from kwhatif.admission.sent import VERBS
from kwhatif.api.kinds import spelt
from kwhatif.errors import InputError, UsageError
from kwhatif.results.amounts import counts
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.load import Manifest
from kwhatif.snapshot.read.files import called
from kwhatif.versions import DEFAULT_MINOR, minor_of
from kwhatif.whatif.expand.expand import Expanded, expand
from kwhatif.whatif.stages.inputs import Files, Reading
from kwhatif.whatif.stages.rules import minors_of_kubelets
from kwhatif.workloads.controllers import TemplatePath, makes_pods


def expanded(
    snapshot: Snapshot, manifests: Sequence[Manifest], reading: Reading, version: str | None, *, anew: bool = False
) -> Expanded:
    """What becomes of manifests that come to a cluster, by the API server of a ``version``, else of the cluster's.

    ``anew`` takes no workload for one that is in the cluster already, of which only what an update changes would be
    new.
    """
    if not manifests:
        return Expanded()
    verb = reading.verb or ""
    if verb not in VERBS:
        raise UsageError(f"unknown verb {verb}; there are {', '.join(filter(None, VERBS))}")
    plugins = (*DEFAULT_PLUGINS, *(name for names in reading.admission_plugins or () for name in names.split(",")))
    return expand(
        manifests,
        snapshot,
        plugins=plugins,
        templates=template_paths(reading),
        anew=anew,
        verb=verb,
        minor=_minor(snapshot, version),
    )


def _minor(snapshot: Snapshot, version: str | None) -> str:
    """The Kubernetes whose API server reads the manifests: what was asked for, else the cluster's, else the newest."""
    for told in (version, snapshot.kubernetes_version, *minors_of_kubelets(snapshot)):
        with contextlib.suppress(UsageError):
            if told:
                return minor_of(told)
    return DEFAULT_MINOR


def template_paths(reading: Reading) -> list[TemplatePath]:
    """Where custom resources have their pod template. Raises UsageError for one that cannot be understood."""
    return [TemplatePath.parse(text) for text in reading.templates or ()]


def insist_on_pods(files: Files, manifests: Sequence[Manifest], reading: Reading) -> None:
    """Raise InputError if none of the manifests could have pods: which files, and what they hold."""
    where = template_paths(reading)
    if manifests and not any(makes_pods(manifest.raw, where) for manifest in manifests):
        held = counts(Counter(spelt(m.obj.api_version or "", m.obj.kind or "") for m in manifests))
        names = [called(file) for file in files if isinstance(file, str)]
        raise InputError(f"no pods in here, only {held}", source=", ".join(names))
