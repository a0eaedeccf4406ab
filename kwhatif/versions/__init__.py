"""Kubernetes minors, feature gates, and all behaviour that differs by version, as tables by area (``rules/``).

Nothing else compares versions: code asks ``features.X``. docs/reference/kubernetes-versions.md has these
tables in words.
"""

from kwhatif.versions.features import Features, features_of, rows, unread_gates
from kwhatif.versions.gates import parse_gates
from kwhatif.versions.minors import DEFAULT_MINOR, LEGACY_MINOR, SUPPORTED_MINORS, minor_of, nearest_minor
from kwhatif.versions.rule import VersionRule

__all__ = [
    "DEFAULT_MINOR",
    "LEGACY_MINOR",
    "SUPPORTED_MINORS",
    "Features",
    "VersionRule",
    "features_of",
    "minor_of",
    "nearest_minor",
    "parse_gates",
    "rows",
    "unread_gates",
]
