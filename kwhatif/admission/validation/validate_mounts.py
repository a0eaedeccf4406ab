"""Rules for where the containers of a pod mount its volumes.

Upstream: pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Mapping

from kwhatif.admission.answer import Object
from kwhatif.admission.request import each
from kwhatif.admission.validation.file_paths import no_backsteps, relative_path
from kwhatif.admission.validation.problems import Problems

_PROPAGATION = ("Bidirectional", "HostToContainer", "None")
_READ_ONLY = ("Disabled", "Enabled", "IfPossible")


def check_mounts(problems: Problems, container: Object, volumes: Mapping[str, Object], path: str) -> None:
    """``volumes`` are those of the pod in which nothing is wrong. Some of upstream's paths leave the index out."""
    devices = {device.get("name"): device.get("devicePath") for device in each(container, "volumeDevices")}
    places: set[str] = set()
    for i, mount in enumerate(each(container, "volumeMounts")):
        where, name, place = f"{path}[{i}]", mount.get("name") or "", mount.get("mountPath") or ""
        if not name:
            problems.required(f"{where}.name")
        if name not in volumes:
            problems.not_found(f"{where}.name", name)
        if not place:
            problems.required(f"{where}.mountPath")
        if place in places:
            problems.invalid(f"{where}.mountPath", place, "must be unique")
        places.add(place)
        if name in devices:
            problems.invalid(f"{where}.name", name, "must not already exist in volumeDevices")
        if place in devices.values():
            problems.invalid(f"{where}.mountPath", place, "must not already exist as a path in volumeDevices")
        sub, expression = mount.get("subPath") or "", mount.get("subPathExpr") or ""
        problems.invalid(f"{path}.subPath", sub, *relative_path(sub))
        if sub and expression:
            why = "subPathExpr and subPath are mutually exclusive"
            problems.invalid(f"{where}.subPathExpr", expression, why)
        problems.invalid(f"{path}.subPathExpr", expression, *relative_path(expression))
        _propagation(problems, container, mount.get("mountPropagation"), f"{path}.mountPropagation")
        _read_only(problems, mount, f"{path}.recursiveReadOnly")


def check_devices(problems: Problems, container: Object, volumes: Mapping[str, Object], path: str) -> None:
    mounts = {mount.get("name"): mount.get("mountPath") for mount in each(container, "volumeMounts")}
    names: set[str] = set()
    places: set[str] = set()
    for i, device in enumerate(each(container, "volumeDevices")):
        where, name, place = f"{path}[{i}]", device.get("name") or "", device.get("devicePath") or ""
        volume = volumes.get(name)
        if not name:
            problems.required(f"{where}.name")
        if name in names:
            problems.invalid(f"{where}.name", name, "must be unique")
        if volume is None:
            problems.not_found(f"{where}.name", name)
        elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
            why = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            problems.invalid(f"{where}.name", name, why)
        if not place:
            problems.required(f"{where}.devicePath")
        if place in places:
            problems.invalid(f"{where}.devicePath", place, "must be unique")
        if no_backsteps(place):
            problems.invalid(f"{where}.devicePath", place, "can not contain backsteps ('..')")
        else:
            places.add(place)
        if name in mounts:
            problems.invalid(f"{where}.name", name, "must not already exist in volumeMounts")
        if place in mounts.values():
            problems.invalid(f"{where}.devicePath", place, "must not already exist as a path in volumeMounts")
        if name:
            names.add(name)


def _propagation(problems: Problems, container: Object, mode: str | None, path: str) -> None:
    if mode is None:
        return
    if mode not in _PROPAGATION:
        problems.unsupported(path, mode, _PROPAGATION)
    if mode == "Bidirectional" and not (container.get("securityContext") or {}).get("privileged"):
        problems.forbidden(path, "Bidirectional mount propagation is available only to privileged containers")


def _read_only(problems: Problems, mount: Object, path: str) -> None:
    mode = mount.get("recursiveReadOnly")
    if mode in ("Enabled", "IfPossible"):
        if not mount.get("readOnly"):
            problems.forbidden(path, "may only be specified when readOnly is true")
        if mount.get("mountPropagation") not in (None, "None"):
            problems.forbidden(path, "may only be specified when mountPropagation is None or not specified")
    elif mode is not None and mode not in _READ_ONLY:
        problems.unsupported(path, mode, _READ_ONLY)
