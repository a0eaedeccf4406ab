"""DefaultTolerationSeconds: five minutes on a node that is not ready or not reachable.

Upstream: plugin/pkg/admission/defaulttolerationseconds/admission.go.
"""

from __future__ import annotations

from kwhatif.admission.request import Request, each, within
from kwhatif.admission.response import RequestRefusal

_KEYS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_SECONDS = 300


def admit(request: Request) -> RequestRefusal | None:
    if request.kind != "Pod":
        return None
    spec = within(request.object, "spec")
    given = each(spec, "tolerations")
    covered = {t.get("key") or "" for t in given if (t.get("effect") or "NoExecute") == "NoExecute"}
    if "" in covered:
        return None
    missing = [key for key in _KEYS if key not in covered]
    if missing:
        added = [
            {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _SECONDS} for key in missing
        ]
        spec["tolerations"] = [*given, *added]
        text = f"{' and '.join(missing)} tolerated for {_SECONDS} s"
        request.record_change("DefaultTolerationSeconds", "spec.tolerations", text)
    return None
