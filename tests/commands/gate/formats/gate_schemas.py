"""What each format may hold, put down by hand from its specification: no more than what we write, and all of that."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree as xml

import yaml

__all__ = ["GITLAB", "SARIF", "check_github", "check_junit", "check_tap"]


def _object(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    properties = {**required, **(optional or {})}
    return {"type": "object", "required": list(required), "properties": properties, "additionalProperties": False}


_STRING = {"type": "string"}
_FILLED = {"type": "string", "minLength": 1}
_MESSAGE = _object({"text": _FILLED})
_LEVEL = {"enum": ["none", "note", "warning", "error"]}
_COUNT = {"type": "integer", "minimum": 0}
# RFC 3986, of which SARIF's format "uri-reference" is: nothing but these signs, and no colon before the first slash.
_URI = {"type": "string", "pattern": r"^(file:///|(?![^/]*:))([A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-F]{2})+$"}
_LOCATION = _object(
    {
        "physicalLocation": _object(
            {
                "artifactLocation": _object({"uri": _URI}),
                "region": _object({"startLine": {"type": "integer", "minimum": 1}}),
            }
        )
    },
    {
        "message": _MESSAGE,
        "logicalLocations": {
            "type": "array",
            "items": _object({"name": _STRING, "fullyQualifiedName": _STRING, "kind": _STRING}),
        },
    },
)
_LOCATIONS = {"type": "array", "minItems": 1, "maxItems": 1, "items": _LOCATION}
_RULE = _object(
    {
        "id": _FILLED,
        "shortDescription": _MESSAGE,
        "fullDescription": _MESSAGE,
        "help": _MESSAGE,
        "defaultConfiguration": _object({}, {"level": _LEVEL, "enabled": {"type": "boolean"}}),
        "properties": {"type": "object"},
    }
)
_RESULT = _object(
    {
        "ruleId": _FILLED,
        "ruleIndex": _COUNT,
        "level": _LEVEL,
        "message": _MESSAGE,
        "locations": _LOCATIONS,
        "partialFingerprints": {"type": "object", "minProperties": 1, "additionalProperties": _STRING},
        "properties": {"type": "object"},
    }
)
_NOTIFICATION = _object(
    {"level": _LEVEL, "message": _MESSAGE},
    {"associatedRule": _object({"id": _FILLED, "index": _COUNT}), "locations": _LOCATIONS},
)
SARIF = _object(
    {
        "$schema": {"type": "string", "pattern": r"sarif-schema-2\.1\.0\.json$"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "maxItems": 1,
            "items": _object(
                {
                    "tool": _object(
                        {
                            "driver": _object(
                                {"name": _FILLED, "rules": {"type": "array", "items": _RULE, "uniqueItems": True}}
                            )
                        }
                    ),
                    "invocations": {
                        "type": "array",
                        "items": _object(
                            {
                                "executionSuccessful": {"type": "boolean"},
                                "exitCode": {"type": "integer"},
                                "toolExecutionNotifications": {"type": "array", "items": _NOTIFICATION},
                            }
                        ),
                    },
                    "results": {"type": "array", "items": _RESULT},
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "properties": {"type": "object"},
                }
            ),
        },
    }
)
"""SARIF 2.1.0, section 3, and what code scanning wants besides: descriptions and help of rules, places of results."""

GITLAB = {
    "type": "array",
    "items": _object(
        {
            "description": _FILLED,
            "check_name": _FILLED,
            "fingerprint": _STRING,
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": _object(
                {
                    "path": {"type": "string", "minLength": 1, "pattern": r"^(?!\./)"},
                    "lines": _object({"begin": {"type": "integer", "minimum": 1}}),
                }
            ),
        }
    ),
}
"""The properties that GitLab's documentation of the Code Quality report lists."""

_JUNIT: dict[str, tuple[set[str], set[str], str]] = {
    "testsuites": ({"name", "tests", "failures", "errors", "time"}, set(), r"(testsuite )*"),
    "testsuite": ({"name", "tests", "failures", "errors", "skipped", "time"}, set(), r"properties (testcase )*"),
    "properties": (set(), set(), r"(property )*"),
    "property": ({"name", "value"}, set(), ""),
    "testcase": ({"name", "classname", "time"}, set(), r"((failure|skipped|system-out) )?"),
    "failure": ({"message", "type"}, set(), ""),
    "skipped": ({"message"}, set(), ""),
    "system-out": (set(), set(), ""),
}
"""Element -> attributes it has, attributes it may have, children: within both Jenkins' junit-10.xsd and Surefire's."""


def check_junit(text: str) -> None:
    """The structure, and counts that count."""
    root = xml.fromstring(text)
    assert root.tag == "testsuites"
    for element in root.iter():
        required, optional, children = _JUNIT[element.tag]
        assert required <= set(element.attrib) <= required | optional
        assert re.fullmatch(children, "".join(f"{child.tag} " for child in element))
    for element in (root, *root.iter("testsuite")):
        cases = list(element.iter("testcase"))
        counts = [len(cases), *(sum(case.find(tag) is not None for case in cases) for tag in ("failure", "error"))]
        assert [int(element.attrib[name]) for name in ("tests", "failures", "errors")] == counts
        assert "skipped" not in element.attrib or int(element.attrib["skipped"]) == len(list(element.iter("skipped")))
    names = [(case.attrib["classname"], case.attrib["name"]) for case in root.iter("testcase")]
    assert len(names) == len(set(names))


def check_github(text: str) -> None:
    """Each line is a command whose data and properties are escaped as the runner undoes it."""
    for line in text.removesuffix("\n").split("\n"):
        assert line.isprintable()
        properties = r"(?:file=[^,:\r\n]+,line=\d+,)?title=[^,:\r\n]+"
        assert re.fullmatch(rf"::(error|warning|notice) {properties}::.+", line)
        assert re.fullmatch(r"(?:[^%]|%25|%0D|%0A|%3A|%2C)*", line)


def check_tap(text: str) -> None:
    """TAP 14: version, plan, numbered points with an escaped description, YAML in between."""
    version, *lines = text.removesuffix("\n").split("\n")
    assert version == "TAP version 14"
    numbers: list[int] = []
    plan: int | None = None
    block: list[str] | None = None
    for line in lines:
        assert line.isprintable()
        if block is not None:
            if line == "  ...":
                assert isinstance(yaml.safe_load("\n".join(block)), dict)
                block = None
            else:
                assert line.startswith("  ")
                block.append(line[2:])
        elif line == "  ---":
            block = []
        elif found := re.fullmatch(r"1\.\.(\d+)( # .+)?", line):
            assert plan is None
            plan = int(found[1])
        elif not line.startswith("# "):
            point = r"(?:not )?ok (\d+) - (?:[^\\#]|\\\\|\\#)*?(?: # (?:SKIP|TODO) (?:[^\\#]|\\\\|\\#)+)?"
            found = re.fullmatch(point, line)
            assert found is not None, line
            numbers.append(int(found[1]))
    assert block is None
    assert numbers == list(range(1, (plan or 0) + 1))
