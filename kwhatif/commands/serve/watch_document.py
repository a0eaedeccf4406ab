"""WatchedQuestions: a document with questions that the server asks again and again.

    apiVersion: kwhatif.dev/v1
    kind: WatchedQuestions
    every: 1m
    questions:
    - {name: zones, ask: outage, with: {by: topology.kubernetes.io/zone}}
    - {name: drains, ask: drain, with: {ignoreDaemonsets: true}, forEach: node, every: 10m}

``ask`` and ``with`` are what stands behind ``/v1/`` and in the body of a request. The schema of the format is
``schemas/watched-questions.schema.json``.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

KIND = "WatchedQuestions"


class _Part(msgspec.Struct, rename="camel", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of the document."""


class WatchedQuestion(_Part, frozen=True, kw_only=True):
    """One question."""

    name: Annotated[str, Meta(pattern="^[a-z0-9][a-z0-9_-]{0,39}$", description="The label of its metrics.")]
    ask: Annotated[str, Meta(description="The question, as in /v1/NAME.")]
    with_: Annotated[dict[str, Any], Meta(description="The body of the request.")] = msgspec.field(
        default_factory=dict, name="with"
    )
    every: Annotated[str | None, Meta(description="How often it is asked, such as 10m.")] = None
    for_each: Annotated[Literal["node"] | None, Meta(description="Ask once a node, of all nodes in turn.")] = None


class WatchFile(_Part, frozen=True, kw_only=True):
    """The document."""

    api_version: str
    kind: str
    metadata: dict[str, Any] | None = None
    every: Annotated[str, Meta(description="How often each is asked that does not say so itself.")] = "1m"
    questions: Annotated[list[WatchedQuestion], Meta(min_length=1, max_length=50)]
