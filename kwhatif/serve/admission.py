"""The door for API servers: a validating webhook that says, or refuses, what the gate finds in an object.

It never keeps anybody from working: what is not judged in time is let pass, and says so. An API server seldom has a
token for a webhook, so this door asks for none; ``--admission`` opens it.
"""

from __future__ import annotations

import asyncio
import math
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from kwhatif.api.decode import decode_json
from kwhatif.api.objects import section
from kwhatif.errors import InputError
from kwhatif.render.escape import clean
from kwhatif.results.gate import Finding
from kwhatif.serve.replies import JSON, Problem, Reply, problem_reply
from kwhatif.serve.service import Service, response_of
from kwhatif.simulation.flag import parse_duration

PATH = "/admit"
_VERSION = "admission.k8s.io/v1"
_MOST_BYTES = 8 * 1024**2
_SHARE = 0.8
"""Of the time that the API server waits; what is left is for the way there and back."""

_WAITS_SECONDS = 10.0
"""How long an API server waits that does not say so: the default of ``timeoutSeconds``."""

_MOST_WARNINGS = 10
_WARNING_CHARACTERS = 250
"""kube-apiserver cuts a longer warning once all of them exceed 4,096 bytes."""

_OF_THE_SERVER = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid")
"""Metadata that a snapshot, which is older than the object, has otherwise."""


class AdmissionSettings(msgspec.Struct, frozen=True):
    """``refuses``: what a rule of level error finds is refused; ``rules`` is the text of a rules file, or empty."""

    refuses: bool = False
    rules: str = ""


class AdmissionRequest(msgspec.Struct, rename="camel", frozen=True):
    """What the API server asks, as far as it counts."""

    uid: str
    operation: str = ""
    sub_resource: str = ""
    namespace: str = ""
    object: dict[str, Any] | None = None
    old_object: dict[str, Any] | None = None

    def is_judged(self) -> bool:
        """Whether it may change what runs, and somebody would read a warning."""
        if self.operation not in ("CREATE", "UPDATE") or self.sub_resource or self.object is None:
            return False
        metadata = section(self.object, "metadata")
        owners = metadata.get("ownerReferences")
        if isinstance(owners, list) and any(isinstance(owner, dict) and owner.get("controller") for owner in owners):
            return False
        if metadata.get("deletionTimestamp"):
            return False
        old = self.old_object
        return old is None or _without_status(old) != _without_status(self.object)

    def question(self, rules: str) -> bytes:
        """The request to ``gate``: the object, in a cluster where the old one was applied before."""
        fields: dict[str, Any] = {"manifests": [self._as_sent(self.object)]}
        if self.old_object is not None:
            fields["base"] = [self._as_sent(self.old_object)]
        if rules:
            fields["config"] = {"name": "rules", "text": rules}
        return msgspec.json.encode(fields)

    def _as_sent(self, object_: dict[str, Any] | None) -> dict[str, Any]:
        sent = _without_status(object_ or {})
        place = {"namespace": self.namespace} if self.namespace else {}
        return {**sent, "metadata": {**place, **section(sent, "metadata")}}


class _Review(msgspec.Struct, rename="camel", frozen=True):
    api_version: str
    kind: str
    request: AdmissionRequest


class _Judgement(msgspec.Struct, frozen=True):
    """What counts of the gate's answer."""

    findings: tuple[Finding, ...]
    warnings: tuple[str, ...] = ()


def routes(service: Service) -> list[Route]:
    settings: AdmissionSettings | None = service.settings.get("admission")
    if settings is None:
        return []

    async def admit(request: Request) -> Response:
        body = await request.body()
        try:
            review = decode_json(body[: _MOST_BYTES + 1], _Review)
            if len(body) > _MOST_BYTES or (review.api_version, review.kind) != (_VERSION, "AdmissionReview"):
                raise InputError(f"expected an AdmissionReview of {_VERSION}", source="request")
        except InputError as error:
            return response_of(problem_reply(422, "input", str(error), file="request", place=error.place))
        seconds = min(_waits(request.query_params.get("timeout", "")) * _SHARE, service.limits.seconds)
        return Response(await _admit(service, settings, review.request, seconds), media_type=JSON)

    return [Route(PATH, admit, methods=["POST"])]


async def _admit(service: Service, settings: AdmissionSettings, request: AdmissionRequest, seconds: float) -> bytes:
    if not request.is_judged():
        return response_text(request.uid)
    try:
        async with asyncio.timeout(seconds):
            reply = await service.workers.ask("gate", request.question(settings.rules))
    except TimeoutError:
        return response_text(request.uid, ("not judged: it takes too long",))
    return answer_review(request, reply, settings)


def answer_review(request: AdmissionRequest, reply: Reply, settings: AdmissionSettings) -> bytes:
    """The response that says what the gate says."""
    if reply.status != 200:
        return response_text(request.uid, (f"not judged: {decode_json(reply.body, Problem).detail}",))
    judgement = decode_json(reply.body, _Judgement)
    metadata = section(request.object, "metadata")
    own = (metadata.get("namespace") or request.namespace, metadata.get("name"))

    def order(finding: Finding) -> tuple[bool, bool]:
        subject = finding.subject
        return finding.level != "error", subject is None or (subject.namespace, subject.name) != own

    findings = sorted(judgement.findings, key=order)
    errors = [_text_of(finding) for finding in findings if finding.level == "error"]
    warnings = [*map(_text_of, findings), *judgement.warnings]
    if settings.refuses and errors:
        return response_text(request.uid, warnings[len(errors) :], refusal="; ".join(errors))
    return response_text(request.uid, warnings)


def response_text(uid: str, warnings: Any = (), *, refusal: str = "") -> bytes:
    """An AdmissionReview that answers; what others wrote is on one line each, and cut."""
    response: dict[str, Any] = {"uid": uid, "allowed": not refusal}
    if warnings:
        shown = [_line(text) for text in warnings[:_MOST_WARNINGS]]
        if len(warnings) > len(shown):
            shown.append(f"kwhatif: {len(warnings) - len(shown)} more: kwhatif gate says all of them")
        response["warnings"] = shown
    if refusal:
        response["status"] = {"code": 403, "reason": "Forbidden", "message": _line(refusal, 2000)}
    return msgspec.json.encode({"apiVersion": _VERSION, "kind": "AdmissionReview", "response": response})


def _text_of(finding: Finding) -> str:
    return f"{finding.title}: {finding.message}" if finding.message else finding.title


def _line(text: str, most: int = _WARNING_CHARACTERS) -> str:
    line = f"kwhatif: {clean(text)}"
    return line if len(line) <= most else f"{line[: most - 3]}..."


def _waits(text: str) -> float:
    """How long the API server waits, which it says as ``?timeout=5s``."""
    try:
        seconds = parse_duration(text)
    except ValueError:
        return _WAITS_SECONDS
    return seconds if math.isfinite(seconds) and 0 < seconds <= 30 else _WAITS_SECONDS


def _without_status(object_: dict[str, Any]) -> dict[str, Any]:
    """An object without what the API server and controllers write into it."""
    metadata = {name: value for name, value in section(object_, "metadata").items() if name not in _OF_THE_SERVER}
    return {**{name: value for name, value in object_.items() if name != "status"}, "metadata": metadata}
