"""The control plane's configuration in a live cluster: kube-scheduler's flags in its static pod, its configuration in a
named ConfigMap, and the ConfigMaps of cluster-autoscaler and descheduler.

kubeadm runs kube-scheduler as a static pod whose command line has its image and feature gates; its configuration is a
file on the node, which cannot be read from here. Managed control planes show nothing at all. ConfigMaps are requested
by name, so that no other is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from kwhatif.api.decode import decode_json
from kwhatif.errors import ClusterError, InputError
from kwhatif.snapshot.format.autoscaler_info import CONFIG_MAPS, AutoscalerInfo, ConfigMap, with_config_map
from kwhatif.snapshot.format.descheduler_info import CONFIG_MAPS as POLICIES
from kwhatif.snapshot.format.descheduler_info import DeschedulerInfo, with_descheduler_policy
from kwhatif.snapshot.format.model import SchedulerInfo
from kwhatif.snapshot.live.requests import RequestRefused, RetryingClient
from kwhatif.snapshot.read.files import Text
from kwhatif.snapshot.read.objects import decode, head_of, read_documents

NAMESPACE, LABEL = "kube-system", "component=kube-scheduler"
_CONFIGURATION = "KubeSchedulerConfiguration"
_TRUTHS = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}


class _Container(msgspec.Struct):
    name: str = ""
    image: str | None = None
    command: list[str] | None = None
    args: list[str] | None = None


class _Spec(msgspec.Struct):
    containers: list[_Container] | None = None


class _Meta(msgspec.Struct):
    name: str = ""


class _Pod(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    spec: _Spec = msgspec.field(default_factory=_Spec)


class _Pods(msgspec.Struct):
    items: list[_Pod] | None = None


class _ConfigMap(msgspec.Struct):
    data: dict[str, str] | None = None


def read_scheduler(asker: RetryingClient, config_map: str | None) -> tuple[SchedulerInfo | None, list[str]]:
    """The scheduler's info, and notes about it.

    ``config_map`` is ``NAMESPACE/NAME`` of one that holds its configuration. Raises ClusterError if that cannot be
    read, InputError if it holds no configuration.
    """
    info, notes = _from_static_pods(asker)
    if config_map is not None:
        configuration = _from_config_map(asker, config_map)
        info = msgspec.structs.replace(
            info or SchedulerInfo(), configuration=configuration, source=f"ConfigMap {config_map}"
        )
        notes = [note for note in notes if "--scheduler-config" not in note]
    return info, notes


def _from_static_pods(asker: RetryingClient) -> tuple[SchedulerInfo | None, list[str]]:
    try:
        params = {"labelSelector": LABEL}
        body = asker.get(f"/api/v1/namespaces/{NAMESPACE}/pods", params, what="the scheduler's own pod")
        pods = decode_json(body, _Pods).items or []
    except (RequestRefused, InputError):
        return None, []
    containers = [(pod.metadata.name, container) for pod in pods for container in (pod.spec.containers or ())[:1]]
    containers.sort(key=lambda item: item[0])
    if not containers:
        return None, []
    name, container = containers[0]
    flags = dict(_flags(container))
    notes = []
    gates = _gates(flags.get("feature-gates", ""))
    if any(_gates(dict(_flags(other)).get("feature-gates", "")) != gates for _, other in containers[1:]):
        notes.append(f"the schedulers in {NAMESPACE} run with different feature gates: those of {name} are taken")
    if "config" in flags:
        notes.append(
            f"the scheduler reads its configuration from {flags['config']} on its node, out of reach from here; "
            "a ConfigMap that holds it can be named with --scheduler-config NAMESPACE/NAME"
        )
    source = f"Pod {NAMESPACE}/{name}"
    return SchedulerInfo(image=container.image, feature_gates=gates or None, source=source), notes


def _flags(container: _Container) -> Iterator[tuple[str, str]]:
    """The flags of a command line: ``--name=value`` and ``--name value``."""
    words = [*(container.command or ()), *(container.args or ())]
    for word, following in zip(words, [*words[1:], ""], strict=True):
        name, equals, value = word.lstrip("-").partition("=")
        if word.startswith("-"):
            yield name, value if equals else "" if following.startswith("-") else following


def _gates(text: str) -> dict[str, bool]:
    pairs = (part.partition("=") for part in text.split(",") if part.strip())
    return {name.strip(): _TRUTHS[value.strip()] for name, _, value in pairs if value.strip() in _TRUTHS}


def _from_config_map(asker: RetryingClient, config_map: str) -> dict[str, Any]:
    namespace, _, name = config_map.partition("/")
    what = f"ConfigMap {config_map}"
    try:
        body = asker.get(f"/api/v1/namespaces/{namespace}/configmaps/{name}", what=what)
    except RequestRefused as refused:
        raise ClusterError(f"--scheduler-config: {what} cannot be read: {refused.reason}") from None
    return configuration_in(decode_json(body, _ConfigMap).data or {}, what)


def configuration_in(data: dict[str, str], source: str) -> dict[str, Any]:
    """The one KubeSchedulerConfiguration among the values of a ConfigMap. Raises InputError if there is not one."""
    texts: list[tuple[str, dict[str, Any]]] = []
    for key, text in sorted(data.items()):
        try:
            documents = read_documents(Text(f"{source} key {key}", text.encode()))
            heads = [(document, head_of(document)) for document in documents]
        except InputError:
            continue  # other keys may hold anything
        texts += [
            (key, decode(document.value, dict[str, Any])) for document, head in heads if head[1] == _CONFIGURATION
        ]
    if len(texts) == 1:
        return texts[0][1]
    keys = ", ".join(key for key, _ in texts) if texts else f"only {', '.join(sorted(data)) or 'nothing'}"
    raise InputError(f"expected one {_CONFIGURATION}, found {keys}", source=source)


class _ConfigMaps(msgspec.Struct):
    items: list[ConfigMap] | None = None


def read_autoscaler(asker: RetryingClient) -> AutoscalerInfo | None:
    """Their content; None if there are none, or if they may not be read. Raises ClusterError."""
    info: AutoscalerInfo | None = None
    for config_map in _config_maps_of(asker, CONFIG_MAPS):
        info = with_config_map(info, config_map)
    return info


def read_descheduler(asker: RetryingClient) -> DeschedulerInfo | None:
    """The descheduler's policy; None if there is none, or if it may not be read. Raises ClusterError."""
    info: DeschedulerInfo | None = None
    for config_map in _config_maps_of(asker, POLICIES):
        info = with_descheduler_policy(info, config_map)
    return info


def _config_maps_of(asker: RetryingClient, names: Sequence[str]) -> Iterator[ConfigMap]:
    """The ConfigMaps of these names in all namespaces, as far as they may be read."""
    for name in names:
        params = {"fieldSelector": f"metadata.name={name}"}
        try:
            body = asker.get("/api/v1/configmaps", params, what=f"ConfigMap {name}")
            items = decode_json(body, _ConfigMaps).items or []
        except (InputError, RequestRefused):
            continue
        yield from sorted(items, key=lambda config_map: config_map.metadata.namespace or "")
