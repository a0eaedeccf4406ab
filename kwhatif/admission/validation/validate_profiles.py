"""Rules for annotations of pods: what became fields long ago, and what is said of a pod from outside.

Upstream: pkg/apis/core/validation/validation.go. Annotations that ask for a profile of seccomp or AppArmor are still
read, and must agree with the fields.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kwhatif.admission.answer import Object
from kwhatif.admission.request import containers_of
from kwhatif.admission.validation.file_paths import relative_path
from kwhatif.admission.validation.problems import Problems

APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_MIRROR = "kubernetes.io/config.mirror"
_INT32 = 2**31 - 1
_LOCAL = "localhost/"
_SECCOMP = {"Unconfined": ("unconfined",), "RuntimeDefault": ("runtime/default", "docker/default")}
_ARMOR = {"Unconfined": ("unconfined",), "RuntimeDefault": ("runtime/default",)}


def check_pod_annotations(problems: Problems, metadata: Object | None, spec: Object, path: str) -> None:
    """``path`` is that of the annotations."""
    annotations = (metadata or {}).get("annotations")
    if not annotations:
        return
    if _MIRROR in annotations and not spec.get("nodeName"):
        why = "must set spec.nodeName if mirror pod annotation is set"
        problems.invalid(f"{path}[{_MIRROR}]", annotations[_MIRROR], why)
    cost = annotations.get(_DELETION_COST)
    if cost is not None and not (re.fullmatch("0|-?[1-9][0-9]{0,9}", cost) and -_INT32 - 1 <= int(cost) <= _INT32):
        problems.invalid(f"{path}[{_DELETION_COST}]", cost, "must be a 32bit integer")
    for key in sorted(annotations, key=lambda key: (key != SECCOMP_POD, key)):
        if key == SECCOMP_POD or key.startswith(SECCOMP_CONTAINER):
            _seccomp(problems, annotations[key] or "", f"{path}.{key}")
    names = {container.get("name") for _, container in containers_of(spec, "")}
    for key in sorted(key for key in annotations if key.startswith(APP_ARMOR)):
        name, profile = key.removeprefix(APP_ARMOR), annotations[key] or ""
        if name not in names:
            problems.invalid(f"{path}[{key}]", name, "container not found")
        if profile not in ("", "runtime/default", "unconfined") and not profile.startswith(_LOCAL):
            problems.invalid(f"{path}[{key}]", profile, f'invalid AppArmor profile name: "{profile}"')


def check_profiles(problems: Problems, metadata: Object | None, spec: Object, path: str) -> None:
    """Profiles that stand in an annotation and in a field are the same. ``path`` is that of the pod's spec."""
    annotations = (metadata or {}).get("annotations")
    if not annotations:
        return
    own = spec.get("securityContext") or {}
    windows = (spec.get("os") or {}).get("name") == "windows"
    if SECCOMP_POD in annotations:
        where = f"{path}.securityContext.seccompProfile"
        _agree(problems, annotations[SECCOMP_POD] or "", own.get("seccompProfile"), _SECCOMP, "seccomp", where)
    containers = containers_of(spec, path)
    for where, container in containers:
        asked = annotations.get(f"{SECCOMP_CONTAINER}{container.get('name')}")
        field = (container.get("securityContext") or {}).get("seccompProfile")
        if asked is not None:
            _agree(problems, asked, field, _SECCOMP, "seccomp", f"{where}.securityContext.seccompProfile")
    for where, container in containers if not windows else ():
        asked = annotations.get(f"{APP_ARMOR}{container.get('name')}")
        field = (container.get("securityContext") or {}).get("appArmorProfile") or own.get("appArmorProfile")
        if asked is not None:
            _agree(problems, asked, field, _ARMOR, "apparmor", f"{where}.securityContext.appArmorProfile")


def _seccomp(problems: Problems, profile: str, path: str) -> None:
    if profile in ("runtime/default", "docker/default", "unconfined"):
        return
    if profile.startswith(_LOCAL):
        local = profile.removeprefix(_LOCAL)
        problems.invalid(path, local, *relative_path(local))
    else:
        problems.invalid(path, profile, "must be a valid seccomp profile")


def _agree(
    problems: Problems, asked: str, field: Any, names: Mapping[str, tuple[str, ...]], what: str, path: str
) -> None:
    kind = str((field or {}).get("type") or "")
    if kind in names:
        if asked not in names[kind]:
            problems.forbidden(f"{path}.type", f"{what} type in annotation and field must match")
    elif kind == "Localhost":
        if not asked.startswith(_LOCAL):
            problems.forbidden(f"{path}.type", f"{what} type in annotation and field must match")
        elif asked.removeprefix(_LOCAL) != field.get("localhostProfile"):
            problems.forbidden(f"{path}.localhostProfile", f"{what} profile in annotation and field must match")
