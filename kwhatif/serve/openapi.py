"""The OpenAPI document of the HTTP API, made of the Structs that decode requests and encode answers."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from kwhatif.api.json_schema import components, simplify
from kwhatif.results.base import ResultContext
from kwhatif.serve.fields import Route, routes
from kwhatif.serve.replies import JSON, PROBLEM, Problem

_ERRORS = {
    "400": "The options contradict each other.",
    "401": "A bearer token is needed.",
    "413": "The request is too long.",
    "415": "The Content-Type of the request is not JSON.",
    "422": "The input is invalid; file and place say where.",
    "429": "Too many requests of this client at once.",
    "500": "The process that answered ended, or met an error of its own.",
    "503": "The cluster is not known yet, or too many questions are waiting.",
    "504": "The question takes too long.",
}


@cache
def openapi_text() -> bytes:
    """The document."""
    questions = list(routes().values())
    types = [Problem, *(route.request for route in questions), *dict.fromkeys(route.result for route in questions)]
    references, definitions = components(*types, opaque=(ResultContext,))
    named = dict(zip(types, references, strict=True))
    for definition in definitions.values():
        definition.get("properties", {}).pop("context", None)
    from kwhatif import __version__

    document = {
        "openapi": "3.1.0",
        "info": {
            "title": "kwhatif",
            "version": __version__,
            "description": "What-if questions about the Kubernetes scheduler, asked of the cluster that is served. "
            "Answers are those of the command line with -o json. Requests name no files: what a command reads is sent "
            'as a text, an object, or {"name": NAME, "text": TEXT}.',
        },
        "security": [{}, {"token": []}],
        "paths": {
            **{f"/v1/{route.name}": {"post": _operation(route, named)} for route in questions},
            **_job_paths(),
        },
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": {
                f"Error{code}": {"description": text, "content": {PROBLEM: {"schema": named[Problem]}}}
                for code, text in _ERRORS.items()
            },
            "schemas": simplify(dict(sorted(definitions.items()))),
        },
    }
    text = json.dumps(document, indent=2).replace('"#/$defs/', '"#/components/schemas/')
    return (text + "\n").encode()


def _operation(route: Route, named: dict[Any, Any]) -> dict[str, Any]:
    job = {"description": "Begun, with Prefer: respond-async; Location says where it is looked at."}
    return {
        "operationId": route.name,
        "summary": route.summary,
        "parameters": [
            {
                "name": "Prefer",
                "in": "header",
                "description": "respond-async: begin, and look at it later.",
                "schema": {"type": "string"},
            }
        ],
        "requestBody": {"required": True, "content": {JSON: {"schema": named[route.request]}}},
        "responses": {
            "200": {
                "description": "The answer, good or not; Kwhatif-Exit-Code is the exit code of the command.",
                "headers": {"Kwhatif-Exit-Code": {"schema": {"type": "integer"}}},
                "content": {JSON: {"schema": named[route.result]}},
            },
            "202": job,
            **{code: {"$ref": f"#/components/responses/Error{code}"} for code in _ERRORS},
        },
    }


def _job_paths() -> dict[str, Any]:
    job = {"name": "job", "in": "path", "required": True, "schema": {"type": "string"}}
    missing = {"description": "The job does not exist, or no longer."}

    def operation(name: str, summary: str, good: str = "200", **more: Any) -> dict[str, Any]:
        return {
            "operationId": name,
            "summary": summary,
            "responses": {good: {"description": summary}, "404": missing},
            **more,
        }

    early = {"409": {"description": "Not answered yet."}}
    answer = operation("readJob", "The answer of a question.")
    answer["responses"] |= early
    return {
        "/v1/jobs/{job}": {
            "parameters": [job],
            "get": operation("lookAtJob", "Progress of a question."),
            "delete": operation("cancelJob", "Cancel a question.", "204"),
        },
        "/v1/jobs/{job}/answer": {"parameters": [job], "get": answer},
        "/v1/jobs/{job}/events": {
            "parameters": [job],
            "get": operation("followJob", "Progress of a question, as server-sent events until it is done."),
        },
    }
