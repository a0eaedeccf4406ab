"""A configuration in any format, written as KubeSchedulerConfiguration v1."""

from __future__ import annotations

from dataclasses import replace

from kwhatif.errors import PolicyError
from kwhatif.policy.configuration_file import load_configuration
from kwhatif.policy.older import Conversion, legacy, legacy_format
from kwhatif.policy.profile import SchedulerConfiguration
from kwhatif.policy.render import as_document
from kwhatif.versions import LEGACY_MINOR, Features, features_of


def converted(document: object, *, source: str, features: Features) -> Conversion:
    """The document for a minor that reads v1, and what changes in meaning. Raises PolicyError.

    A format that has v1's fields already comes out complete, with every default.
    """
    if not features.multi_point:
        raise PolicyError(f"Kubernetes {features.minor} does not read v1: name a later one with --kubernetes-version")
    if not legacy_format(document):
        configuration = load_configuration(document, source=source, features=features)
        return Conversion(as_document(configuration), _said(configuration, source))
    before = load_configuration(document, source=source, features=features_of(LEGACY_MINOR))
    conversion = legacy().translated(before, features)
    # What kube-scheduler would refuse is no answer.
    load_configuration(conversion.document, source=source, features=features)
    return replace(conversion, changes=(*_said(before, source), *conversion.changes))


def _said(configuration: SchedulerConfiguration, source: str) -> tuple[str, ...]:
    return tuple(warning.removeprefix(f"{source}: ") for warning in configuration.warnings)
