"""NodeMetadata: prefer nodes by a number or a moment that a label or an annotation of theirs tells.

Upstream: pkg/nodemetadata/node_metadata.go of scheduler-plugins.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Annotated, Any

import msgspec
import numpy as np

from kwhatif.api.core import Node
from kwhatif.api.watcher_metrics import Moments
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.cluster_cache import cached_per_cluster
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import BoolArray, Int64Array
from kwhatif.framework.declaration import Args
from kwhatif.framework.interface import MAX_SCORE, Plugin, Scope
from kwhatif.golang.config_struct import one_of
from kwhatif.golang.field_validation import Path
from kwhatif.golang.numbers import int64_of, parse_float
from kwhatif.golang.time_layout import RFC3339, LayoutError, parse_time
from kwhatif.versions import Features

_UNKNOWN = np.iinfo(np.int64).min
_SOURCES, _TYPES = ("Label", "Annotation"), ("Number", "Timestamp")
_OF_NUMBERS, _OF_TIMES = ("Highest", "Lowest"), ("Newest", "Oldest")


class NodeMetadataArgs(Args):
    metadata_key: Annotated[str, msgspec.Meta(extra={"names": "numeric_label_key"})] = ""
    metadata_source: Annotated[str, one_of("MetadataSourceType", *_SOURCES)] = ""
    metadata_type: Annotated[str, one_of("MetadataValueType", *_TYPES)] = ""
    scoring_strategy: Annotated[str, one_of("MetadataScoringStrategy", *_OF_NUMBERS, *_OF_TIMES)] = ""
    timestamp_format: str = ""
    default_value: str = ""


class NodeMetadata(Plugin[None, None]):
    name = "NodeMetadata"
    args = NodeMetadataArgs
    score_scope = Scope.NODE
    depends_on_labels = False
    checked_at_start = True

    @classmethod
    def problems(cls, path: Path, args: Any, features: Features) -> Iterator[str]:
        key, source, kind, strategy = args.metadata_key, args.metadata_source, args.metadata_type, args.scoring_strategy
        of_strategy = path.child("scoringStrategy")
        if not key:
            yield path.child("metadataKey").invalid(key, "metadataKey cannot be empty")
        if source not in _SOURCES:
            problem = 'metadataSource must be either "Label" or "Annotation"'
            yield path.child("metadataSource").invalid(source, problem)
        if kind not in _TYPES:
            yield path.child("metadataType").invalid(kind, 'metadataType must be either "Number" or "Timestamp"')
        if strategy not in (*_OF_NUMBERS, *_OF_TIMES):
            problem = 'scoringStrategy must be one of "Highest", "Lowest", "Newest", or "Oldest"'
            yield of_strategy.invalid(strategy, problem)
        if kind == "Number" and strategy in _OF_TIMES:
            problem = 'scoringStrategy "Newest" and "Oldest" are only valid for metadataType "Timestamp"'
            yield of_strategy.invalid(strategy, problem)
        if kind == "Timestamp" and strategy in _OF_NUMBERS:
            problem = 'scoringStrategy "Highest" and "Lowest" are only valid for metadataType "Number"'
            yield of_strategy.invalid(strategy, problem)

    def cache_key(self, pod: PodInfo) -> Hashable:
        return None

    def score(self, pod: PodInfo, nodes: NodeView, state: None) -> Int64Array:
        """The number, or the age in whole seconds; the least there is where it is missing or unreadable."""
        values: Int64Array = nodes.take_rows(_values(nodes.cluster, self.handle.args))
        return values

    def normalize(self, pod: PodInfo, nodes: NodeView, state: None, scores: Int64Array) -> Int64Array:
        """1..100 for nodes that tell, 0 for the others."""
        known: BoolArray = scores != _UNKNOWN
        if not known.any():
            return np.zeros(len(scores), np.int64)
        lowest = int(scores[known].min())
        run = int(scores[known].max()) - lowest
        if not run:
            return known.astype(np.int64)
        share: Int64Array = (np.where(known, scores, lowest) - lowest) * (MAX_SCORE - 1) // run + 1
        return np.where(known, share, 0)


@cached_per_cluster
def _values(cluster: Cluster, args: NodeMetadataArgs) -> Int64Array:
    """int64[N]."""
    now = next((moments.now for moments in cluster.objects.list_all(Moments) if moments.now is not None), 0.0)
    return np.array([_value(node, args, now) for node in cluster.columns.nodes], np.int64)


def _value(node: Node, args: NodeMetadataArgs, now: float) -> int:
    metadata = node.metadata.labels if args.metadata_source == "Label" else node.metadata.annotations
    text = (metadata or {}).get(args.metadata_key)
    if text is None:
        if not args.default_value:
            return _UNKNOWN
        text = args.default_value
    if args.metadata_type == "Number":
        number = parse_float(text)
        if number is None:
            return _UNKNOWN
        whole = int64_of(number)
        # Go's least integer is its own opposite.
        return -whole if args.scoring_strategy == "Lowest" and whole != _UNKNOWN else whole
    try:
        moment = parse_time(args.timestamp_format or RFC3339, text)
    except LayoutError:
        return _UNKNOWN
    age = int(now - moment)
    return -age if args.scoring_strategy == "Newest" else age
