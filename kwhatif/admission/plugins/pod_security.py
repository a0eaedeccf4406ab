"""PodSecurity: namespaces' labels set the level of the Pod Security Standards that their pods have to meet.

Pods are refused; for workloads with such pods, and for a namespace whose level is raised, the API server warns.
Upstream: pod-security-admission/admission/admission.go, api/helpers.go. Exemptions and other defaults than
``privileged`` are in a configuration file of the API server, which no snapshot shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from kwhatif.admission.object_store import name_of
from kwhatif.admission.plugins.pod_security_checks import Violation, violations
from kwhatif.admission.request import Request, each
from kwhatif.admission.response import Object, RequestRefusal
from kwhatif.admission.validation.problems import Problems
from kwhatif.api.kinds import kind_named
from kwhatif.api.objects import section

LABEL = "pod-security.kubernetes.io/"
LEVELS = ("privileged", "baseline", "restricted")
_VERSION = re.compile(r"v1\.(0|[1-9][0-9]*)")


class Level(msgspec.Struct, frozen=True):
    """A level and the version of the standards, None for the latest: ``restricted:v1.30``, ``baseline:latest``."""

    name: str = "privileged"
    version: int | None = None

    def __str__(self) -> str:
        return f"{self.name}:{'latest' if self.version is None else f'v1.{self.version}'}"

    def violations_of(self, metadata: Object | None, spec: Object | None) -> list[Violation]:
        """What a pod breaks."""
        return violations(self.name, self.version, metadata or {}, spec or {})


def level_of(labels: Object | None, mode: str) -> Level:
    """The level that labels set for a mode: ``enforce`` or ``warn``. An invalid level counts as ``restricted`` for
    enforce.
    """
    labels = labels or {}
    name, version = labels.get(f"{LABEL}{mode}"), labels.get(f"{LABEL}{mode}-version")
    if mode == "warn" and name is None:
        enforced = level_of(labels, "enforce")
        if labels.get(f"{LABEL}enforce") in LEVELS[1:]:
            return Level(enforced.name, enforced.version if version is None else _version(version))
    if name is not None and name not in LEVELS:
        name = "restricted" if mode == "enforce" else "privileged"
    return Level(name or "privileged", _version(version))


def _version(text: str | None) -> int | None:
    match = _VERSION.fullmatch(text or "")
    return int(match[1]) if match else None


def validate(request: Request) -> RequestRefusal | None:
    if request.kind == "Namespace":
        return _namespace(request)
    if not request.kind or not request.store.knows("Namespace"):
        return None
    namespace = request.store.get("Namespace", "", request.namespace)
    labels = section(namespace or {}, "metadata").get("labels")
    if request.kind == "Pod":
        return _pod(request, labels)
    template = _template(request.object)
    if template is not None:
        _warn(request, labels, template.get("metadata"), template.get("spec"))
    return None


def _pod(request: Request, labels: Object | None) -> RequestRefusal | None:
    pod = request.object
    if request.old is not None and not _significant(section(pod, "spec"), section(request.old, "spec")):
        return None
    enforced = level_of(labels, "enforce")
    broken = enforced.violations_of(pod.get("metadata"), pod.get("spec"))
    if broken:
        return request.forbidden(f'violates PodSecurity "{enforced}": {", ".join(map(str, broken))}')
    _warn(request, labels, pod.get("metadata"), pod.get("spec"))
    return None


def _warn(request: Request, labels: Object | None, metadata: Any, spec: Any) -> None:
    level = level_of(labels, "warn")
    broken = level.violations_of(metadata, spec)
    if broken:
        request.warnings.add(f'would violate PodSecurity "{level}": {", ".join(map(str, broken))}')


def _template(obj: Object) -> Object | None:
    """The pod template of a workload."""
    kind = kind_named(str(obj.get("kind")))
    here: Any = obj
    if kind is None or not kind.template:
        return None
    for key in (*kind.template, "template"):
        here = (here or {}).get(key)
    return here if isinstance(here, dict) else None


def _significant(new: Object, old: Object) -> bool:
    """Whether an update is checked again: containers were added or removed, or run another image."""

    def images(spec: Object, key: str) -> list[Any]:
        return [container.get("image") for container in each(spec, key)]

    return any(images(new, key) != images(old, key) for key in ("containers", "initContainers"))


# --- namespaces


def _namespace(request: Request) -> RequestRefusal | None:
    labels = section(request.object, "metadata").get("labels")
    old = None if request.old is None else section(request.old, "metadata").get("labels")
    problems = _wrong(labels)
    if problems.causes and (request.old is None or problems.causes != _wrong(old).causes):
        return problems.refusal(request.object)
    if request.old is not None:
        request.warnings.extend(_warn_about_pods(request, level_of(old, "enforce"), level_of(labels, "enforce")))
    return None


def _wrong(labels: Object | None) -> Problems:
    problems = Problems()
    for mode in ("enforce", "audit", "warn"):
        for label, why in (
            (f"{LABEL}{mode}", None),
            (f"{LABEL}{mode}-version", 'must be "latest" or "v1.x"'),
        ):
            value = (labels or {}).get(label)
            fine = value in LEVELS if why is None else value == "latest" or _VERSION.fullmatch(value or "")
            if value is not None and not fine:
                problems.invalid(f"metadata.labels[{label}]", value, why or f"must be one of {', '.join(LEVELS)}")
    return problems


def _warn_about_pods(request: Request, old: Level, new: Level) -> Iterator[str]:
    """The warnings about existing pods when a namespace raises its level."""
    relaxed = new.version == old.version and LEVELS.index(new.name) <= LEVELS.index(old.name)
    if new == old or relaxed:
        return
    home = name_of(request.object)
    by_reason: dict[str, list[str]] = {}
    for pod in request.store.all("Pod", home):
        broken = new.violations_of(pod.get("metadata"), pod.get("spec"))
        if broken:
            by_reason.setdefault(", ".join(violation.reason for violation in broken), []).append(name_of(pod))
    if not by_reason:
        return
    yield f'existing pods in namespace "{home}" violate the new PodSecurity enforce level "{new}"'
    parts = []
    for reasons, names in by_reason.items():
        more = len(names) - 1
        others = f" (and {more} other pod{'' if more == 1 else 's'})" if more else ""
        parts.append(f"{min(names)}{others}: {reasons}")
    yield from sorted(parts)
