"""The options of a command as a list: those of its class, and of what it takes besides."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cache
from typing import Any, get_args, get_origin

import msgspec
from msgspec import structs

from kwhatif.simulation.command import Command
from kwhatif.simulation.flag import Cluster, Flag, WhatIf, flags_of, marked_field


class Parameter(msgspec.Struct, frozen=True):
    """An option: the ``name`` of its field, type, default (``MISSING`` if it has none) and flag.

    One of its ``own`` is a field of the command's class, another one of what that takes.
    """

    name: str
    type: Any
    default: Any
    flag: Flag
    own: bool

    @property
    def is_several(self) -> bool:
        """Whether its value is a sequence."""
        return is_several(self.type)


def is_several(type_: Any) -> bool:
    """Whether values of this type are sequences, or may be."""
    return any(get_origin(argument) in (Sequence, list) for argument in (type_, *get_args(type_)))


@cache
def parameters_of(question: type[Command[Any]]) -> tuple[Parameter, ...]:
    """Every option but those for the cluster and its edits, in the order of the fields, the command's own first."""
    own = fields_of(question, own=True)
    if question.takes is None:
        return own
    left_out = {*question.lacks, *(parameter.name for parameter in own)}
    takes: Any = question.takes
    more = (field for field in fields_of(takes) if field.name not in left_out)
    renames = question.renames
    return (*own, *(structs.replace(parameter, flag=renames.get(parameter.name, parameter.flag)) for parameter in more))


@cache
def fields_of(group: type, *, own: bool = False) -> tuple[Parameter, ...]:
    """The fields of a class that are options."""
    defaults = {field.name: field.default for field in dataclasses.fields(group)}
    return tuple(Parameter(name, type_, defaults[name], flag, own) for name, type_, flag in flags_of(group))


def takes_cluster(question: type[Command[Any]]) -> bool:
    """Whether a cluster has to do with it."""
    return (
        question.takes is not None and bool(marked_field(question.takes, Cluster)) and "snapshot" not in question.lacks
    )


def takes_edits(question: type[Command[Any]]) -> bool:
    """Whether its cluster may be edited."""
    return question.takes is not None and bool(marked_field(question.takes, WhatIf)) and "edits" not in question.lacks


def input_files(question: Command[Any], options: Any) -> list[Any]:
    """What an asked command reads, as named by its options: any of them may be ``-``."""
    paths: list[Any] = []
    for parameter in parameters_of(type(question)):
        if parameter.flag.file in ("in", "manifests", "cluster"):
            value = getattr(question if parameter.own else options, parameter.name)
            paths += value if isinstance(value, list | tuple) else [value]
    return paths
