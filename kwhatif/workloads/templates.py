"""Whether two pod templates mean the same: an object as stored has defaults that its manifest leaves out.

Upstream: pkg/controller/deployment/util/deployment_util.go (EqualIgnoreHash); defaults: pkg/apis/core/v1/defaults.go.
"""

from __future__ import annotations

import json

from kwhatif.admission.answer import Object
from kwhatif.admission.updates.normal import plain
from kwhatif.workloads.objects import copied, section

HASH_LABEL = "pod-template-hash"


def same_template(one: Object, other: Object) -> bool:
    """Whether two templates make the same pods; the label that tells replica sets apart does not count."""
    return canonical(one) == canonical(other)


def canonical(template: Object) -> str:
    """A text that two templates share if they mean the same."""
    bare = copied(template)
    section(bare, "metadata", "labels").pop(HASH_LABEL, None)
    section(bare, "metadata").pop("creationTimestamp", None)
    section(bare, "metadata").pop("name", None)
    section(bare, "spec").pop("serviceAccount", None)
    return json.dumps(plain(bare), sort_keys=True, separators=(",", ":"))


def fits(pod: Object, template: Object) -> bool:
    """Whether a pod may have been made from a template: it has all that the template says, and maybe more."""
    labels = section(template, "metadata", "labels")
    return labels.items() <= section(pod, "metadata", "labels").items() and _covers(
        plain(section(pod, "spec")), plain(section(template, "spec"))
    )


def _covers(wide: object, narrow: object) -> bool:
    """Whether all that ``narrow`` says is also in ``wide``; items of a list may be in any place."""
    if isinstance(narrow, dict):
        return isinstance(wide, dict) and all(_covers(wide.get(key), item) for key, item in narrow.items())
    if isinstance(narrow, list):
        return isinstance(wide, list) and all(any(_covers(have, item) for have in wide) for item in narrow)
    return wide == narrow
