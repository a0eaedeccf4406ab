"""The devices of a snapshot by driver and class: how many there are, where, and how many are allocated."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.api.core import Node
from kwhatif.api.devices import ResourceSlice
from kwhatif.cluster.claim_store import DeviceId
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shape_table import ShapeTable
from kwhatif.devices.inventory import Inventory
from kwhatif.devices.selection import selection_of
from kwhatif.results.snapshot_info import DeviceUse
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.versions import Features

NO_CLASS = ""
"""The class of devices that no class lets in."""


def device_uses(snapshot: Snapshot, features: Features) -> Sequence[DeviceUse]:
    """A row per driver and class, by name. A device that several classes let in counts for each of them.

    Devices of outdated generations of their pool do not count; those of incomplete pools do.
    """
    if not snapshot.objects.of(ResourceSlice):
        return ()
    cluster = Cluster(snapshot.objects.of(Node), ShapeTable(features), snapshot.objects)
    inventory, devices = Inventory.of(cluster), cluster.devices
    current: dict[DeviceId, int] = {}
    for unit in inventory.units:
        other = current.get(unit.id)
        if other is None or inventory.units[other].slice.spec.pool.generation < unit.slice.spec.pool.generation:
            current[unit.id] = unit.number
    newest: dict[tuple[str, str], int] = {}
    for each in devices.slices:
        id_ = each.spec.driver, each.spec.pool.name
        newest[id_] = max(newest.get(id_, 0), each.spec.pool.generation)
    numbers = [n for id_, n in current.items() if inventory.units[n].slice.spec.pool.generation == newest[id_[:2]]]
    members: dict[tuple[str, str], list[int]] = {}
    classless = set(numbers)
    for name, own in devices.classes.items():
        if all(selector.cel for selector in own.spec.selectors or ()):
            passes = selection_of(inventory, name, own.spec.selectors, None).passes
            for number in numbers:
                if passes[number]:
                    members.setdefault((inventory.units[number].id[0], name), []).append(number)
                    classless.discard(number)
    for number in sorted(classless):
        members.setdefault((inventory.units[number].id[0], NO_CLASS), []).append(number)
    return tuple(
        DeviceUse(
            driver=driver,
            device_class=name,
            nodes=len({row for number in some for row in inventory.rows_of[number]}),
            devices=len(some),
            allocated=sum(bool(devices.users(inventory.units[number].id)) for number in some),
        )
        for (driver, name), some in sorted(members.items())
    )
