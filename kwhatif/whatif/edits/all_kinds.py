"""All kinds of edits, as a document lists them."""

from __future__ import annotations

from typing import Any

from kwhatif.whatif.edits.add_nodes import ADD_NODES
from kwhatif.whatif.edits.cordon import CORDON, UNCORDON
from kwhatif.whatif.edits.delete_pods import DELETE_PODS
from kwhatif.whatif.edits.kind import EditKind
from kwhatif.whatif.edits.label import LABEL
from kwhatif.whatif.edits.remove_nodes import REMOVE_NODES
from kwhatif.whatif.edits.scale import SCALE
from kwhatif.whatif.edits.set_amount import SET
from kwhatif.whatif.edits.taint import TAINT, UNTAINT

KINDS: tuple[EditKind[Any], ...] = (
    *(CORDON, UNCORDON),
    *(TAINT, UNTAINT),
    *(LABEL, SET),
    *(ADD_NODES, REMOVE_NODES),
    *(SCALE, DELETE_PODS),
)
