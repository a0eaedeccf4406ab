"""Warnings about pods and pod templates that the API server accepts: deprecated fields, names, and overlapping paths in
the files of one volume.

Upstream: pkg/api/pod/warnings.go and, for names, the strategies of pkg/registry.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from heapq import merge
from typing import Any, NamedTuple

import msgspec

from kwhatif.admission.container_amounts import amounts
from kwhatif.admission.defaulting.pod_defaults import profile_of
from kwhatif.admission.kinds.nodes import DEPRECATED_LABELS, term_warnings
from kwhatif.admission.request import containers_of, each
from kwhatif.admission.response import Object
from kwhatif.admission.validation.addresses import address_warnings
from kwhatif.admission.validation.field_rules import dns_label
from kwhatif.admission.validation.security_context import APP_ARMOR, SECCOMP_CONTAINER, SECCOMP_POD
from kwhatif.api.objects import part_of, section

_File = tuple[str, str]
"""A path in a volume, and what it comes from where a volume has several sources."""


def overlap_warnings(volume: Object) -> Iterator[str]:
    """Warnings about files of a volume whose paths overlap."""
    name = json.dumps(volume.get("name") or "")
    for key, what, by in (("configMap", "ConfigMap", "name"), ("secret", "Secret", "secretName")):
        source = volume.get(key)
        if source:
            where = f'{name} ({what} "{source.get(by) or ""}")'
            yield from _find_overlaps(where, ((item.get("path") or "", "") for item in each(source, "items")))
    items = each(volume.get("downwardAPI"), "items")
    yield from _find_overlaps(f"{name} (DownwardAPI)", ((item.get("path") or "", "") for item in items))
    sources = each(volume.get("projected"), "sources")
    for source in sources:
        if not any(value is not None for value in source.values()):
            yield f"volume {name} (Projected) has no sources provided"
    yield from _find_overlaps(
        f"{name} (Projected)", (file for source in sources for file in _list_projected_files(source))
    )


def _list_projected_files(source: Object) -> Iterator[_File]:
    for key, what in (("configMap", "ConfigMap"), ("secret", "Secret")):
        for item in each(source.get(key), "items"):
            yield item.get("path") or "", f'{what} "{source[key].get("name") or ""}"'
    for item in each(source.get("downwardAPI"), "items"):
        yield item.get("path") or "", "DownwardAPI"
    if source.get("serviceAccountToken"):
        yield source["serviceAccountToken"].get("path") or "", "ServiceAccountToken"


def _find_overlaps(where: str, files: Iterable[_File]) -> Iterator[str]:
    root = _Folder()
    for number, (path, source) in enumerate(files):
        file = path.rstrip("/"), source
        if not file[0]:
            continue
        folder, overlapping = root, list[tuple[int, _File]]()
        for step in file[0].split("/"):
            folder = folder.inside.setdefault(step, _Folder())
            overlapping += folder.files
        for other in folder.all_inside():
            overlapping += other.files
        folder.files.append((number, file))
        for _, before in sorted(overlapping):
            yield f"volume {where}: overlapping paths: {_format_file(file)} with {_format_file(before)}"


class _Folder(msgspec.Struct):
    """A path of a volume: the files that are there, by their number, and the paths below it."""

    files: list[tuple[int, _File]] = []
    inside: dict[str, _Folder] = {}

    def all_inside(self) -> Iterator[_Folder]:
        rest = list(self.inside.values())
        while rest:
            folder = rest.pop()
            yield folder
            rest += folder.inside.values()


def _format_file(file: _File) -> str:
    path, source = file
    return f"{json.dumps(path)} ({source})" if source else json.dumps(path)


_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
_VOLUMES = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
_SPELT = {"storageos": "storageOS"}
_NO_SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_NO_ARMOR = 'deprecated since v1.30; use the "appArmorProfile" field instead'
_NULL = "a null labelSelector results in matching no pod"
_BYTES = ("memory", "ephemeral-storage")


def name_warnings(name: str, used: str) -> Iterator[str]:
    """Warnings about a name that becomes a hostname; ``used`` says where."""
    wrong = dns_label(name)
    if wrong:
        surprise = "which can result in surprising behavior; a DNS label is recommended"
        yield f"metadata.name: this is used in {used}, {surprise}: [{' '.join(wrong)}]"


def pod_warnings(pod: Object, path: str = "") -> Iterator[str]:
    """``path`` is that of a template, with a dot at its end, and empty for a pod."""
    spec, annotations = section(pod, "spec"), section(pod, "metadata", "annotations")
    yield from _selectors(spec, f"{path}spec")
    for key, text in _ANNOTATIONS.items():
        if key in annotations:
            yield f"{path}metadata.annotations[{key}]: {text}"
    for i, volume in enumerate(each(spec, "volumes")):
        yield from _volume(volume, f"{path}spec.volumes[{i}]")
    yield from _twice(spec, "hostAliases", "ip", f"{path}spec")
    yield from _twice(spec, "imagePullSecrets", "name", f"{path}spec")
    for i, secret in enumerate(each(spec, "imagePullSecrets")):
        if not secret.get("name"):
            yield f'{path}spec.imagePullSecrets[{i}].name: invalid empty name ""'
    yield from _fractions(spec.get("overhead"), _BYTES, f"{path}spec.overhead")
    if annotations:
        yield from _profiles(spec, annotations, f"{path}metadata.annotations", template=bool(path))
    containers = containers_of(spec, f"{path}spec")
    for where, container in containers:
        for side in ("limits", "requests"):
            yield from _fractions(section(container, "resources").get(side), _BYTES, f"{where}.resources.{side}")
        yield from _variables(each(container, "env"), where)
    yield from _ports(containers)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        words = "must be >= 0; negative values are invalid and will be treated as 1"
        yield f"{path}spec.terminationGracePeriodSeconds: {words}"
    for i, server in enumerate(section(spec, "dnsConfig").get("nameservers") or ()):
        yield from address_warnings(f"{path}spec.dnsConfig.nameservers[{i}]", server)
    for i, alias in enumerate(each(spec, "hostAliases")):
        yield from address_warnings(f"{path}spec.hostAliases[{i}].ip", alias.get("ip") or "")


def claim_warnings(spec: Object | None, path: str) -> Iterator[str]:
    """Warnings about the spec of a claim."""
    resources = section(spec or {}, "resources")
    for side in ("requests", "limits"):
        yield from _fractions(resources.get(side), ("storage",), f"{path}.resources.{side}")


def _selectors(spec: Object, path: str) -> Iterator[str]:
    selector = section(spec, "nodeSelector")
    yield from (f"{path}.nodeSelector[{key}]: {text}" for key, text in DEPRECATED_LABELS.items() if key in selector)
    affinity = section(spec, "affinity")
    node, ignored = section(affinity, "nodeAffinity"), "DuringSchedulingIgnoredDuringExecution"
    where = f"{path}.affinity.nodeAffinity"
    for i, term in enumerate(each(node.get(f"required{ignored}"), "nodeSelectorTerms")):
        yield from term_warnings(term, f"{where}.required{ignored}.nodeSelectorTerms[{i}]")
    for i, term in enumerate(each(node, f"preferred{ignored}")):
        preference = section(term, "preference")
        yield from term_warnings(preference, f"{where}.preferred{ignored}[{i}].preference", values=True)
    for i, spread in enumerate(each(spec, "topologySpreadConstraints")):
        where, key = f"{path}.topologySpreadConstraints[{i}]", spread.get("topologyKey") or ""
        if key in DEPRECATED_LABELS:
            yield f"{where}.topologyKey: {key} is {DEPRECATED_LABELS[key]}"
        if spread.get("labelSelector") is None:
            yield f"{where}.labelSelector: {_NULL}"
    for side in ("podAffinity", "podAntiAffinity"):
        own, where = affinity.get(side) or {}, f"{path}.affinity.{side}"
        for i, term in enumerate(each(own, f"required{ignored}")):
            if term.get("labelSelector") is None:
                yield f"{where}.required{ignored}[{i}].labelSelector: {_NULL}"
        for i, weighted in enumerate(each(own, f"preferred{ignored}")):
            if section(weighted, "podAffinityTerm").get("labelSelector") is None:
                yield f"{where}.preferred{ignored}[{i}].podAffinityTerm.labelSelector: {_NULL}"


def _volume(volume: Object, path: str) -> Iterator[str]:
    for key, text in _VOLUMES.items():
        if volume.get(key) is not None:
            yield f"{path}.{_SPELT.get(key, key)}: {text}"
    template = section(volume, "ephemeral").get("volumeClaimTemplate")
    if template:
        yield from claim_warnings(template.get("spec"), f"{path}.ephemeral.volumeClaimTemplate.spec")
    yield from overlap_warnings(volume)


def _twice(spec: Object, key: str, message: str, path: str) -> Iterator[str]:
    seen: set[str] = set()
    for i, item in enumerate(each(spec, key)):
        value = item.get(message) or ""
        if value in seen:
            yield f'{path}.{key}[{i}].{message}: duplicate {message} "{value}"'
        seen.add(value)


def _fractions(listed: Mapping[str, Any] | None, names: tuple[str, ...], path: str) -> Iterator[str]:
    """Of amounts that are counted in bytes, and are no whole number."""
    if not listed:
        return
    for name, amount in amounts({name: listed[name] for name in names if name in listed}).items():
        if amount.milli_value() % 1000:
            yield f'{path}[{name}]: fractional byte value "{amount}" is invalid, must be an integer'


def _profiles(spec: Object, annotations: Mapping[str, str], path: str, *, template: bool) -> Iterator[str]:
    """Of profiles that stand in annotations alone. AppArmor is warned of where it becomes a field."""
    own = section(spec, "securityContext")
    if SECCOMP_POD in annotations and own.get("seccompProfile") is None:
        yield f"{path}[{SECCOMP_POD}]: {_NO_SECCOMP}"
    for _, container in containers_of(spec, ""):
        context, name = section(container, "securityContext"), container.get("name")
        key = f"{SECCOMP_CONTAINER}{name}"
        if key in annotations and context.get("seccompProfile") is None:
            yield f"{path}[{key}]: {_NO_SECCOMP}"
        key = f"{APP_ARMOR}{name}"
        if template and key in annotations and context.get("appArmorProfile") is None:
            wanted = own.get("appArmorProfile")
            if wanted is None or wanted != profile_of(annotations[key]):
                yield f"{path}[{key}]: {_NO_ARMOR}"


def _variables(variables: list[Object], path: str) -> Iterator[str]:
    seen: set[str] = set()
    for i, variable in enumerate(variables):
        name, value = variable.get("name") or "", variable.get("value") or ""
        before = f"$({name})"
        if name in seen and (variable.get("valueFrom") is not None or value == before or before not in value):
            yield f'{path}.env[{i}]: hides previous definition of "{name}", which may be dropped when using apply'
        seen.add(name)


def _ports(containers: list[tuple[str, Object]]) -> Iterator[str]:
    taken: dict[tuple[int, str], _TakenPort] = {}
    names: dict[str, str] = {}
    for path, container in containers:
        for i, port in enumerate(each(container, "ports")):
            where, name = f"{path}.ports[{i}]", port.get("name") or ""
            if port.get("hostIP") and not port.get("hostPort"):
                yield f"{where}: hostIP set without hostPort: {_format_port(port)}"
            others = taken.setdefault((port.get("containerPort") or 0, port.get("protocol") or "TCP"), _TakenPort())
            host, number = port.get("hostIP") or "", port.get("hostPort") or 0
            for place, how in others.clashes(host, number):
                yield f"{where}: {how} port definition with {place}"
            others.add(where, host, number)
            if name in names:
                will = f"services and probes that select ports by name will use {names[name]}"
                yield f'{where}: duplicate port name "{name}" with {names[name]}, {will}'
            elif name:
                names[name] = where


class _Definition(NamedTuple):
    """A definition of a port of a pod: the how manyth it is, its place, and what it takes of its node."""

    number: int
    place: str
    host: str
    port: int


class _TakenPort:
    """The definitions of one port of a pod so far: only those are looked at that clash with a new one."""

    def __init__(self) -> None:
        self._all: list[_Definition] = []
        self._by_port: defaultdict[int, list[_Definition]] = defaultdict(list)
        self._by_address: defaultdict[tuple[str, int], list[_Definition]] = defaultdict(list)

    def add(self, place: str, host: str, port: int) -> None:
        definition = _Definition(len(self._all), place, host, port)
        for definitions in (self._all, self._by_port[port], self._by_address[host, port]):
            definitions.append(definition)

    def clashes(self, host: str, port: int) -> Iterator[tuple[str, str]]:
        """The places of the definitions that clash with a new one, in order, and how they do."""
        if not port:
            others = [self._all]
        elif not host:
            others = [self._by_port[0], self._by_port[port]]
        else:
            others = [self._by_port[0], self._by_address["", port], self._by_address[host, port]]
        for other in merge(*others):
            if (host, port) == (other.host, other.port):
                yield other.place, "duplicate"
            elif not port or not other.port:
                yield other.place, "overlapping"
            else:
                yield other.place, "dangerously ambiguous"


def _format_port(port: Object) -> str:
    """A port as Go prints it."""
    keys = (("Name", "name", ""), ("HostPort", "hostPort", 0), ("ContainerPort", "containerPort", 0))
    parts = [f"{go}:{port.get(key) or none}" for go, key, none in keys]
    return f"{{{' '.join(parts)} Protocol:{port.get('protocol') or 'TCP'} HostIP:{part_of(port, 'hostIP')}}}"
