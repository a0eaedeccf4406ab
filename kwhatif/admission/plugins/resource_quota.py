"""ResourceQuota: no more in a namespace than its quotas allow.

Upstream: apiserver/pkg/admission/plugin/resourcequota/controller.go. What is used is counted from the objects of
the world; only of kinds that were never looked at the quota's own status is believed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kwhatif.admission.answer import Object, Refused
from kwhatif.admission.plugins.container_amounts import Amounts, amounts
from kwhatif.admission.plugins.quota_scopes import in_scope
from kwhatif.admission.plugins.quota_usage import OF_WHOLE_SERVICES, counted_names, must_specify, usage
from kwhatif.admission.request import Request
from kwhatif.admission.resources import known_kind
from kwhatif.admission.world import World, name_of, namespace_of
from kwhatif.api.quantity import Quantity
from kwhatif.versions import Features

_NOTHING = Quantity.from_units(0)
_FOR_POD = "resource.kubernetes.io/extended-resource-claim"
_Key = tuple[str, str]
_POD, _CLAIM = {"apiVersion": "v1", "kind": "Pod"}, {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim"}
_BESIDE = {"Pod": _CLAIM, "ResourceClaim": _POD}


@dataclass(slots=True)
class _Ledger:
    """What the objects of one kind in one namespace use: each one's share, and the sum for each quota."""

    shares: dict[_Key, tuple[Object, Amounts]] = field(default_factory=dict)
    sums: dict[str, Amounts] = field(default_factory=dict)


class Quotas:
    """Keeps count of what is used while objects come and go."""

    def __init__(self, world: World, features: Features) -> None:
        self._world, self._features = world, features
        self._ledgers: dict[tuple[str, str], _Ledger] = {}
        self._seen_later: dict[str, bool] = {}
        world.watch(self._observe)

    def _served(self, obj: Object) -> dict[str, str]:
        """By class of devices, the extended resource that pods may ask for instead; claims count for that, too.

        Not those that the scheduler makes for such pods: the pods count already.
        """
        if known_kind(obj) != "ResourceClaim" or not self._features.dra_extended_resource:
            return {}
        if ((obj.get("metadata") or {}).get("annotations") or {}).get(_FOR_POD) == "true":
            return {}
        classes = ((name_of(one), (one.get("spec") or {})) for one in self._world.all("DeviceClass"))
        return {name: spec["extendedResourceName"] for name, spec in classes if spec.get("extendedResourceName")}

    def _governs(self, quota: Object, obj: Object) -> bool:
        return bool(counted_names(obj, _hard(quota), self._served(obj))) and in_scope(quota, obj)

    def _usage(self, obj: Object) -> Amounts:
        return usage(obj, self._served(obj))

    def check(self, request: Request) -> Refused | None:
        """Refuse a request that would go beyond any quota of its namespace."""
        obj, kind = request.object, request.kind
        found = [quota for quota in self._world.all("ResourceQuota", request.namespace) if self._governs(quota, obj)]
        if kind == "ResourceQuota" or not found or not _counts(request):
            return None
        for quota in found:
            complaint = must_specify(obj, _hard(quota)) if kind == "Pod" else ""
            if complaint:
                return request.forbidden(f"failed quota: {name_of(quota)}: {complaint}")
        more = {name: amount for name, amount in self._usage(obj).items() if not amount.is_zero}
        before = self._usage(request.old) if request.old is not None else {}
        for quota in found:
            names = [name for name in counted_names(obj, _hard(quota), self._served(obj)) if name in more]
            problem = self._exceeded(quota, obj, {name: more[name] for name in names}, before)
            if problem:
                return request.forbidden(f"exceeded quota: {name_of(quota)}, {problem}")
        return None

    def rooms(self, objs: Iterable[Object]) -> dict[tuple[str, str], int]:
        """How many times all of these new objects together would still be let in, by quota and its resource.

        Quotas are called ``namespace/name``.
        """
        asked: dict[tuple[str, str], tuple[Quantity, int]] = {}
        for obj in objs:
            shares = {name: share for name, share in self._usage(obj).items() if not share.is_zero}
            for quota in self._world.all("ResourceQuota", namespace_of(obj)):
                if not self._governs(quota, obj):
                    continue
                hard, used = _hard(quota), self._used(quota, obj)
                for name in counted_names(obj, hard, self._served(obj)):
                    if name in shares:
                        key = (f"{namespace_of(quota)}/{name_of(quota)}", name)
                        before = asked.get(key, (_NOTHING, 0))[0]
                        asked[key] = (before + shares[name], (hard[name] - used.get(name, _NOTHING)).nano())
        return {key: max(left // share.nano(), 0) for key, (share, left) in asked.items()}

    def _exceeded(self, quota: Object, obj: Object, more: Amounts, before: Amounts) -> str:
        hard, used = _hard(quota), self._used(quota, obj)
        over = []
        for name, amount in sorted(more.items()):
            grows = amount > before.get(name, _NOTHING)
            total = used.get(name, _NOTHING) + amount
            if grows and total > hard[name] + before.get(name, _NOTHING):
                over.append(name)
        if not over:
            return ""
        asked = {name: _difference(more[name], before.get(name)) for name in over}
        return f"requested: {_listed(asked)}, used: {_listed(used, over)}, limited: {_listed(hard, over)}"

    def _used(self, quota: Object, obj: Object) -> Amounts:
        """What counts for a quota: pods and claims of devices may count for the same.

        Where not all of both are known, the quota's status tells of both.
        """
        used, other = self._used_alike(quota, obj), _BESIDE.get(known_kind(obj))
        if other is None or not self._served(_CLAIM) or not all(map(self._world.knows, _BESIDE)):
            return used
        beside = self._used_alike(quota, {**other, "metadata": {"namespace": namespace_of(quota)}})
        return {name: amount + beside.get(name, _NOTHING) for name, amount in used.items()}

    def _used_alike(self, quota: Object, obj: Object) -> Amounts:
        ledger = self._ledger(obj["kind"], namespace_of(quota))
        name = name_of(quota)
        if name not in ledger.sums:
            ledger.sums[name] = self._counted(quota, obj, ledger)
        return ledger.sums[name]

    def _counted(self, quota: Object, obj: Object, ledger: _Ledger) -> Amounts:
        names = counted_names(obj, _hard(quota), self._served(obj))
        total = dict.fromkeys(names, _NOTHING)
        told = names if self._seen_later.get(obj["kind"]) else OF_WHOLE_SERVICES.intersection(names)
        if told is names or any(self._world.is_sketch(other) for other, _ in ledger.shares.values()):
            said = amounts((quota.get("status") or {}).get("used"))
            total.update({name: said[name] for name in told if name in said})
        for other, share in ledger.shares.values():
            if in_scope(quota, other):
                _add(total, share)
        return total

    def _ledger(self, kind: str, namespace: str) -> _Ledger:
        ledger = self._ledgers.get((kind, namespace))
        if ledger is None:
            self._seen_later.setdefault(kind, not self._world.knows(kind))
            ledger = self._ledgers[kind, namespace] = _Ledger()
            for obj in self._world.all(kind, namespace):
                ledger.shares[kind, name_of(obj)] = (obj, self._usage(obj))
        return ledger

    def _observe(self, before: Object | None, now: Object | None) -> None:
        """Something in the world changed: a new object is added to the sums, else they are drawn up anew."""
        obj = now if now is not None else before
        if obj is None:
            return
        if obj["kind"] == "ResourceQuota":
            for (_, namespace), ledger in self._ledgers.items():
                if namespace == namespace_of(obj):
                    ledger.sums.clear()
        mine = self._ledgers.get((obj["kind"], namespace_of(obj)))
        if mine is None:
            return
        key = obj["kind"], name_of(obj)
        if now is None:
            mine.shares.pop(key, None)
            mine.sums.clear()
            return
        share = self._usage(now)
        mine.shares[key] = (now, share)
        if before is not None:
            mine.sums.clear()
            return
        for quota in self._world.all("ResourceQuota", namespace_of(now)):
            if name_of(quota) in mine.sums and in_scope(quota, now):
                _add(mine.sums[name_of(quota)], share)


def _counts(request: Request) -> bool:
    """A new object counts; of changed ones only claims, services, and a pod that now ends by itself, or no longer."""
    if request.old is None or request.kind in ("PersistentVolumeClaim", "ResourceClaim", "Service"):
        return True
    ends = [(obj.get("spec") or {}).get("activeDeadlineSeconds") is not None for obj in (request.object, request.old)]
    return request.kind == "Pod" and ends[0] != ends[1]


def _hard(quota: Object) -> Amounts:
    return amounts((quota.get("spec") or {}).get("hard"))


def _add(total: Amounts, share: Amounts) -> None:
    for name in total.keys() & share.keys():
        total[name] += share[name]


def _difference(more: Quantity, before: Quantity | None) -> Quantity:
    return more if before is None or before.is_zero else more + Quantity.parse(f"-{before}")


def _listed(found: Amounts, names: Iterable[str] | None = None) -> str:
    return ",".join(f"{name}={found.get(name, _NOTHING)}" for name in sorted(found if names is None else names))
