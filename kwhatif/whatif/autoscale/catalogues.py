"""Where catalogues come from, as files."""

from __future__ import annotations

from typing import TypeVar

from kwhatif.api.decode import decode_json
from kwhatif.api.node_pools import EC2NodeClass
from kwhatif.errors import InputError, UsageError
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.read.files import read_paths
from kwhatif.whatif.autoscale.aws_types import Places, SpotPrices, Types, aws_types
from kwhatif.whatif.autoscale.instance_types_document import InstanceTypesFile
from kwhatif.whatif.autoscale.kwok_types import KwokType, kwok_types
from kwhatif.whatif.autoscale.observed_types import observed_types

T = TypeVar("T")


def made(
    snapshot: Snapshot, *, kwok: str = "", types: str = "", offerings: str = "", spot: str = "", prices: str = ""
) -> InstanceTypesFile:
    """The catalogue of one of these sources; a snapshot beside AWS's has the node class. Raises InputError."""
    if kwok:
        try:
            return kwok_types(_read(kwok, list[KwokType]), kwok)
        except InputError as error:
            raise error.at(kwok) from None
    if not types:
        return observed_types(snapshot)
    classes = snapshot.objects.of(EC2NodeClass)
    if len(classes) > 1:
        names = ", ".join(each.name for each in classes)
        raise UsageError(f"expected one EC2NodeClass, found {names}: what types leave for pods differs between them")
    return aws_types(
        _read(types, Types),
        _read(offerings, Places),
        _read(spot, SpotPrices) if spot else None,
        _read(prices, dict[str, float]) if prices else {},
        classes[0] if classes else EC2NodeClass(),
        types,
    )


def _read(path: str, type_: type[T]) -> T:
    """What a file of JSON holds."""
    (text,) = read_paths([path])
    try:
        return decode_json(text.data, type_)
    except InputError as error:
        raise error.at(path) from None
