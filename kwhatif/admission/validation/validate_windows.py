"""Rules for what pods of one operating system must leave alone, and for the options of Windows.

Upstream: pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

import re

from kwhatif.admission.answer import Object
from kwhatif.admission.request import containers_of
from kwhatif.admission.validation.name_rules import dns_subdomain
from kwhatif.admission.validation.problems import Problems

_SPEC_LIMIT_KIB = 64
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
        problems.unsupported(f"{path}.os", name, _SYSTEMS)
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
        asked = _host_process(container)
        if own is not None and asked is not None and own != asked:
            why = f"pod hostProcess value must be identical if both are specified, was {str(own).lower()}"
            problems.invalid(f"{where}.securityContext.windowsOptions.hostProcess", asked, why)
        running += bool(own if asked is None else asked)
    if not running:
        return
    if running != number:
        why = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        problems.invalid(path, "", why)
    if not spec.get("hostNetwork"):
        why = "hostNetwork must be true if pod contains any hostProcess containers"
        problems.invalid(f"{path}.hostNetwork", False, why)


def check_windows_options(problems: Problems, options: Object | None, path: str) -> None:
    if not options:
        return
    name, spec = options.get("gmsaCredentialSpecName"), options.get("gmsaCredentialSpec")
    if name is not None:
        problems.invalid(f"{path}.gmsaCredentialSpecName", name, *dns_subdomain(name))
    if spec == "":
        problems.invalid(f"{path}.gmsaCredentialSpec", spec, "gmsaCredentialSpec cannot be an empty string")
    elif spec is not None and len(spec.encode()) > _SPEC_LIMIT_KIB * 1024:
        why = f"gmsaCredentialSpec size must be under {_SPEC_LIMIT_KIB} KiB"
        problems.invalid(f"{path}.gmsaCredentialSpec", spec, why)
    user = options.get("runAsUserName")
    if user is not None:
        problems.invalid(f"{path}.runAsUserName", user, *_user_rules(user))


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
        if (owner.get("securityContext") or {}).get("windowsOptions") is not None:
            why = "windows options cannot be set for a linux pod"
            problems.forbidden(f"{where}.securityContext.windowsOptions", why)


def _windows(problems: Problems, spec: Object, path: str) -> None:
    context = spec.get("securityContext") or {}
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
            if (container.get("securityContext") or {}).get(key) is not None:
                problems.forbidden(f"{where}.securityContext.{key}", why)


def _host_process(owner: Object) -> bool | None:
    found: bool | None = ((owner.get("securityContext") or {}).get("windowsOptions") or {}).get("hostProcess")
    return found
