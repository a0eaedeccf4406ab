"""A configuration as a document: the effective one, as kube-scheduler prints it with ``--write-config-to``, and any
format converted to KubeSchedulerConfiguration v1.

Upstream: LogOrWriteConfig in cmd/kube-scheduler/app/options/configfile.go, and sigs.k8s.io/yaml, which sorts all keys.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import msgspec
import yaml
from msgspec.structs import replace

from kwhatif.errors import PolicyError
from kwhatif.framework.declaration import Args
from kwhatif.golang.config_struct import Kind, slots
from kwhatif.golang.formatting import go_number
from kwhatif.policy.configuration_file import load_configuration
from kwhatif.policy.legacy_formats import GROUP, Conversion, legacy, legacy_format
from kwhatif.policy.profile import Profile, SchedulerConfiguration
from kwhatif.results.yaml_text import is_read_otherwise
from kwhatif.versions import LEGACY_MINOR, Features, features_of


def as_document(configuration: SchedulerConfiguration) -> dict[str, Any]:
    """Plain data, every default spelled out, keys sorted; loading it again gives an equal configuration."""
    document = {
        "apiVersion": f"{GROUP}/{configuration.api_version}",
        "clientConnection": plain_struct(configuration.client_connection),
        "enableContentionProfiling": configuration.enable_contention_profiling,
        "enableProfiling": configuration.enable_profiling,
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": plain_struct(configuration.leader_election),
        "parallelism": configuration.parallelism,
        "percentageOfNodesToScore": configuration.percentage_of_nodes_to_score,
        "podInitialBackoffSeconds": configuration.pod_initial_backoff_seconds,
        "podMaxBackoffSeconds": configuration.pod_max_backoff_seconds,
        "profiles": [_profile(profile, configuration.api_version) for profile in configuration.profiles],
    }
    if configuration.delay_cache_until_active:
        document["delayCacheUntilActive"] = True
    if configuration.extenders:
        document["extenders"] = [plain_struct(extender) for extender in configuration.extenders]
    return dict(sorted(document.items()))


def _profile(profile: Profile, version: str) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    if profile.percentage_of_nodes_to_score is not None:
        shown["percentageOfNodesToScore"] = profile.percentage_of_nodes_to_score
    if profile.args:
        args = sorted(profile.args.items())
        shown["pluginConfig"] = [
            {"args": args_document(plugin_args, version), "name": name} for name, plugin_args in args
        ]
    shown["plugins"] = {point: _plugin_set(profile, point) for point in sorted(profile.plugins)}
    shown["schedulerName"] = profile.scheduler_name
    return shown


def _plugin_set(profile: Profile, point: str) -> dict[str, Any]:
    plugins = profile.plugins[point]
    shown = {}
    if plugins.disabled:
        # Upstream carries a weight even here.
        shown["disabled"] = [{"name": name, "weight": 0} for name in plugins.disabled]
    if plugins.enabled:
        shown["enabled"] = [{"name": ref.name, "weight": ref.weight} for ref in plugins.enabled]
    return shown


def args_document(args: Any, version: str) -> Any:
    if not isinstance(args, Args):
        return args
    shown = {"apiVersion": f"{GROUP}/{version}", "kind": type(args).__name__, **plain_struct(args)}
    return dict(sorted(shown.items()))


def plain_struct(struct: msgspec.Struct) -> dict[str, Any]:
    """A Struct as Go prints it: what is empty only where Go prints it all the same."""
    shown = {}
    for key, slot in slots(type(struct)).items():
        value = getattr(struct, slot.attribute)
        kind = slot.kind
        always = slot.always or kind.tag in ("struct", "duration")
        if (value is None and not slot.always) or (not value and not always and not kind.optional):
            continue
        shown[key] = _value(kind, value)
    return shown


def _value(kind: Kind, value: Any) -> Any:
    if value is None:
        return None
    match kind.tag:
        case "struct":
            return plain_struct(value)
        case "list" | "tuple" if kind.item:
            return [_value(kind.item, item) for item in value]
        case "duration":
            return str(value)
        case "float":
            return int(value) if go_number(value).lstrip("-").isdigit() else value
        case "bytes":
            return base64.b64encode(value).decode()
    return value


class _Dumper(yaml.SafeDumper):
    """YAML in upstream's style: empty and ambiguous strings in double quotes, no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: Any, text: str) -> yaml.ScalarNode:
    tag = "tag:yaml.org,2002:str"
    # PyYAML would quote singly what it reads as something else; upstream does so for "*" and its like alone.
    reads_as = dumper.resolve(yaml.ScalarNode, text, (True, False))
    doubly = (
        not (text and text.isprintable())
        or "##" in text  # what logs take for commands has to be spelt otherwise
        or is_read_otherwise(text)
        or reads_as not in (tag, "tag:yaml.org,2002:yaml")
    )
    node: yaml.ScalarNode = dumper.represent_scalar(tag, text, style='"' if doubly else None)
    return node


_Dumper.add_representer(str, _text)


def as_yaml(configuration: SchedulerConfiguration) -> str:
    return yaml_text(as_document(configuration))


def yaml_text(document: dict[str, Any]) -> str:
    """Plain data as upstream spells it, keys sorted."""
    return yaml.dump(document, Dumper=_Dumper, width=10**9, allow_unicode=True)


def as_json(configuration: SchedulerConfiguration) -> str:
    return json.dumps(as_document(configuration), indent=2) + "\n"


def convert_configuration(document: object, *, source: str, features: Features) -> Conversion:
    """The document for a minor that reads v1, and what changes in meaning. Raises PolicyError.

    A format that has v1's fields already comes out complete, with every default.
    """
    if not features.multi_point:
        raise PolicyError(f"Kubernetes {features.minor} does not read v1: name a later one with --kubernetes-version")
    if not legacy_format(document):
        configuration = load_configuration(document, source=source, features=features)
        return Conversion(as_document(configuration), _strip_source(configuration, source))
    before = load_configuration(document, source=source, features=features_of(LEGACY_MINOR))
    conversion = legacy().translate_configuration(before, features)
    # What kube-scheduler would refuse is no answer.
    load_configuration(conversion.document, source=source, features=features)
    return replace(conversion, changes=(*_strip_source(before, source), *conversion.changes))


def _strip_source(configuration: SchedulerConfiguration, source: str) -> tuple[str, ...]:
    return tuple(warning.removeprefix(f"{source}: ") for warning in configuration.warnings)
