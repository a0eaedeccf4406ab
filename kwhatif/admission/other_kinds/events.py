"""Event: the core group judges it as ever, events.k8s.io strictly.

Upstream: pkg/apis/core/validation/events.go, pkg/registry/core/event/strategy.go.
"""

from __future__ import annotations

from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.object_store import group_of, namespace_of
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import dns_subdomain, label_key
from kwhatif.admission.validation.metadata import check_metadata, check_usual_metadata
from kwhatif.admission.validation.problems import Problems
from kwhatif.api.objects import section

_LONGEST = {"reportingInstance": 128, "action": 128, "reason": 128, "message": 1024}
_UNSET = ("FirstTimestamp", "LastTimestamp", "Count", "Source")


def _check(problems: Problems, obj: Object) -> None:
    strict = bool(group_of(obj))
    subject = section(obj, "regarding" if strict else "involvedObject").get("namespace") or ""
    home = namespace_of(obj)
    if obj.get("eventTime") is None:
        agrees = subject == home or (not subject and home == "default")
    else:
        agrees = bool(subject) or home in ("default", "kube-system")
    if not agrees:
        problems.invalid("involvedObject.namespace", subject, "does not match event.namespace")
    if obj.get("eventTime") is not None:
        _reporter(problems, obj.get(reporter := f"reporting{'Controller' if strict else 'Component'}") or "", reporter)
        for key, longest in _LONGEST.items():
            text = obj.get("note" if strict and key == "message" else key) or ""
            if not text and key != "message":
                problems.required(key)
            if len(text.encode()) > longest:
                problems.invalid(key, "", f"can have at most {longest} characters")
    problems.invalid("namespace", home, *dns_subdomain(home))
    if strict:
        check_metadata(problems, obj)
        _strictly(problems, obj)
    elif not problems.causes:
        check_usual_metadata(problems, obj)


def _reporter(problems: Problems, name: str, path: str) -> None:
    if not name:
        problems.required(path)
    problems.invalid(path, name, *label_key(name))


def _strictly(problems: Problems, obj: Object) -> None:
    series = obj.get("series")
    if series is not None:
        if (series.get("count") or 0) < 2:
            problems.invalid("series.count", "", "should be at least 2")
        if series.get("lastObservedTime") is None:
            problems.required("series.lastObservedTime")
    if obj.get("eventTime") is None:
        problems.required("eventTime")
    kind = obj.get("type") or ""
    if kind not in ("Normal", "Warning"):
        problems.invalid("type", "", f"has invalid value: {kind}")
    for key in _UNSET:
        if obj.get(f"deprecated{key}"):
            problems.invalid(key[0].lower() + key[1:], "", "needs to be unset")


STRATEGIES = {"Event": Strategy(check=_check, has_spec=False)}
