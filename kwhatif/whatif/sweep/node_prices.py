"""What nodes cost by the hour: by an InstanceTypes catalogue, or a plain table of instance types.

m5.large: 0.096
m5.xlarge: 0.192
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kwhatif import bounds
from kwhatif.api.core import Node
from kwhatif.api.json_schema import strictly
from kwhatif.api.mismatch import described, step
from kwhatif.autoscaling.karpenter.known_labels import CAPACITY_TYPE, ON_DEMAND
from kwhatif.errors import InputError
from kwhatif.snapshot.read.documents import read_documents
from kwhatif.snapshot.read.files import read_paths
from kwhatif.snapshot.read.items import decode, head_of
from kwhatif.whatif.autoscale.instance_types_document import KIND, catalogue_in
from kwhatif.whatif.info.pools import type_of, zone_of

Prices = Callable[[Node], float | None]
"""What a node costs by the hour, if that is known."""


def read_prices(path: str) -> Prices:
    """The prices of a file. Raises InputError with the place of a mistake."""
    documents = [each for text in read_paths([path], max_bytes=bounds.SETTINGS_BYTES) for each in read_documents(text)]
    if len(documents) != 1:
        raise InputError(f"expected one document, found {len(documents)}", source=path)
    (document,) = documents
    if head_of(document)[1] == KIND:
        types = {each.name: each for each in catalogue_in(document).catalogue.types}
        offers = {
            (name, offering.zone, offering.capacity_type): offering.price
            for name, each in types.items()
            for offering in each.offerings
        }
        return lambda node: offers.get((type_of(node), zone_of(node), _capacity_type(node)))
    table = decode(document.value, dict[str, Any])
    for name, price in table.items():
        if isinstance(price, bool) or not isinstance(price, int | float) or price < 0:
            problem = f"expected a price by the hour, found {described(price)}"
            raise InputError(problem, source=path, place=f"${step(name)}")
    known = strictly(table, dict[str, float])
    return lambda node: known.get(type_of(node))


def prices_of(nodes: Iterable[Node], prices: Prices) -> tuple[Mapping[str, float], tuple[str, ...]]:
    """Node -> price, and the instance types of nodes whose price is not known."""
    found, unknown = {}, dict[str, None]()
    for node in nodes:
        price = prices(node)
        if price is None:
            unknown.setdefault(type_of(node) or "none")
        else:
            found[node.name] = price
    return found, tuple(unknown)


def _capacity_type(node: Node) -> str:
    return (node.metadata.labels or {}).get(CAPACITY_TYPE) or ON_DEMAND
