"""Rules for pod templates, shared by all that make pods.

Upstream: pkg/apis/core/validation/validation.go and pkg/apis/apps/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Mapping

from kwhatif.admission.answer import Object
from kwhatif.admission.request import each
from kwhatif.admission.validation.name_rules import check_labels
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.validate_metadata import check_annotations
from kwhatif.admission.validation.validate_pod import check_pod_spec
from kwhatif.admission.validation.validate_profiles import check_pod_annotations, check_profiles
from kwhatif.api.decode import convert
from kwhatif.api.meta import LabelSelector
from kwhatif.api.selectors import Selector, SelectorError

_MISMATCH = "`selector` does not match template `labels`"


def check_template(problems: Problems, owner: Object, path: str) -> None:
    """The template of ``owner`` at ``path``."""
    template = owner.get("template") or {}
    spec, metadata = template.get("spec") or {}, template.get("metadata")
    check_labels(problems, (metadata or {}).get("labels"), f"{path}.labels")
    check_annotations(problems, (metadata or {}).get("annotations"), f"{path}.annotations")
    check_pod_annotations(problems, metadata, spec, f"{path}.annotations")
    check_pod_spec(problems, spec, f"{path}.spec")
    check_profiles(problems, metadata, spec, f"{path}.spec")
    if each(spec, "ephemeralContainers"):
        problems.forbidden(f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template")


def labels_match(problems: Problems, spec: Object, selector: Object | None) -> None:
    """A selector must select the pods of the template beside it."""
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if not matches(selector, labels):
        shown = labels and dict(sorted(labels.items()))
        problems.invalid("spec.template.metadata.labels", shown or None, _MISMATCH)


def shown_selector(selector: Object) -> Object:
    """A selector as upstream shows it: fields in their order, labels by key, nothing that is empty."""
    labels = dict(sorted((selector.get("matchLabels") or {}).items()))
    items = [
        {key: item[key] for key in ("key", "operator", "values") if item.get(key)}
        for item in each(selector, "matchExpressions")
    ]
    return {key: value for key, value in (("matchLabels", labels), ("matchExpressions", items)) if value}


def matches(selector: Object | None, labels: Mapping[str, str] | None) -> bool:
    """Whether a template's labels are selected. No selector selects nothing; a broken one is judged elsewhere."""
    if selector is None:
        return False
    try:
        compiled = Selector.of(convert(selector, LabelSelector))
    except SelectorError:
        return True
    return all(requirement.matches((labels or {}).get(requirement.key)) for requirement in compiled.requirements)


def not_negative(problems: Problems, owner: Object, key: str, path: str = "spec") -> None:
    value = owner.get(key)
    if value is not None and value < 0:
        problems.invalid(f"{path}.{key}", value, "must be greater than or equal to 0")


def only_always(problems: Problems, spec: Object, kind: str) -> None:
    """Pods that are replaced when they end restart their containers and have no deadline."""
    pod = (spec.get("template") or {}).get("spec") or {}
    if pod.get("restartPolicy") != "Always":
        problems.unsupported("spec.template.spec.restartPolicy", pod.get("restartPolicy"), ("Always",))
    if pod.get("activeDeadlineSeconds") is not None:
        why = f"activeDeadlineSeconds in {kind} is not Supported"
        problems.forbidden("spec.template.spec.activeDeadlineSeconds", why)
