"""Prices of nodes by the hour.

They come from an InstanceTypes catalogue, or a plain table of instance types, as in ``m5.large: 0.096``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kwhatif import bounds
from kwhatif.api.core import Node
from kwhatif.api.decode import describe_value, step
from kwhatif.api.json_schema import convert_strictly
from kwhatif.autoscaling.karpenter.requirements import CAPACITY_TYPE, ON_DEMAND
from kwhatif.errors import InputError
from kwhatif.simulation.autoscalers.instance_types_document import KIND, OfferedCatalogue, catalogue_in
from kwhatif.simulation.node_pools import type_of, zone_of
from kwhatif.snapshot.read.files import read_paths
from kwhatif.snapshot.read.objects import decode, head_of, read_documents

Prices = Callable[[Node], float | None]
"""What a node costs by the hour, if that is known."""


def read_prices(path: str) -> Prices:
    """The prices of a file. Raises InputError with the place of a mistake."""
    documents = [
        read_document
        for text in read_paths([path], max_bytes=bounds.SETTINGS_BYTES)
        for read_document in read_documents(text)
    ]
    if len(documents) != 1:
        raise InputError(f"expected one document, found {len(documents)}", source=path)
    (document,) = documents
    if head_of(document)[1] == KIND:
        return catalogue_prices(catalogue_in(document))
    table = decode(document.value, dict[str, Any])
    for name, price in table.items():
        if isinstance(price, bool) or not isinstance(price, int | float) or price < 0:
            problem = f"expected a price per hour, found {describe_value(price)}"
            raise InputError(problem, source=path, place=f"${step(name)}")
    known = convert_strictly(table, dict[str, float])
    return lambda node: known.get(type_of(node))


def catalogue_prices(catalogue: OfferedCatalogue) -> Prices:
    """The prices of a catalogue's offerings, by type, zone and capacity type."""
    offers: dict[tuple[str, str, str], float] = {
        (instance_type.name, offering.zone, offering.capacity_type): offering.price
        for instance_type in catalogue.catalogue.types
        for offering in instance_type.offerings
    }
    return lambda node: offers.get((type_of(node), zone_of(node), _capacity_type(node)))


def prices_of(nodes: Iterable[Node], prices: Prices) -> tuple[Mapping[str, float], tuple[str, ...]]:
    """Node -> price, and the instance types of nodes whose price is not known."""
    costs, unknown = {}, dict[str, None]()
    for node in nodes:
        price = prices(node)
        if price is None:
            unknown.setdefault(type_of(node) or "none")
        else:
            costs[node.name] = price
    return costs, tuple(unknown)


def _capacity_type(node: Node) -> str:
    return (node.metadata.labels or {}).get(CAPACITY_TYPE) or ON_DEMAND
