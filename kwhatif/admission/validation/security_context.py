"""Validation of security contexts, of Windows and Linux pods, and of seccomp and AppArmor annotations.

Upstream: pkg/apis/core/validation/validation.go. Privileged containers are assumed to be allowed
(``--allow-privileged``, as all clusters run). Profiles in annotations are still read, and must agree with the fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from kwhatif.admission.request import containers_of, each
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import relative_path
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.rows import table
from kwhatif.api.objects import section

_LONGEST_DOMAIN, _LONGEST_USER = 256, 104
_NET_BIOS = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
_DNS_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DNS = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*")
_FORBIDDEN_SIGNS = re.compile(r'["/\\:;|=,+*?<>@\[\]]')
_SYSTEMS = ("linux", "windows")
_LINUX_ONLY_FIRST = ("appArmorProfile", "seLinuxOptions")
_LINUX_ONLY_IN_POD = (
    *("seccompProfile", "fsGroup", "fsGroupChangePolicy", "sysctls", "shareProcessNamespace"),
    *("runAsUser", "runAsGroup", "supplementalGroups", "supplementalGroupsPolicy", "seLinuxChangePolicy"),
)
_LINUX_ONLY_IN_CONTAINERS = (
    *(*_LINUX_ONLY_FIRST, "seccompProfile", "capabilities", "readOnlyRootFilesystem", "privileged"),
    *("allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup"),
)


def check_operating_system(problems: Problems, spec: Object, path: str) -> None:
    """What a pod says that names its operating system; nothing if it names none."""
    system = spec.get("os")
    if system is None:
        return
    name = system.get("name") or ""
    if not name:
        problems.required(f"{path}.os.name")
    elif name not in _SYSTEMS:
        problems.not_supported(f"{path}.os", name, _SYSTEMS)
    elif name == "linux":
        _linux(problems, spec, path)
    else:
        _windows(problems, spec, path)


def check_host_processes(problems: Problems, spec: Object, path: str) -> None:
    """If a container runs as a process of its Windows node, all of the pod do."""
    own = _host_process(spec)
    number = running = 0
    for where, container in containers_of(spec, path):
        number += 1
        host_process = _host_process(container)
        if own is not None and host_process is not None and own != host_process:
            why = f"pod hostProcess value must be identical if both are specified, was {str(own).lower()}"
            problems.invalid(f"{where}.securityContext.windowsOptions.hostProcess", host_process, why)
        running += bool(own if host_process is None else host_process)
    if not running:
        return
    if running != number:
        why = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        problems.invalid(path, "", why)
    if not spec.get("hostNetwork"):
        why = "hostNetwork must be true if pod contains any hostProcess containers"
        problems.invalid(f"{path}.hostNetwork", False, why)


def _user_rules(whole: str) -> list[str]:
    """``DOMAIN\\user`` or a user alone."""
    if not whole:
        return ["runAsUserName cannot be an empty string"]
    if re.search(r"[\x00-\x1f\x7f]", whole):
        return ["runAsUserName cannot contain control characters"]
    if whole.count("\\") > 1:
        return ["runAsUserName cannot contain more than one backslash"]
    domain, slash, user = whole.rpartition("\\")
    wrong = []
    if len(domain.encode()) >= _LONGEST_DOMAIN:
        wrong.append(f"runAsUserName's Domain length must be under {_LONGEST_DOMAIN} characters")
    if slash and not (_NET_BIOS.fullmatch(domain) or _DNS.fullmatch(domain)):
        wrong.append("runAsUserName's Domain doesn't match the NetBios nor the DNS format")
    if not user:
        wrong.append("runAsUserName's User cannot be empty")
    elif len(user.encode()) > _LONGEST_USER:
        wrong.append(f"runAsUserName's User length must not be longer than {_LONGEST_USER} characters")
    if re.fullmatch("[. ]+", user):
        wrong.append("runAsUserName's User cannot contain only periods or spaces")
    if _FORBIDDEN_SIGNS.search(user):
        wrong.append("runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]")
    return wrong


def _linux(problems: Problems, spec: Object, path: str) -> None:
    for where, owner in ((path, spec), *containers_of(spec, path)):
        if section(owner, "securityContext").get("windowsOptions") is not None:
            why = "windows options cannot be set for a linux pod"
            problems.forbidden(f"{where}.securityContext.windowsOptions", why)


def _windows(problems: Problems, spec: Object, path: str) -> None:
    context = section(spec, "securityContext")
    why = "cannot be set for a windows pod"
    for key in _LINUX_ONLY_FIRST:
        if context.get(key) is not None:
            problems.forbidden(f"{path}.securityContext.{key}", why)
    for key in ("hostUsers", "hostPID", "hostIPC"):
        if spec.get(key) is not None if key == "hostUsers" else spec.get(key):
            problems.forbidden(f"{path}.{key}", why)
    for key in _LINUX_ONLY_IN_POD:
        outside = key == "shareProcessNamespace"
        value = (spec if outside else context).get(key)
        if value is not None and (key != "sysctls" or value):
            problems.forbidden(f"{path}.{key}" if outside else f"{path}.securityContext.{key}", why)
    for where, container in containers_of(spec, path):
        for key in _LINUX_ONLY_IN_CONTAINERS:
            if section(container, "securityContext").get(key) is not None:
                problems.forbidden(f"{where}.securityContext.{key}", why)


def _host_process(owner: Object) -> bool | None:
    host_process: bool | None = section(owner, "securityContext", "windowsOptions").get("hostProcess")
    return host_process


_INT32 = 2**31 - 1
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_LONGEST_PATH = 4095
_SYSCTL_PART = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = rf"({_SYSCTL_PART}[\./])*{_SYSCTL_PART}"
_LONGEST_SYSCTL = 253
_SHARED = re.compile(r"kernel\.(sem|shmall|shmmax|shmmni|shm_rmid_forced|shm|msgmax|msgmnb|msgmni|msg)|fs\.mqueue\..*")


def _escalation(problems: Problems, context: Object, path: str) -> None:
    """What makes a process privileged cannot go with a ban on becoming so."""
    why = "cannot set `allowPrivilegeEscalation` to false and"
    if context.get("privileged"):
        problems.invalid(path, context, f"{why} `privileged` to true")
    for capability in section(context, "capabilities").get("add") or ():
        if capability == "CAP_SYS_ADMIN":
            problems.invalid(path, context, f"{why} `capabilities.Add` CAP_SYS_ADMIN")


def check_profile(problems: Problems, profile: Object, what: str, path: str) -> None:
    """A profile of ``seccomp`` or ``AppArmor``."""
    kind, local = profile.get("type") or "", profile.get("localhostProfile")
    where, field = f"{path}.localhostProfile", "seccompProfile" if what == "seccomp" else "appArmorProfile"
    if not kind:
        problems.required(f"{path}.type", f"type is required when {field} is set")
    elif kind not in _PROFILES:
        problems.not_supported(f"{path}.type", kind, _PROFILES)
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


def _seccomp_profile(problems: Problems, profile: Object, path: str) -> None:
    check_profile(problems, profile, "seccomp", path)


def _app_armor_profile(problems: Problems, profile: Object, path: str) -> None:
    check_profile(problems, profile, "AppArmor", path)


def _app_armor_path(problems: Problems, local: str, path: str) -> None:
    if local.strip() != local:
        problems.invalid(path, local, "must not be padded with whitespace")
    elif not local:
        problems.required(path, "must be set when AppArmor type is Localhost")
    if len(local.encode()) > _LONGEST_PATH:
        problems.too_long(path, _LONGEST_PATH)


def _sysctls(problems: Problems, spec: Object, path: str) -> None:
    names: set[str] = set()
    for i, sysctl in enumerate(each(spec.get("securityContext"), "sysctls")):
        where, name = f"{path}.securityContext.sysctls[{i}].name", sysctl.get("name") or ""
        if not name:
            problems.required(where)
        elif len(name) > _LONGEST_SYSCTL or not re.fullmatch(_SYSCTL, name):
            why = f"must have at most {_LONGEST_SYSCTL} characters and match regex ^{_SYSCTL}$"
            problems.invalid(where, name, why)
        elif name in names:
            problems.duplicate(where, name)
        names.add(name)
        whole = _convert_to_dots(name).partition("*")[0]
        if spec.get("hostNetwork") and whole.startswith("net."):
            problems.invalid(where, name, "may not be specified when 'hostNetwork' is true")
        elif spec.get("hostIPC") and _SHARED.fullmatch(whole):
            problems.invalid(where, name, "may not be specified when 'hostIPC' is true")


def _convert_to_dots(name: str) -> str:
    """A name that is split by slashes may have dots in its parts: the first of them tells which it is."""
    first = re.search(r"[./]", name)
    if first is None or first[0] == ".":
        return name
    return name.translate(str.maketrans("./", "/."))


_WINDOWS = f"""
    windowsOptions?.gmsaCredentialSpecName    dns_subdomain
    windowsOptions?.gmsaCredentialSpec        not empty: gmsaCredentialSpec cannot be an empty string
    windowsOptions?.gmsaCredentialSpec        max_bytes {64 * 1024}: gmsaCredentialSpec size must be under 64 KiB
    windowsOptions?.runAsUserName             _user_rules
"""
_RULES: dict[str, Callable[..., Any]] = {
    **{rule.__name__: rule for rule in (_user_rules, _seccomp_profile, _app_armor_profile, _sysctls, _escalation)},
    "empty": lambda text: text == "",
    "set_to_false": lambda context: context.get("allowPrivilegeEscalation") is False,
}
check_pod_security = table(
    f"""
    securityContext.fsGroup                   between 0 {_INT32}
    securityContext.runAsUser                 between 0 {_INT32}
    securityContext.runAsGroup                between 0 {_INT32}
    securityContext.supplementalGroups[]      number & between 0 {_INT32}
    shareProcessNamespace                     if_nonempty & invalid if hostPID @ securityContext.shareProcessNamespace:
            ShareProcessNamespace and HostPID cannot both be enabled
    .                                         _sysctls
    securityContext.fsGroupChangePolicy       one_of Always OnRootMismatch
    securityContext.seccompProfile            _seccomp_profile
    {_WINDOWS.replace("windowsOptions", "securityContext.windowsOptions")}
    securityContext.appArmorProfile           _app_armor_profile
    securityContext.supplementalGroupsPolicy  one_of Merge Strict
    securityContext.seLinuxChangePolicy       one_of Recursive
    """,
    **_RULES,
)
_UNMASKED = "procMount invalid if procMount=Unmasked: `hostUsers` must be false to use `Unmasked`"
check_container_security = {
    own_users: table(
        f"""
    runAsUser                                 between 0 {_INT32}
    runAsGroup                                between 0 {_INT32}
    procMount                                 one_of Default Unmasked
    {"" if own_users else _UNMASKED}
    seccompProfile                            _seccomp_profile
    .                                         _escalation if set_to_false
    {_WINDOWS}
    appArmorProfile                           _app_armor_profile
    """,
        **_RULES,
    )
    for own_users in (True, False)
}
"""By whether the pod has users of its own, and not those of its node."""


APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_MIRROR = "kubernetes.io/config.mirror"
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
    own = section(spec, "securityContext")
    windows = section(spec, "os").get("name") == "windows"
    if SECCOMP_POD in annotations:
        where = f"{path}.securityContext.seccompProfile"
        _agree(problems, annotations[SECCOMP_POD] or "", own.get("seccompProfile"), _SECCOMP, "seccomp", where)
    containers = containers_of(spec, path)
    for where, container in containers:
        profile = annotations.get(f"{SECCOMP_CONTAINER}{container.get('name')}")
        field = section(container, "securityContext").get("seccompProfile")
        if profile is not None:
            _agree(problems, profile, field, _SECCOMP, "seccomp", f"{where}.securityContext.seccompProfile")
    for where, container in containers if not windows else ():
        profile = annotations.get(f"{APP_ARMOR}{container.get('name')}")
        field = section(container, "securityContext").get("appArmorProfile") or own.get("appArmorProfile")
        if profile is not None:
            _agree(problems, profile, field, _ARMOR, "apparmor", f"{where}.securityContext.appArmorProfile")


def _seccomp(problems: Problems, profile: str, path: str) -> None:
    if profile in ("runtime/default", "docker/default", "unconfined"):
        return
    if profile.startswith(_LOCAL):
        local = profile.removeprefix(_LOCAL)
        problems.invalid(path, local, *relative_path(local))
    else:
        problems.invalid(path, profile, "must be a valid seccomp profile")


def _agree(
    problems: Problems, requested: str, field: Any, names: Mapping[str, tuple[str, ...]], what: str, path: str
) -> None:
    kind = str((field or {}).get("type") or "")
    if kind in names:
        if requested not in names[kind]:
            problems.forbidden(f"{path}.type", f"{what} type in annotation and field must match")
    elif kind == "Localhost":
        if not requested.startswith(_LOCAL):
            problems.forbidden(f"{path}.type", f"{what} type in annotation and field must match")
        elif requested.removeprefix(_LOCAL) != field.get("localhostProfile"):
            problems.forbidden(f"{path}.localhostProfile", f"{what} profile in annotation and field must match")
