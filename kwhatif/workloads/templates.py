"""Whether two pod templates mean the same: an object as stored has defaults that its manifest leaves out.

Upstream: pkg/controller/deployment/util/deployment_util.go (EqualIgnoreHash); defaults: pkg/apis/core/v1/defaults.go.
"""

from __future__ import annotations

import json
from typing import Any

from kwhatif.admission.answer import Object
from kwhatif.api.quantity import Quantity, QuantityError
from kwhatif.workloads.objects import copied, section

__all__ = ["HASH_LABEL", "canonical", "fits", "same_template"]

HASH_LABEL = "pod-template-hash"

_DEFAULTS: dict[str, Any] = {
    "apiVersion": "v1",
    "defaultMode": 420,
    "dnsPolicy": "ClusterFirst",
    "failureThreshold": 3,
    "initialDelaySeconds": 0,
    "periodSeconds": 10,
    "preemptionPolicy": "PreemptLowerPriority",
    "protocol": "TCP",
    "restartPolicy": "Always",
    "scheme": "HTTP",
    "schedulerName": "default-scheduler",
    "successThreshold": 1,
    "terminationGracePeriodSeconds": 30,
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "timeoutSeconds": 1,
}
_DEFAULTS |= dict.fromkeys(("hostIPC", "hostNetwork", "hostPID", "readOnly", "stdin", "stdinOnce", "tty"), False)
_AMOUNTS = ("limits", "requests", "overhead")
_MAPS = ("annotations", "labels", "matchLabels", "nodeSelector")
_EMPTY_ALL_THE_SAME = (*_AMOUNTS, *_MAPS, "metadata", "resources", "securityContext")


def same_template(one: Object, other: Object) -> bool:
    """Whether two templates make the same pods; the label that tells replica sets apart does not count."""
    return canonical(one) == canonical(other)


def canonical(template: Object) -> str:
    """A text that two templates share if they mean the same."""
    plain = copied(template)
    section(plain, "metadata", "labels").pop(HASH_LABEL, None)
    section(plain, "metadata").pop("creationTimestamp", None)
    section(plain, "metadata").pop("name", None)
    section(plain, "spec").pop("serviceAccount", None)
    return json.dumps(_plain(plain), sort_keys=True, separators=(",", ":"))


def fits(pod: Object, template: Object) -> bool:
    """Whether a pod may have been made from a template: it has all that the template says, and maybe more."""
    labels = section(template, "metadata", "labels")
    return labels.items() <= section(pod, "metadata", "labels").items() and _covers(
        _plain(section(pod, "spec")), _plain(section(template, "spec"))
    )


def _covers(wide: object, narrow: object) -> bool:
    """Whether all that ``narrow`` says is also in ``wide``; items of a list may be in any place."""
    if isinstance(narrow, dict):
        return isinstance(wide, dict) and all(_covers(wide.get(key), item) for key, item in narrow.items())
    if isinstance(narrow, list):
        return isinstance(wide, list) and all(any(_covers(have, item) for have in wide) for item in narrow)
    return wide == narrow


def _plain(value: Any) -> Any:
    """Without what says nothing: empty values and the defaults of fields that have one everywhere.

    An empty object is something (``emptyDir: {}``) but where it is the same as none.
    """
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {}
    for key, item in value.items():
        plain = _amounts(item) if key in _AMOUNTS and item else item if key in _MAPS else _plain(item)
        if plain in (None, [], "") or (plain == {} and key in _EMPTY_ALL_THE_SAME):
            continue
        if key in _DEFAULTS and plain == _DEFAULTS[key]:
            continue
        if key == "imagePullPolicy" and plain == _pull_policy(str(value.get("image") or "")):
            continue
        kept[key] = plain
    return kept


def _amounts(amounts: Object) -> Object:
    return {name: _amount(text) for name, text in amounts.items()}


def _amount(text: object) -> object:
    try:
        return str(Quantity.from_json(text).milli_value())
    except QuantityError:
        return text


def _pull_policy(image: str) -> str:
    """The default for an image: the newest is pulled always."""
    tag = image.rpartition("/")[2].partition(":")[2]
    return "Always" if tag in ("", "latest") and "@" not in image else "IfNotPresent"
