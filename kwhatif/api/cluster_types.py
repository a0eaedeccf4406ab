"""The kinds that the API server of one cluster serves, where they differ from what its minor serves by default.

Beta versions that are off by default may be on (``--runtime-config``), and kinds may be switched off. The fields of a
version that no minor of the table serves are taken from another version of the kind.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property

from kwhatif.api.field_types import ApiResource, FieldType, Types, newest_types, served_in, types_of

ServedKind = tuple[str, str]
"""API version and kind."""


class ClusterTypes(Types):
    """A minor's kinds, plus the ``additional`` ones that the cluster serves, minus those that are ``absent``.

    ``absent`` are built-in kinds, as group and kind, served in no version.
    """

    def __init__(
        self,
        minor: str,
        additional: Collection[ServedKind] = (),
        absent: Collection[tuple[str, str]] = (),
        gates: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(minor, gates)
        self._absent = frozenset(absent)
        resources = (
            (definition, _type_elsewhere(*definition))
            for definition in additional
            if super(ClusterTypes, self).api_resource_of(*definition) is None
        )
        self._additional = {definition: type_ for definition, type_ in resources if type_ is not None}

    def api_resource_of(self, api_version: str, kind: str) -> ApiResource | None:
        """The kind; None if this cluster does not serve it in that version."""
        if (api_version.rpartition("/")[0], kind) in self._absent:
            return None
        return super().api_resource_of(api_version, kind) or self._additional.get((api_version, kind))

    def fields(self, name: str) -> Mapping[str, FieldType]:
        """The fields of a type by name; of a type that the minor does not know, those of the newest."""
        return super().fields(name) or newest_types().fields(name)

    @cached_property
    def versions(self) -> Mapping[str, tuple[str, ...]]:
        """Kind -> the API versions that serve it."""
        there = super().versions
        by_kind = {
            kind: [v for v in versions if (v.rpartition("/")[0], kind) not in self._absent]
            for kind, versions in there.items()
        }
        for version, kind in self._additional:
            by_kind.setdefault(kind, []).append(version)
        return {kind: tuple(versions) for kind, versions in by_kind.items() if versions}

    @cached_property
    def groups(self) -> frozenset[str]:
        """Kubernetes' own API groups, whether anything of them is served or not."""
        own = types_of(self.minor).groups
        return own | {version.rpartition("/")[0] for version, _ in self._additional}


def cluster_types(
    minor: str,
    additional: Collection[ServedKind] = (),
    absent: Collection[tuple[str, str]] = (),
    gates: frozenset[str] = frozenset(),
) -> Types:
    """The types of a cluster of a minor; those of the minor where the cluster says nothing else."""
    if not additional and not absent:
        return types_of(minor, gates)
    return ClusterTypes(types_of(minor).minor, additional, absent, gates)


def _type_elsewhere(api_version: str, kind: str) -> ApiResource | None:
    """How a kind is served in that version by another minor, else in another version of the group by the newest."""
    minors = served_in(api_version, kind)
    if minors:
        return types_of(minors[-1]).api_resource_of(api_version, kind)
    group, newest = api_version.rpartition("/")[0], newest_types()
    for version in newest.versions.get(kind, ()):
        if version.rpartition("/")[0] == group:
            return newest.api_resource_of(version, kind)
    return None
