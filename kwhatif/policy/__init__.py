"""KubeSchedulerConfiguration: from a document to frozen profiles, with upstream's defaults and validation."""

from kwhatif.policy.configuration_file import Examination, default_configuration, examine, load_configuration
from kwhatif.policy.profile import (
    EXTENSION_POINTS,
    PluginRef,
    PluginSet,
    Profile,
    SchedulerConfiguration,
    expand,
    expand_all,
)
from kwhatif.policy.render import as_document, as_json, as_yaml

__all__ = [
    "EXTENSION_POINTS",
    "Examination",
    "PluginRef",
    "PluginSet",
    "Profile",
    "SchedulerConfiguration",
    "as_document",
    "as_json",
    "as_yaml",
    "default_configuration",
    "examine",
    "expand",
    "expand_all",
    "load_configuration",
]
