"""The annotation that once asked for an AppArmor profile becomes a field.

Upstream: pkg/registry/core/pod/strategy.go, pkg/api/pod/util.go.
"""

from __future__ import annotations

from kwhatif.admission.answer import Object
from kwhatif.admission.request import Request, containers_of, within
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.validate_profiles import APP_ARMOR
from kwhatif.admission.validation.validate_security import check_profile

_NAMES = {"unconfined": "Unconfined", "runtime/default": "RuntimeDefault"}
_LOCAL = "localhost/"


def copy_app_armor(request: Request) -> None:
    """Of a new pod; the server tells of every annotation that it copies or cannot read."""
    annotations = (request.object.get("metadata") or {}).get("annotations")
    spec = request.object.get("spec") or {}
    if not annotations or request.old is not None or (spec.get("os") or {}).get("name") == "windows":
        return
    own = (spec.get("securityContext") or {}).get("appArmorProfile")
    for _, container in containers_of(spec, ""):
        key = f"{APP_ARMOR}{container.get('name')}"
        if key not in annotations or (container.get("securityContext") or {}).get("appArmorProfile") is not None:
            continue
        profile = profile_of(annotations[key] or "")
        if profile is not None and profile != own:
            within(container, "securityContext")["appArmorProfile"] = profile
        if profile is None or profile != own:
            told = 'deprecated since v1.30; use the "appArmorProfile" field instead'
            request.warnings.append(f"metadata.annotations[{key}]: {told}")


def profile_of(annotation: str) -> Object | None:
    """The field that says what an annotation says, None if none can."""
    if annotation in _NAMES:
        return {"type": _NAMES[annotation]}
    local = annotation.removeprefix(_LOCAL)
    if local == annotation or not local:
        return None
    profile, problems = {"type": "Localhost", "localhostProfile": local}, Problems()
    check_profile(problems, profile, "AppArmor", "")
    return None if problems.causes else profile
