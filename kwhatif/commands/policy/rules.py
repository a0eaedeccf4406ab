"""What the commands about a scheduler configuration share: their options, and the rules that hold for a document."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from kwhatif.simulation.flag import Argument, Flag
from kwhatif.simulation.inputs import FEATURE_GATES, Notes

if TYPE_CHECKING:
    from kwhatif.simulation.scenario_options import ClusterOptions
    from kwhatif.versions import Features

FILE = Argument(metavar="FILE", file="in", repeats=True, help="The configuration or Policy; '-' reads stdin.")
FORMATS = ("yaml", "json")


@dataclass(frozen=True, kw_only=True)
class RulesOptions:
    """By which Kubernetes a document is read."""

    kubernetes_version: Annotated[
        str | None,
        Flag(
            "--kubernetes-version",
            metavar="VERSION",
            help="The Kubernetes whose rules apply, such as 1.34 or v1.33.2. Default: the cluster's own, else the "
            "newest.",
        ),
    ] = None
    feature_gates: Annotated[Sequence[str] | None, FEATURE_GATES] = None

    def choose_rules(self, options: ClusterOptions, notes: Notes, document: object = None) -> Features:
        """The rules asked for, else those of the last minor that read the document's format, else the cluster's."""
        from kwhatif.policy.legacy_formats import legacy_format
        from kwhatif.simulation.scheduler_setup import choose_minor
        from kwhatif.versions.minors import LEGACY_MINOR

        if legacy_format(document):
            return choose_minor(self.kubernetes_version, self.feature_gates, notes, otherwise=LEGACY_MINOR, legacy=True)
        otherwise = None
        if options.snapshot and not self.kubernetes_version:
            from kwhatif.simulation.cluster_files import snapshot_of
            from kwhatif.simulation.scheduler_setup import minor_by_kubelets

            snapshot = snapshot_of(options.snapshot, notes)
            otherwise = snapshot.kubernetes_version or minor_by_kubelets(snapshot, notes)
        return choose_minor(self.kubernetes_version, self.feature_gates, notes, otherwise=otherwise)


def warn_of(warnings: Collection[str], notes: Notes) -> None:
    """Note each warning of a document."""
    for warning in warnings:
        notes.warn(warning)
