"""What must not change about definitions of custom resources.

Upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go. What was wrong before may stay so.
"""

from __future__ import annotations

from kwhatif.admission.answer import Object
from kwhatif.admission.kinds.definitions import check_definition
from kwhatif.admission.request import each
from kwhatif.admission.updates.update_rules import Fixed, Rules, immutable
from kwhatif.admission.validation.problems import Problems

_UNTIL = "and must remain in spec.versions until a storage migration ensures no data remains persisted in"


def _definition(problems: Problems, new: Object, old: Object) -> None:
    before = Problems(problems.features)
    check_definition(before, old)
    problems.causes = [cause for cause in problems.causes if cause not in before.causes]
    status = old.get("status") or {}
    established = any(
        (told.get("type"), told.get("status")) == ("Established", "True") for told in each(status, "conditions")
    )
    for path in (("spec.scope", "spec.names.kind") if established else ()) + ("spec.group", "spec.names.plural"):
        immutable(problems, Fixed(path), new, old)
    names = {version.get("name") for version in each(new.get("spec"), "versions")}
    for i, stored in enumerate(status.get("storedVersions") or ()):
        if stored not in names:
            was = f"{stored} was previously a storage version"
            why = (
                f"missing from spec.versions; {was}, {_UNTIL} {stored} and removes {stored} from status.storedVersions"
            )
            problems.invalid(f"status.storedVersions[{i}]", stored, why)


RULES = {"CustomResourceDefinition": Rules(check=_definition)}
