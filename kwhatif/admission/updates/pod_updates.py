"""What must not change about pods.

Upstream: ValidatePodUpdate of pkg/apis/core/validation/validation.go, and plugin/pkg/admission/priority.
"""

from __future__ import annotations

from kwhatif.admission.answer import Object
from kwhatif.admission.request import copied, each, within
from kwhatif.admission.updates.normal import differing, same
from kwhatif.admission.updates.update_rules import Rules
from kwhatif.admission.validation.problems import Problems

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_FIELDS = ",".join(
    (
        *("`spec.containers[*].image`", "`spec.initContainers[*].image`", "`spec.activeDeadlineSeconds`"),
        "`spec.tolerations` (only additions to existing tolerations)",
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
    )
)
_MOST = 2**31 - 1
_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_MIRROR = "kubernetes.io/config.mirror"


def _prepare(new: Object, old: Object) -> None:
    """The priority that a pod was given stays, though its manifest does not speak of it."""
    spec, was = within(new, "spec"), old.get("spec") or {}
    for key in ("priority", "preemptionPolicy"):
        if spec.get(key) is None and was.get(key) is not None:
            spec[key] = was[key]
    if spec.get("serviceAccountName") and not spec.get("serviceAccount"):
        spec["serviceAccount"] = spec["serviceAccountName"]


def _check(problems: Problems, new: Object, old: Object) -> None:
    spec, was = new.get("spec") or {}, old.get("spec") or {}
    # Those that only hold for new pods.
    problems.causes = [cause for cause in problems.causes if "cannot be set " not in cause.message]
    _annotations(problems, new, old)
    for key in ("containers", "initContainers"):
        if len(each(spec, key)) != len(each(was, key)):
            problems.forbidden(f"spec.{key}", "pod updates may not add or remove containers")
            return
    if not _deadline(problems, spec.get("activeDeadlineSeconds"), was.get("activeDeadlineSeconds")):
        return
    _tolerations(problems, each(spec, "tolerations"), each(was, "tolerations"))
    _gates(problems, each(spec, "schedulingGates"), each(was, "schedulingGates"))
    rest = _pinned(spec, was)
    if each(was, "schedulingGates"):
        _directives(problems, rest, was)
    if not same(rest, was):
        why = f"pod updates may not change fields other than {_FIELDS}"
        problems.forbidden("spec", why + differing(rest, was, "spec"))


def _annotations(problems: Problems, new: Object, old: Object) -> None:
    now, was = ((pod.get("metadata") or {}).get("annotations") or {} for pod in (new, old))
    for key in sorted({*now, *was}):
        verb = "add" if key not in was else "remove or update"
        if now.get(key) != was.get(key) and (key.startswith(_APP_ARMOR) or key == _MIRROR):
            what = "mirror pod annotation" if key == _MIRROR else "AppArmor annotations"
            problems.forbidden(f"metadata.annotations[{key}]", f"may not {verb} {what}")


def _deadline(problems: Problems, now: int | None, was: int | None) -> bool:
    """Whether to go on: a deadline can be set, and be made shorter."""
    path = "spec.activeDeadlineSeconds"
    if now is None:
        if was is not None:
            problems.invalid(path, None, "must not update from a positive integer to nil value")
        return True
    if not 0 <= now <= _MOST:
        problems.invalid(path, now, f"must be between 0 and {_MOST}, inclusive")
        return False
    if was is not None and was < now:
        problems.invalid(path, now, "must be less than or equal to previous value")
        return False
    return True


def _tolerations(problems: Problems, now: list[Object], was: list[Object]) -> None:
    given = [_lasting(toleration) for toleration in now]
    if any(_lasting(toleration) not in given for toleration in was):
        problems.forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")


def _lasting(toleration: Object) -> Object:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds" and value not in (None, "")}


def _gates(problems: Problems, now: list[Object], was: list[Object]) -> None:
    known = {gate.get("name") for gate in was}
    for i, gate in enumerate(now):
        if gate.get("name") not in known:
            why = f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'"
            problems.forbidden(f"spec.schedulingGates[{i}].name", why)


def _pinned(spec: Object, was: Object) -> Object:
    """The new spec, with all that may change as it was."""
    rest: Object = copied(spec)
    for key in ("containers", "initContainers"):
        for container, before in zip(each(rest, key), each(was, key), strict=True):
            container["image"] = before.get("image")
    for key in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        rest[key] = was.get(key)
    grace = was.get("terminationGracePeriodSeconds")
    if grace is not None and grace < 0 and rest.get("terminationGracePeriodSeconds") == 1:
        rest["terminationGracePeriodSeconds"] = grace
    return rest


def _directives(problems: Problems, rest: Object, was: Object) -> None:
    """Where a gated pod may run can be narrowed down."""
    now, before = rest.get("nodeSelector") or {}, was.get("nodeSelector") or {}
    if any(now.get(key) != value for key, value in before.items()):
        why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        problems.invalid("spec.nodeSelector", now, why)
    rest["nodeSelector"] = was.get("nodeSelector")
    affinity, old = rest.get("affinity") or {}, was.get("affinity") or {}
    if not same(affinity.get("nodeAffinity"), old.get("nodeAffinity")):
        _node_affinity(problems, affinity.get("nodeAffinity") or {}, old.get("nodeAffinity") or {})
        left = {**affinity, "nodeAffinity": old.get("nodeAffinity")}
        rest["affinity"] = left if was.get("affinity") is not None or any(left.values()) else None


def _node_affinity(problems: Problems, now: Object, was: Object) -> None:
    path = f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
    terms, before = each(now.get(_REQUIRED), "nodeSelectorTerms"), each(was.get(_REQUIRED), "nodeSelectorTerms")
    if before and len(before) != len(terms):
        why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        problems.invalid(path, terms, why)
        return
    for i, (term, old) in enumerate(zip(terms, before, strict=False)):
        if not _only_additions(term, old):
            problems.invalid(f"{path}[{i}]", term, "only additions are allowed (no mutations or deletions)")


def _only_additions(term: Object, old: Object) -> bool:
    keys = ("matchExpressions", "matchFields")
    if not any(each(old, key) for key in keys):
        return not any(each(term, key) for key in keys)
    return all(same(each(term, key)[: len(each(old, key))], each(old, key)) for key in keys)


RULES = {"Pod": Rules(prepare=_prepare, check=_check)}
