"""InstanceTypes: a document with a cloud's instance types and offerings, and Karpenter's settings.

    apiVersion: kwhatif.dev/v1
    kind: InstanceTypes
    types:
    - name: m-4
      labels: {kubernetes.io/arch: amd64, kubernetes.io/os: linux}
      capacity: {cpu: 4, memory: 16Gi, pods: 58}
      overhead: {cpu: 80m, memory: 1Gi}
      offerings:
      - {zone: eu-a, capacityType: spot, price: 0.07}
      - {zone: eu-a, capacityType: on-demand, price: 0.2}

The schema of the format is ``schemas/instance-types.schema.json``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, structs
from msgspec.structs import replace

from kwhatif.api.decode import step
from kwhatif.api.node_provisioning import NodePool
from kwhatif.api.spelling_hints import suggest_spelling
from kwhatif.autoscaling.karpenter.catalogue import Catalogue, InstanceType, KarpenterOptions
from kwhatif.autoscaling.karpenter.node_pool import pool_requirements
from kwhatif.autoscaling.karpenter.requirements import CAPACITY_TYPE, requirement_of
from kwhatif.errors import InputError
from kwhatif.snapshot.format.documents import own_document, read_only
from kwhatif.snapshot.format.model import API_VERSION
from kwhatif.snapshot.read.objects import Document

KIND = "InstanceTypes"


class _Part(msgspec.Struct, rename="camel", frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A part of the document."""


Lack = Literal["onDemandPrices", "spotPrices", "nodeClass"]
"""What a catalogue may lack that decides which machines come."""


class InstanceTypesFile(_Part, frozen=True, kw_only=True):
    """What a cloud has to offer. ``lacks`` is what verdicts hang on where it decides."""

    api_version: str
    kind: str
    metadata: dict[str, Any] | None = None
    source: Annotated[str | None, Meta(description="Where this was found.")] = None
    incomplete: Annotated[
        str | None, Meta(description="What is missing or guessed. Every answer that depends on it says so.")
    ] = None
    lacks: Annotated[
        list[Lack],
        Meta(description="What is missing that may decide which machines come. Verdicts that depend on it name it."),
    ] = []
    node_class: Annotated[str | None, Meta(description="The node class by which the types leave room for pods.")] = None
    options: KarpenterOptions = KarpenterOptions()
    node_pools: Annotated[
        dict[str, list[str]], Meta(description="What is offered to these NodePools. To others, all types are.")
    ] = {}
    types: list[InstanceType]


def lacking_prices(on_demand: Collection[object], spot: Collection[object]) -> list[Lack]:
    """The price lists that are empty."""
    lacks: list[Lack] = []
    if not on_demand:
        lacks.append("onDemandPrices")
    return lacks if spot else [*lacks, "spotPrices"]


def assemble_file(
    types: Sequence[InstanceType],
    on_demand: Collection[object],
    spot: Collection[object],
    source: str,
    incomplete: Sequence[str],
) -> InstanceTypesFile:
    """The document of a cloud's ``types``; missing prices are added to what is ``incomplete``."""
    missing = list(incomplete)
    if not on_demand:
        missing.append("on-demand prices are unknown, so that nothing is offered on demand")
    if not spot:
        missing.append("spot prices are unknown, so that nothing is offered on spot")
    return InstanceTypesFile(
        api_version=API_VERSION,
        kind=KIND,
        source=source,
        incomplete="; ".join(missing),
        lacks=lacking_prices(on_demand, spot),
        types=list(types),
    )


class CatalogueGap(msgspec.Struct, frozen=True):
    """Something unknown about the machines of some NodePools, in words.

    It concerns NodePools that allow the ``capacity_type`` and refer to a node class of the kind ``node_class``, but not
    to the one called ``known_class``; an empty string stands for any.
    """

    what: str
    capacity_type: str = ""
    node_class: str = ""
    known_class: str = ""

    def touches(self, pool: NodePool) -> bool:
        """Whether it concerns a NodePool."""
        requirement = requirement_of(pool_requirements(pool), CAPACITY_TYPE)
        reference = pool.spec.template.spec.node_class_ref
        return (
            (not self.capacity_type or requirement.has(self.capacity_type))
            and self.node_class in ("", reference.kind)
            and self.known_class != reference.name
        )


_GAPS: dict[Lack, CatalogueGap] = {
    "onDemandPrices": CatalogueGap("on-demand prices are unknown, so that nothing is bought on demand", "on-demand"),
    "spotPrices": CatalogueGap("spot prices are unknown, so that nothing is bought on spot", "spot"),
    "nodeClass": CatalogueGap("no node class is known, which decides what machines leave for pods"),
}


class OfferedCatalogue(msgspec.Struct, frozen=True):
    """A catalogue as Karpenter takes it, with its options. ``incomplete`` says what is missing, if anything is.

    ``gaps`` are those of it on which verdicts may hang.
    """

    catalogue: Catalogue
    offered: Mapping[str, Sequence[str]]
    options: KarpenterOptions
    incomplete: str = ""
    source: str = ""
    gaps: tuple[CatalogueGap, ...] = ()


def read_catalogue(path: str) -> OfferedCatalogue:
    """The catalogue of a file. Raises InputError with the place of a mistake."""
    return _build_with_source(*read_only(path, KIND, InstanceTypesFile))


def catalogue_in(document: Document) -> OfferedCatalogue:
    """The catalogue of a document that has been read. Raises InputError with the place of a mistake."""
    source = document.origin.file
    return _build_with_source(own_document(document, KIND, InstanceTypesFile, source), source)


def without_zone(catalogue: OfferedCatalogue, zone: str) -> OfferedCatalogue:
    """The catalogue while nothing is to be had in a zone."""
    types = [
        structs.replace(
            instance_type,
            offerings=[
                structs.replace(one, available=one.available and one.zone != zone) for one in instance_type.offerings
            ],
        )
        for instance_type in catalogue.catalogue.types
    ]
    return replace(catalogue, catalogue=Catalogue(types))


def _build_with_source(file: InstanceTypesFile, source: str) -> OfferedCatalogue:
    try:
        return build_catalogue(file, source)
    except InputError as error:
        raise error.with_source(source) from None


def build_catalogue(file: InstanceTypesFile, source: str = "") -> OfferedCatalogue:
    """The catalogue of a document. Raises InputError with a place."""
    names: set[str] = set()
    for number, type_ in enumerate(file.types):
        place = f"$.types[{number}]"
        if type_.name in names:
            raise InputError(f"type {type_.name} is listed twice", place=f"{place}.name")
        names.add(type_.name)
        for name in ("cpu", "memory", "pods"):
            if name not in type_.capacity:
                raise InputError(f"expected an amount of {name}, found none", place=f"{place}.capacity")
        for which, offering in enumerate(type_.offerings):
            if (offering.capacity_type == "reserved") != bool(offering.reservation_id):
                problem = "expected a reservationId for what is reserved, and for nothing else"
                raise InputError(problem, place=f"{place}.offerings[{which}]")
    for pool, offered in file.node_pools.items():
        for number, name in enumerate(offered):
            if name not in names:
                problem = f"there is no type {name}{suggest_spelling(name, names)}"
                raise InputError(problem, place=f"$.nodePools{step(pool)}[{number}]")
    return OfferedCatalogue(
        Catalogue(file.types),
        file.node_pools,
        file.options,
        file.incomplete or "",
        source,
        (*(_GAPS[lack] for lack in file.lacks), *_gaps_of_classes(file.node_class)),
    )


def _gaps_of_classes(node_class: str | None) -> Iterator[CatalogueGap]:
    if node_class:
        what = f"types are as node class {node_class} has them, which NodePools of another one do not"
        yield CatalogueGap(what, known_class=node_class)
