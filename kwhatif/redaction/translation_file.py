"""The translation: which pseudonym stands for what. It is private, and it is what makes a redacted answer readable.

The schema of the file is ``schemas/translation.schema.json``.
"""

from __future__ import annotations

import copy
import os
import stat
from dataclasses import dataclass, field
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from kwhatif.api.json_schema import strictly_json
from kwhatif.api.mismatch import described, step
from kwhatif.errors import InputError
from kwhatif.redaction.codes import Numbered, Ordered
from kwhatif.snapshot.format.drafts import draft_of
from kwhatif.snapshot.read.files import read_paths

KIND = "Translation"


def _words() -> Ordered:
    return Ordered(
        ("default", "false", "kube", "lease", "node", "public", "system", "true"),
        ("b", "e", "h", "l", "m", "o", "r", "t", "w"),
        width=3,
    )


def _resources() -> Ordered:
    return Ordered(
        ("attachable", "cpu", "ephemeral", "hugepages", "memory", "pods", "storage"),
        ("ab", "bx", "dx", "fx", "kx", "nx", "rx", "vx"),
        width=3,
    )


def _nodes() -> Ordered:
    return Ordered((), ("node-",), width=4)


def _pools() -> Ordered:
    return Ordered((), ("pool-",), width=4)


@dataclass
class Translation:
    """Pseudonyms by what they stand for; it only ever grows.

    ``words`` are the parts of names, ``resources`` those of resource names; ``nodes`` and ``pools`` (of devices) are
    whole names. ``numeric`` are the label keys whose values are compared as numbers (Gt and Lt), so that their numbers
    stay.
    """

    words: Ordered = field(default_factory=_words)
    resources: Ordered = field(default_factory=_resources)
    nodes: Ordered = field(default_factory=_nodes)
    pools: Ordered = field(default_factory=_pools)
    uids: Numbered = field(default_factory=Numbered)
    addresses: Numbered = field(default_factory=Numbered)
    numeric: set[str] = field(default_factory=set)

    @property
    def empty(self) -> bool:
        return not (self.words.codes or self.resources.codes or self.nodes.codes or self.pools.codes)

    @property
    def size(self) -> int:
        """How many pseudonyms there are."""
        ordered = (self.words, self.resources, self.nodes, self.pools)
        numbered = (self.uids, self.addresses)
        return sum(len(part.codes) for part in ordered) + sum(len(part.numbers) for part in numbered)

    def copy(self) -> Translation:
        return copy.deepcopy(self)

    def settle(self) -> bool:
        """Give pseudonyms to all that has asked for one; whether there was any."""
        settled = [part.settle() for part in (self.words, self.resources, self.nodes, self.pools)]
        return any(settled)


def _like(stem: str) -> Meta:
    """For readers of the schema: the digits come after ``stem``. Which stem it has to be ``Ordered`` knows."""
    return Meta(extra_json_schema={"pattern": f"^{stem}[0-9]*[1-9]$"})


_Codes = dict[str, Annotated[str, _like("[a-z]{1,2}")]]
_Numbers = dict[str, Annotated[int, Meta(ge=1)]]


class File(msgspec.Struct, rename="camel", kw_only=True):
    """A translation as its file has it."""

    api_version: Literal["kwhatif.dev/v1"] = "kwhatif.dev/v1"
    kind: Literal["Translation"] = "Translation"
    words: Annotated[_Codes, Meta(description="Parts of names; the codes are in the order of the words.")] = {}
    resources: Annotated[_Codes, Meta(description="Parts of the names of resources, likewise.")] = {}
    nodes: Annotated[
        dict[str, Annotated[str, _like("node-")]], Meta(description="Whole names of nodes, likewise.")
    ] = {}
    pools: Annotated[
        dict[str, Annotated[str, _like("pool-")]], Meta(description="Whole names of pools of devices, likewise.")
    ] = {}
    uids: Annotated[_Numbers, Meta(description="Unique identifiers by number.")] = {}
    addresses: Annotated[_Numbers, Meta(description="IP addresses of host ports by number.")] = {}
    numeric_keys: Annotated[
        list[str],
        Meta(description="Keys of labels whose values are compared as numbers (Gt, Lt): their numbers stay."),
    ] = []


def read_translation(path: str) -> Translation:
    """A translation from its file. Raises InputError with a place."""
    (text,) = read_paths([path])
    try:
        file = strictly_json(text.data, File)
        translation = Translation(
            uids=Numbered(file.uids), addresses=Numbered(file.addresses), numeric=set(file.numeric_keys)
        )
        for name in ("words", "resources", "nodes", "pools"):
            part: Ordered = getattr(translation, name)
            part.codes.update(getattr(file, name))
            for word, problem in part.faults():
                found = described(part.codes[word])
                raise InputError(f"{problem}, found {found}", place=f"$.{name}{step(word)}")
        for name, numbered in (("uids", translation.uids), ("addresses", translation.addresses)):
            if sorted(numbered.numbers.values()) != list(range(1, len(numbered.numbers) + 1)):
                raise InputError(f"expected the numbers 1 to {len(numbered.numbers)}, each once", place=f"$.{name}")
    except InputError as error:
        raise error.at(text.name) from None
    return translation


def write_translation(translation: Translation, path: str) -> None:
    """Write a translation to a file that only its owner can read; it appears complete or not at all.

    Raises InputError if it cannot be written.
    """
    file = File(
        words=dict(sorted(translation.words.codes.items())),
        resources=dict(sorted(translation.resources.codes.items())),
        nodes=dict(sorted(translation.nodes.codes.items())),
        pools=dict(sorted(translation.pools.codes.items())),
        uids=translation.uids.numbers,
        addresses=translation.addresses.numbers,
        numeric_keys=sorted(translation.numeric),
    )
    try:
        with draft_of(path, private=True) as opened:
            opened.write(msgspec.json.format(msgspec.json.encode(file), indent=1) + b"\n")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", source=path) from None


def readable_by_others(path: str) -> bool:
    """Whether others than its owner may read a file."""
    return bool(os.stat(path).st_mode & (stat.S_IRGRP | stat.S_IROTH))
