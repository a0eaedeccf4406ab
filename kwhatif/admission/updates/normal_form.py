"""A normal form of objects without defaults and empty values, so that a stored object and a manifest can be compared.

Upstream: pkg/apis/*/v1/defaults.go; for semantic equality apimachinery/pkg/api/equality.
"""

from __future__ import annotations

import json
from typing import Any

from kwhatif.admission.defaulting.unread_defaults import pull_policy
from kwhatif.admission.response import Object
from kwhatif.api.quantity import Quantity, QuantityError

DEFAULTS: dict[str, Any] = {
    "allocationMode": "ExactCount",
    "apiVersion": "v1",
    "count": 1,
    "defaultMode": 420,
    "divisor": "0",
    "dnsPolicy": "ClusterFirst",
    "enableServiceLinks": True,
    "expirationSeconds": 3600,
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
    "volumeMode": "Filesystem",
}
"""Field -> its default, wherever it stands."""


DEFAULTS |= dict.fromkeys(("hostIPC", "hostNetwork", "hostPID", "readOnly", "stdin", "stdinOnce", "tty"), False)
_AMOUNTS = ("limits", "requests", "overhead")
_MAPS = ("annotations", "labels", "matchLabels", "nodeSelector")
_EMPTY_ALL_THE_SAME = (*_AMOUNTS, *_MAPS, "metadata", "resources", "securityContext")


def plain(value: Any) -> Any:
    """Without empty values and without defaults that a field has everywhere.

    An empty object is kept (``emptyDir: {}``) except where it means the same as none.
    """
    if isinstance(value, list):
        return [plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {}
    for key, item in value.items():
        bare = _amounts(item) if key in _AMOUNTS and isinstance(item, dict) else item if key in _MAPS else plain(item)
        if bare in (None, [], "") or (bare == {} and key in _EMPTY_ALL_THE_SAME):
            continue
        if key in DEFAULTS and bare == DEFAULTS[key]:
            continue
        if key == "imagePullPolicy" and bare == pull_policy(str(value.get("image") or "")):
            continue
        kept[key] = bare
    return kept


def same(one: Any, other: Any) -> bool:
    """Whether two values mean the same."""
    return bool((plain(one) or None) == (plain(other) or None))


def differing(new: Object, old: Object, path: str) -> str:
    """The fields in which two objects differ, as lines of a difference."""
    was, now = plain(old), plain(new)
    parts = []
    for key in sorted({*was, *now}):
        if was.get(key) != now.get(key):
            parts.append(f"\n@@ {path}.{key} @@")
            parts += [f"\n- {_line(old[key])}"] if key in was else []
            parts += [f"\n+ {_line(new[key])}"] if key in now else []
    return "".join(parts)


def _line(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _amounts(amounts: Object) -> Object:
    return {name: _amount(text) for name, text in amounts.items()}


def _amount(text: object) -> object:
    try:
        return str(Quantity.from_json(text).milli_value())
    except QuantityError:
        return text
