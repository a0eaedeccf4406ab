"""What-if edits as command-line options; each becomes the corresponding edit of a ClusterEdits document.

``NODES`` is a node's name or a label selector.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from kwhatif.errors import UsageError
from kwhatif.simulation.edits import cordon, delete_pods, label, queues, remove_nodes, scale, set_amount, taint
from kwhatif.simulation.edits.add_nodes import read_group
from kwhatif.simulation.edits.kind import Option, ParsedEdit, Plain

Reader = Callable[[str, Collection[str]], Plain]

ADD_NODES = "--add-nodes"

OPTIONS: tuple[Option, ...] = (
    set_amount.OPTION,
    label.OPTION,
    taint.OPTION,
    cordon.CORDON_OPTION,
    cordon.UNCORDON_OPTION,
    remove_nodes.OPTION,
    scale.OPTION,
    delete_pods.OPTION,
    queues.QUOTA_OPTION,
    queues.STOP_OPTION,
)
"""In the order in which they apply, after new nodes have been added."""


def read_options(
    values: Mapping[str, Sequence[str]],
    names: Collection[str],
    *,
    like: str | None = None,
    places: Sequence[str] = (),
) -> Iterator[ParsedEdit]:
    """The edits that options ask for, in the order in which they apply.

    ``values`` has the texts by option, ``names`` are those of the nodes there are. ``like`` and ``places`` are those of
    the group of new nodes that says nothing of its own. Raises UsageError for what cannot be taken apart and InputError
    for what makes no sense.
    """
    groups = values.get(ADD_NODES, ())
    bare = [text for text in groups if "," not in text]
    if (like or places) and not bare:
        raise UsageError("--like and --in need --add-nodes N")
    if len(bare) > 1:
        raise UsageError(f"--add-nodes {bare[1]}: only one group can take --like and --in; write N,like=NODE,zone=ZONE")
    if bare and not like:
        raise UsageError(f"--add-nodes {bare[0]}: like which node? Say so with --like NODE")
    for text in groups:
        yield _read_option(ADD_NODES, text, lambda text, names: read_group(text, like, places), names)
    for option in OPTIONS:
        for text in values.get(option.name, ()):
            yield _read_option(option.name, text, option.read, names)


def _read_option(name: str, text: str, read: Reader, names: Collection[str]) -> ParsedEdit:
    from kwhatif.simulation.edits.document import read_edit

    source = f"{name} {text}"
    try:
        return read_edit(read(text, names), source)
    except UsageError as error:
        raise UsageError(f"{source}: {error}") from None
