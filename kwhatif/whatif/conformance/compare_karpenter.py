"""Compare answers with Karpenter's recorded decisions, field by field.

New NodeClaims are known by their pods; numbers agree within a billionth; of errors and reasons only the kind counts,
the words before the details; absent, null and empty are the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kwhatif.whatif.conformance.compare_autoscaling import same

_METHODS = ("empty", "multi", "single")
_DETAILS = re.compile(r", requirements=| \(|, key |, label |; specify ")
_KINDS = ("Not all pods would schedule", 'label "', "key ")


def karpenter_differences(wanted: Mapping[str, Any], got: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """The fields that differ, with what was recorded and what was answered."""
    left, right = _fields(wanted), _fields(got)
    for field in {**left, **right}:
        if not same(left.get(field), right.get(field)):
            yield field, left.get(field), right.get(field)


def _fields(answer: Mapping[str, Any]) -> dict[str, Any]:
    found = {
        "error": bool(answer.get("error")),
        "placed": answer.get("placed") or {},
        "notPending": sorted(answer.get("notPending") or ()),
        "skippedPools": sorted(answer.get("skippedPools") or ()),
        "relaxed": answer.get("relaxed") or {},
        **{name: _kinds(answer.get(name) or {}) for name in ("ignored", "errors")},
        **_claims("nodeClaims.", answer.get("nodeClaims") or ()),
    }
    for method in _METHODS:
        asked = (answer.get("disruption") or {}).get(method)
        if asked is None:
            continue
        command, prefix = asked.get("command") or {}, f"disruption.{method}."
        found |= {
            f"{prefix}candidates": asked.get("candidates") or {},
            f"{prefix}budgets": asked.get("budgets") or {},
            f"{prefix}command": [command.get("decision") or "", command.get("nodes") or []],
            f"{prefix}savings": command.get("savings") or 0,
            f"{prefix}placed": command.get("placed") or {},
            f"{prefix}reasons": {node: sorted(set(said)) for node, said in _kinds(asked.get("reasons") or {}).items()},
            **_claims(f"{prefix}replacements.", command.get("replacements") or ()),
        }
    return found


def _kinds(texts: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    return {key: sorted(map(_kind, said)) for key, said in texts.items()}


def _kind(text: str) -> str:
    return next((kind for kind in _KINDS if text.startswith(kind)), _DETAILS.split(text)[0].strip())


def _claims(prefix: str, claims: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    found = {
        "order": [[each["nodePool"], each["pods"]] for each in claims],
        "pods": sorted([each["nodePool"], sorted(each["pods"])] for each in claims),
        "priceOrder": {_name(each): each["instanceTypes"] for each in claims},
        "requirements": {_name(each): sorted(map(_requirement, each["requirements"])) for each in claims},
        "taints": {_name(each): [sorted(each.get(k) or ()) for k in ("taints", "startupTaints")] for each in claims},
        "labels": {_name(each): [each["labels"], bool(each.get("minValuesRelaxed"))] for each in claims},
        "requests": {_name(each): {k: n for k, n in each["requests"].items() if n} for each in claims},
        "cheapest": {_name(each): each["cheapest"] for each in claims},
    }
    return {prefix + name: value for name, value in found.items()}


def _name(claim: Mapping[str, Any]) -> str:
    return " ".join(sorted(claim["pods"]))


def _requirement(requirement: Mapping[str, Any]) -> list[Any]:
    values = sorted(requirement.get("values") or ())
    return [requirement["key"], requirement["operator"], values, requirement.get("minValues") or 0]
