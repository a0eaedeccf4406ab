"""Rules for security contexts of pods and containers.

Upstream: pkg/apis/core/validation/validation.go. Privileged containers are taken to be allowed
(``--allow-privileged``, as all clusters run).
"""

from __future__ import annotations

import re
from typing import Any

from kwhatif.admission.answer import Object
from kwhatif.admission.request import each
from kwhatif.admission.validation.file_paths import relative_path
from kwhatif.admission.validation.name_rules import within_range
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.validate_windows import check_windows_options

_INT32 = 2**31 - 1
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_LONGEST_PATH = 4095
_SYSCTL_PART = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = rf"({_SYSCTL_PART}[\./])*{_SYSCTL_PART}"
_LONGEST_SYSCTL = 253
_SHARED = re.compile(r"kernel\.(sem|shmall|shmmax|shmmni|shm_rmid_forced|shm|msgmax|msgmnb|msgmni|msg)|fs\.mqueue\..*")
_CHOICES = {
    "fsGroupChangePolicy": ("Always", "OnRootMismatch"),
    "supplementalGroupsPolicy": ("Merge", "Strict"),
    "seLinuxChangePolicy": ("MountOption", "Recursive"),
}


def check_pod_security(problems: Problems, spec: Object, path: str) -> None:
    """``path`` is that of the security context."""
    context = spec.get("securityContext") or {}
    for key in ("fsGroup", "runAsUser", "runAsGroup"):
        _identity(problems, context.get(key), f"{path}.{key}")
    for i, group in enumerate(context.get("supplementalGroups") or ()):
        _identity(problems, group or 0, f"{path}.supplementalGroups[{i}]")
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        why = "ShareProcessNamespace and HostPID cannot both be enabled"
        problems.invalid(f"{path}.shareProcessNamespace", True, why)
    _sysctls(problems, spec, each(context, "sysctls"), f"{path}.sysctls")
    _choice(problems, context, "fsGroupChangePolicy", path)
    _profile_of(problems, context.get("seccompProfile"), "seccomp", f"{path}.seccompProfile")
    check_windows_options(problems, context.get("windowsOptions"), f"{path}.windowsOptions")
    _profile_of(problems, context.get("appArmorProfile"), "AppArmor", f"{path}.appArmorProfile")
    _choice(problems, context, "supplementalGroupsPolicy", path)
    _choice(problems, context, "seLinuxChangePolicy", path)


def check_container_security(problems: Problems, context: Object | None, path: str, *, own_users: bool) -> None:
    """``own_users``: the pod has users of its own, and not those of its node."""
    if not context:
        return
    _identity(problems, context.get("runAsUser"), f"{path}.runAsUser")
    _identity(problems, context.get("runAsGroup"), f"{path}.runAsGroup")
    mount = context.get("procMount")
    if mount is not None and mount not in ("Default", "Unmasked"):
        problems.unsupported(f"{path}.procMount", mount, ("Default", "Unmasked"))
    if mount == "Unmasked" and not own_users:
        problems.invalid(f"{path}.procMount", mount, "`hostUsers` must be false to use `Unmasked`")
    _profile_of(problems, context.get("seccompProfile"), "seccomp", f"{path}.seccompProfile")
    if context.get("allowPrivilegeEscalation") is False:
        why = "cannot set `allowPrivilegeEscalation` to false and"
        if context.get("privileged"):
            problems.invalid(path, context, f"{why} `privileged` to true")
        for added in (context.get("capabilities") or {}).get("add") or ():
            if added == "CAP_SYS_ADMIN":
                problems.invalid(path, context, f"{why} `capabilities.Add` CAP_SYS_ADMIN")
    check_windows_options(problems, context.get("windowsOptions"), f"{path}.windowsOptions")
    _profile_of(problems, context.get("appArmorProfile"), "AppArmor", f"{path}.appArmorProfile")


def check_profile(problems: Problems, profile: Object, what: str, path: str) -> None:
    """A profile of ``seccomp`` or ``AppArmor``."""
    kind, local = profile.get("type") or "", profile.get("localhostProfile")
    where, field = f"{path}.localhostProfile", "seccompProfile" if what == "seccomp" else "appArmorProfile"
    if not kind:
        problems.required(f"{path}.type", f"type is required when {field} is set")
    elif kind not in _PROFILES:
        problems.unsupported(f"{path}.type", kind, _PROFILES)
    if kind == "Localhost":
        if local is None:
            problems.required(where, f"must be set when {what} type is Localhost")
        elif what == "seccomp":
            problems.invalid(where, local, *relative_path(local))
        else:
            _app_armor_path(problems, local, where)
    elif local is not None and (what == "seccomp" or kind in _PROFILES):
        problems.invalid(
            where, profile if what == "seccomp" else local, f"can only be set when {what} type is Localhost"
        )


def _profile_of(problems: Problems, profile: Object | None, what: str, path: str) -> None:
    if profile is not None:
        check_profile(problems, profile, what, path)


def _app_armor_path(problems: Problems, local: str, path: str) -> None:
    if local.strip() != local:
        problems.invalid(path, local, "must not be padded with whitespace")
    elif not local:
        problems.required(path, "must be set when AppArmor type is Localhost")
    if len(local.encode()) > _LONGEST_PATH:
        problems.too_long(path, _LONGEST_PATH)


def _identity(problems: Problems, number: int | None, path: str) -> None:
    if number is not None:
        problems.invalid(path, number, *within_range(number, 0, _INT32))


def _choice(problems: Problems, context: Object, key: str, path: str) -> None:
    value: Any = context.get(key)
    if value is not None and value not in _CHOICES[key]:
        problems.unsupported(f"{path}.{key}", value, _CHOICES[key])


def _sysctls(problems: Problems, spec: Object, sysctls: list[Object], path: str) -> None:
    names: set[str] = set()
    for i, sysctl in enumerate(sysctls):
        where, name = f"{path}[{i}].name", sysctl.get("name") or ""
        if not name:
            problems.required(where)
        elif len(name) > _LONGEST_SYSCTL or not re.fullmatch(_SYSCTL, name):
            why = f"must have at most {_LONGEST_SYSCTL} characters and match regex ^{_SYSCTL}$"
            problems.invalid(where, name, why)
        elif name in names:
            problems.duplicate(where, name)
        names.add(name)
        whole = _dotted(name).partition("*")[0]
        if spec.get("hostNetwork") and whole.startswith("net."):
            problems.invalid(where, name, "may not be specified when 'hostNetwork' is true")
        elif spec.get("hostIPC") and _SHARED.fullmatch(whole):
            problems.invalid(where, name, "may not be specified when 'hostIPC' is true")


def _dotted(name: str) -> str:
    """A name that is split by slashes may have dots in its parts: the first of them tells which it is."""
    first = re.search(r"[./]", name)
    if first is None or first[0] == ".":
        return name
    return name.translate(str.maketrans("./", "/."))
