"""What-if edits as options spell them: each becomes what a ClusterEdits document would say.

``NODES`` is a node's name or a label selector. Where more follows it, a selector stands in brackets, so that
``[pool=batch]=dedicated=infra:NoSchedule`` can be told from ``worker-1=dedicated=infra:NoSchedule``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from typing import Any

from kwhatif.api.mismatch import described
from kwhatif.cli.edit_options import EditOptions
from kwhatif.errors import UsageError
from kwhatif.whatif.edits.document import Given, read_edit

__all__ = ["edits_of"]

Plain = dict[str, Any]
_AMOUNT = re.compile(r"\.(allocatable|capacity)\.")
_SCALE = re.compile(r"([^/=]+)/(?:([^/=]+)/)?([^/=]+)=([^=]*)")
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")


def edits_of(options: EditOptions, names: Collection[str]) -> list[Given]:
    """The edits that options ask for, in the order in which they apply; ``names`` are those of the nodes there are.

    Raises UsageError for what cannot be taken apart and InputError for what makes no sense.
    """
    readers: tuple[tuple[str, list[str] | None, Callable[[str], Plain]], ...] = (
        ("--set", options.amounts, lambda text: _amount(text, names)),
        ("--label", options.label, _label),
        ("--taint", options.taint, _taint),
        ("--cordon", options.cordon, lambda text: {"cordon": text}),
        ("--uncordon", options.uncordon, lambda text: {"uncordon": text}),
        ("--remove-node", options.remove_node, lambda text: {"removeNodes": text}),
        ("--scale", options.scale, _scale),
        ("--delete", options.delete, lambda text: {"deletePods": text}),
    )
    given = list(_added(options))
    for option, texts, read in readers:
        given += [_given(option, text, read) for text in texts or ()]
    return given


def _given(option: str, text: str, read: Callable[[str], Plain]) -> Given:
    source = f"{option} {text}"
    try:
        return read_edit(read(text), source)
    except UsageError as error:
        raise UsageError(f"{source}: {error}") from None


def _expected(form: str, found: str) -> UsageError:
    return UsageError(f"expected {form}, found {described(found)}")


def _apart(text: str, form: str) -> tuple[str, str]:
    """The nodes and what follows them."""
    if text.startswith("["):
        nodes, bracket, rest = text.partition("]")
        nodes += bracket
    else:
        nodes, equals, rest = text.partition("=")
        rest = equals + rest
    if not nodes.strip("[]") or not rest.startswith("=") or len(rest) == 1:
        raise _expected(form, text)
    return nodes, rest[1:]


def _label(text: str) -> Plain:
    form = "NODES=KEY=VALUE or NODES=KEY-"
    nodes, rest = _apart(text, form)
    labels: dict[str, str | None] = {}
    for part in rest.split(","):
        key, equals, value = part.partition("=")
        if not equals and not key.endswith("-"):
            raise _expected(form, text)
        labels[key if equals else key.removesuffix("-")] = value if equals else None
    return {"label": {"nodes": nodes, "labels": labels}}


def _taint(text: str) -> Plain:
    nodes, rest = _apart(text, "NODES=KEY=VALUE:EFFECT, NODES=KEY:EFFECT or NODES=KEY:EFFECT-")
    taken_away = rest.endswith("-")
    pair, colon, effect = rest.removesuffix("-").partition(":")
    key, _, value = pair.partition("=")
    if taken_away:
        return {"untaint": {"nodes": nodes, "key": key, **({"effect": effect} if colon else {})}}
    if not colon:
        raise _expected("an effect, as in NODES=KEY=VALUE:NoSchedule", text)
    return {"taint": {"nodes": nodes, "key": key, "value": value, "effect": effect}}


def _amount(text: str, names: Collection[str]) -> Plain:
    """Dots stand in names of nodes and of resources alike: the longest name that a node has is meant."""
    form = "NODES.allocatable.RESOURCE=AMOUNT or NODES.capacity.RESOURCE=AMOUNT"
    path, equals, amount = text.rpartition("=")
    after = path.find("]") + 1 if path.startswith("[") else 0
    splits = [found for found in _AMOUNT.finditer(path) if found.start() >= max(after, 1)]
    if not equals or not splits or (after and splits[0].start() != after):
        raise _expected(form, text)
    known = [found for found in splits if path[: found.start()] in names]
    split = known[-1] if known else splits[0]
    resource = path[split.end() :]
    return {"set": {"nodes": path[: split.start()], split[1]: {resource: amount}}}


def _scale(text: str) -> Plain:
    found = _SCALE.fullmatch(text)
    if found is None:
        raise _expected("KIND/NAME=N or KIND/NAMESPACE/NAME=N", text)
    kind, namespace, name, replicas = found.groups()
    whole = {"kind": kind, "namespace": namespace, "name": name, "replicas": _number(replicas)}
    return {"scale": {key: value for key, value in whole.items() if value is not None}}


def _number(text: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise _expected("a whole number", text)
    return int(text)


def _added(options: EditOptions) -> Iterator[Given]:
    """Groups of new nodes. ``--like`` and ``--in`` belong to the one that says nothing of its own."""
    bare = [text for text in options.add_nodes or () if "," not in text]
    if (options.like or options.in_) and not bare:
        raise UsageError("--like and --in are about --add-nodes N: how many nodes?")
    if len(bare) > 1:
        raise UsageError(f"--add-nodes {bare[1]}: only one group can take --like and --in; write N,like=NODE,zone=ZONE")
    if bare and not options.like:
        raise UsageError(f"--add-nodes {bare[0]}: like which node? Say so with --like NODE")
    for text in options.add_nodes or ():
        yield _given("--add-nodes", text, lambda text: _group(text, options))


def _group(text: str, options: EditOptions) -> Plain:
    count, *rest = text.split(",")
    pairs = _pairs(rest, "N,like=NODE,zone=ZONE")
    if rest:
        like = pairs.pop("like", "")
        if not like:
            raise _expected("like=NODE among the rest", text)
    else:
        like = options.like or ""
        pairs = _pairs([part for given in options.in_ or () for part in given.split(",")], "--in LABEL=VALUE")
    places = {"in": pairs} if pairs else {}
    return {"addNodes": {"count": _number(count), "like": like, **places}}


def _pairs(parts: list[str], form: str) -> dict[str, str]:
    found = {}
    for part in parts:
        key, equals, value = part.partition("=")
        if not equals or not key:
            raise _expected(form, part)
        found[key] = value
    return found
