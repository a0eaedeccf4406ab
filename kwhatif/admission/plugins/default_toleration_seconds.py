"""DefaultTolerationSeconds: five minutes on a node that is not ready or not reachable.

Upstream: plugin/pkg/admission/defaulttolerationseconds/admission.go.
"""

from __future__ import annotations

from kwhatif.admission.answer import Refused
from kwhatif.admission.request import Request, each, within

_KEYS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_SECONDS = 300


def admit(request: Request) -> Refused | None:
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
        request.changed("DefaultTolerationSeconds", "spec.tolerations", text)
    return None
