"""A plugin's declaration: its arguments, extension points and place among the default plugins, known without a cluster.

Configurations are read, completed, validated and printed by this alone. Upstream: kube-scheduler/config/v1 and
scheduler/apis/config (types_pluginargs.go, default_plugins.go, defaults.go, validation_pluginargs.go).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, ClassVar

import msgspec

from kwhatif.golang.config_struct import ConfigStruct
from kwhatif.golang.field_validation import Path
from kwhatif.versions import Features


class Args(ConfigStruct):
    """The arguments of one plugin; the class is named after the plugin, with ``Args`` appended.

    A field's default is upstream's, unless it depends on a feature gate or on another field (``fill_defaults``).
    """


class DefaultPlugin(msgspec.Struct, frozen=True):
    """A plugin of every profile that does not say otherwise.

    ``place`` is its place among the others, the lowest first, with gaps; ``weight`` 0 means that none is set.
    """

    place: int
    weight: int = 0


class Declaration:
    """One plugin of kube-scheduler. On its own it stands for a plugin that is known but not modelled."""

    name: ClassVar[str]
    args: ClassVar[type[Args] | None] = None
    default: ClassVar[DefaultPlugin | None] = None
    checked_at_start: ClassVar[bool] = False
    """Its arguments are not validated with the configuration but when the plugin starts."""
    left_to_extenders: ClassVar[str] = ""
    """The argument that lists the resources which extenders take over."""

    @classmethod
    def exists(cls, features: Features) -> bool:
        """Whether this kube-scheduler has the plugin."""
        return True

    @classmethod
    def is_modelled(cls, features: Features) -> bool:
        """Whether this kube-scheduler's version of the plugin is modelled here, if it does anything at all."""
        return True

    @classmethod
    def is_removed(cls, features: Features) -> bool:
        """Whether this kube-scheduler refuses configurations that name the plugin, which it once had."""
        return False

    @classmethod
    def points(cls, features: Features) -> Collection[str]:
        """The extension points it has."""
        raise NotImplementedError

    @classmethod
    def by_default(cls, features: Features) -> DefaultPlugin | None:
        """Its place among the default plugins; None if it is not one of them."""
        return cls.default

    @classmethod
    def args_type(cls, features: Features) -> type[Args] | None:
        """The type of its arguments; None if it has none, so that given ones are passed on unread."""
        return cls.args

    @classmethod
    def unknown_fields(cls, features: Features) -> Collection[str]:
        """Fields of its arguments that only later minors know, as YAML spells them."""
        return ()

    @classmethod
    def fill_defaults(cls, args: Any, features: Features) -> Any:
        """The arguments with upstream's defaults for fields left out."""
        return args

    @classmethod
    def problems(cls, path: Path, args: Any, features: Features) -> Iterator[str]:
        """Every reason to refuse the completed arguments, in upstream's words."""
        return iter(())
