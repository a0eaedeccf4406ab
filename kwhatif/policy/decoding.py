"""From a parsed document to a KubeSchedulerConfiguration, including the arguments of in-tree plugins.

Upstream: cmd/kube-scheduler/app/options/configfile.go, the nested decoding in kube-scheduler/config/v1/types.go and
apimachinery/pkg/runtime/serializer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from kwhatif.errors import PolicyError
from kwhatif.framework.declaration import Args, Declaration
from kwhatif.golang.field_validation import ROOT, aggregate
from kwhatif.golang.formatting import go_json, go_quote
from kwhatif.golang.strict_json import MismatchError, decode, object_key, plain, word_for
from kwhatif.policy.in_tree import InTreePlugins
from kwhatif.policy.legacy_formats import GROUP
from kwhatif.policy.structs import KubeSchedulerConfiguration, KubeSchedulerProfile, PluginConfig
from kwhatif.versions import Features

# Versions of the format that still say the same things, and the minor that stopped reading them.
REMOVED_IN = {"v1beta2": "1.28", "v1beta3": "1.29"}
_BETA2_ONLY = ("healthzBindAddress", "metricsBindAddress")
_KIND = "KubeSchedulerConfiguration"
_SCHEME = "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme/scheme.go:29"
_TYPE_META = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'


class RefusedError(Exception):
    """kube-scheduler's error for a document that it would not read, also as one line for each problem."""

    def __init__(self, error: str, problems: Iterable[str] = ()) -> None:
        self.problems = tuple(problems) or (error,)
        super().__init__(error)


def read(
    document: object, facts: InTreePlugins, *, accept_removed: bool
) -> tuple[KubeSchedulerConfiguration, str, list[str]]:
    """The configuration in ``document``, the version of its format, and what of it was ignored.

    With ``accept_removed`` formats that upstream has removed are read as v1. Raises RefusedError.
    """
    try:
        versions = ("v1", *REMOVED_IN) if accept_removed else ("v1",)
        kind = _kind_of(document)
        body = _body_of(document, kind, versions, _struct_of(kind.kind, facts) is not None)
        if kind.kind != _KIND:
            raise RefusedError(f"couldn't decode as {_KIND}, got {kind.group}/{kind.version}, Kind={kind.kind}: ")
        ignored = [key for key in _BETA2_ONLY if kind.version == "v1beta2" and body.pop(key, None) is not None]
        return read_body(body, kind.version, facts), kind.version, ignored
    except MismatchError as error:
        raise RefusedError(str(error)) from None


def read_body(body: Mapping[Any, Any], version: str, facts: InTreePlugins) -> KubeSchedulerConfiguration:
    """The configuration in the fields of a document. Raises RefusedError."""
    try:
        config, unknown = decode(KubeSchedulerConfiguration, body, facts.unknown_fields)
        nested = [_read_profile(index, profile, version, facts) for index, profile in enumerate(config.profiles)]
    except MismatchError as error:
        raise RefusedError(str(error)) from None
    unknown += [problem for _, problems in nested for problem in problems]
    refuse_unknown(unknown)
    return msgspec.structs.replace(config, profiles=tuple(p for p, _ in nested))


def refuse_unknown(unknown: Iterable[str]) -> None:
    """Raises RefusedError if there are unknown fields."""
    lines = dict.fromkeys(unknown)
    if lines:
        strict = "strict decoding error: "
        raise RefusedError(strict + ", ".join(lines), (strict + line for line in lines))


class _GroupVersionKind(msgspec.Struct, frozen=True):
    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def or_else(self, default: _GroupVersionKind) -> _GroupVersionKind:
        group, version = self.group, self.version
        if not version and group in ("", default.group):
            group, version = default.group, default.version
        return _GroupVersionKind(group, version, self.kind or default.kind)


def _kind_of(document: object) -> _GroupVersionKind:
    """What the document says it is. Raises MismatchError when it cannot say anything."""
    if document is None:
        return _GroupVersionKind("", "", "")
    problem = "couldn't get version/kind; json parse error: json: cannot unmarshal"
    if not isinstance(document, Mapping):
        raise MismatchError("", f"{problem} {word_for(document)} into Go value of type {_TYPE_META}")
    texts = []
    for key in ("apiVersion", "kind"):
        value = document.get(key)
        if not isinstance(value, str | None):
            raise MismatchError("", f"{problem} {word_for(value)} into Go struct field .{key} of type string")
        texts.append(value or "")
    api_version, kind = texts
    if api_version.count("/") > 1:
        raise MismatchError("", f"unexpected GroupVersion string: {api_version}")
    group, _, version = api_version.rpartition("/")
    return _GroupVersionKind(group, version, kind)


def _body_of(document: object, kind: _GroupVersionKind, versions: Iterable[str], is_known: bool) -> dict[str, Any]:
    """The document without what ``kind`` says already. Raises MismatchError unless its kind ``is_known``."""
    for name, value in (("Kind", kind.kind), ("apiVersion", kind.version)):
        if not value:
            raise MismatchError("", f"Object '{name}' is missing in '{_excerpt(document)}'")
    if kind.group != GROUP or kind.version not in versions or not is_known:
        removed = REMOVED_IN.get(kind.version) if kind.group == GROUP and is_known else None
        hint = f" (removed in Kubernetes {removed}; {GROUP}/v1 has the same fields)" if removed else ""
        raise MismatchError("", not_registered(kind.kind, kind.api_version, hint))
    body = document if isinstance(document, Mapping) else {}
    return {key: value for raw, value in body.items() if (key := object_key(raw, "")) not in ("apiVersion", "kind")}


def args_of_outside(plugin: type[Declaration], values: Any, features: Features) -> Args:
    """The arguments in a configuration of an outside plugin that declares them, with defaults.

    Raises PolicyError where they do not fit, or where the plugin refuses them.
    """
    struct = plugin.args_type(features)
    assert struct is not None
    what = f"args for plugin {plugin.name}"
    if not isinstance(values, Mapping | None):
        raise PolicyError(f"decoding {what}: expected an object, found {word_for(values)}")
    try:
        args, unknown = decode(struct, values or {})
    except MismatchError as error:
        raise PolicyError(f"decoding {what}: {error.problem}") from None
    if unknown:
        raise PolicyError(f"decoding {what}: strict decoding error: {', '.join(unknown)}")
    completed: Args = plugin.fill_defaults(args, features)
    problems = list(plugin.problems(ROOT, completed, features))
    if problems:
        raise PolicyError(f'initializing plugin "{plugin.name}": {aggregate(problems)}')
    return completed


def _struct_of(kind: str, facts: InTreePlugins) -> type[msgspec.Struct] | None:
    return KubeSchedulerConfiguration if kind == _KIND else facts.arguments_of_kind(kind)


def not_registered(kind: str, api_version: str, hint: str = "") -> str:
    """kube-scheduler's error for a format that it does not know."""
    what = f"no kind {go_quote(kind)} is registered for version {go_quote(api_version)}"
    return f'{what} in scheme "{_SCHEME}"{hint}'


def _excerpt(document: object) -> str:
    """The document on one line; upstream prints all of it."""
    text = go_json(plain(document))
    return text if len(text) <= 80 else f"{text[:77]}..."


def _read_profile(
    index: int, profile: KubeSchedulerProfile, version: str, facts: InTreePlugins
) -> tuple[KubeSchedulerProfile, list[str]]:
    """The profile with its in-tree arguments decoded, and what was unknown in them."""
    configs, unknown = [], []
    for position, config in enumerate(profile.plugin_config):
        where = f"profiles[{index}].pluginConfig[{position}]"
        try:
            args, complaints = _read_args(config, version, facts)
        except MismatchError as error:
            place = f"{where}.args.{error.place}" if error.place else ""
            raise MismatchError(place, f"decoding .{where}: {error.problem}") from None
        if complaints:
            problem = f"decoding args for plugin {config.name}: strict decoding error: {', '.join(complaints)}"
            unknown.append(f"decoding .{where}: strict decoding error: {problem}")
        configs.append(msgspec.structs.replace(config, args=args))
    return msgspec.structs.replace(profile, plugin_config=tuple(configs)), unknown


def _read_args(config: PluginConfig, version: str, facts: InTreePlugins) -> tuple[Any, list[str]]:
    if config.name not in facts.arguments:
        return config.args, []
    wanted = _GroupVersionKind(GROUP, version, f"{config.name}Args")
    try:
        kind = _kind_of(config.args).or_else(wanted)
        struct = _struct_of(kind.kind, facts)
        body = _body_of(config.args, kind, ("v1", version), struct is not None)
        assert struct is not None
        args, complaints = decode(struct, body, facts.unknown_fields)
    except MismatchError as error:
        problem = f"decoding args for plugin {config.name}: {error.problem}"
        raise MismatchError(error.place, problem) from None
    if kind.kind != wanted.kind:
        problem = f"were not of type {wanted.kind}.{GROUP}, got {kind.kind}.{kind.group}"
        raise MismatchError("", f"args for plugin {config.name} {problem}")
    return args, complaints
