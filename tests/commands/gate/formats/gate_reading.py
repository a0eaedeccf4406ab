"""Reports of the gate read back: rule, level, subject and place of each finding, as each format has them."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree as xml

import yaml

__all__ = ["READERS", "Read"]

Read = tuple[str, str, str, str]
"""Rule, level, subject (``Deployment shop/web``) and place (``web.yaml:3``); the last two may be empty."""

RULES_FILE = ".kwhatif.yaml:1"


def read_json(text: str) -> Iterator[Read]:
    yield from _of_document(json.loads(text))


def read_yaml(text: str) -> Iterator[Read]:
    yield from _of_document(yaml.safe_load(text))


def _of_document(document: dict[str, Any]) -> Iterator[Read]:
    for finding in document["findings"]:
        subject, location = finding["subject"], finding["location"]
        about = ""
        if subject:
            about = subject["kind"] + " " + "/".join(filter(None, (subject["namespace"], subject["name"])))
        file = "" if location is None else location["file"].removeprefix("./")
        yield finding["rule"], finding["level"], about, f"{file}:{location['line']}" if file else ""


def read_junit(text: str) -> Iterator[Read]:
    for case in xml.fromstring(text).iter("testcase"):
        rule, name = case.attrib["classname"].removeprefix("kwhatif.gate."), case.attrib["name"]
        about = re.sub(r" \(\d+\)$", "", name)
        for child in case:
            warning = child.tag == "skipped" and child.attrib["message"].startswith("warning: ")
            if child.tag == "failure" or warning:
                first = (child.text or "").split("\n")[0]
                place = first.removeprefix("at: ") if first.startswith("at: ") else ""
                yield rule, "warn" if warning else "error", "" if about == rule else about, place


def read_sarif(text: str) -> Iterator[Read]:
    (run,) = json.loads(text)["runs"]
    for result in run["results"]:
        (location,) = result["locations"]
        physical = location["physicalLocation"]
        place = f"{unquote(physical['artifactLocation']['uri'])}:{physical['region']['startLine']}"
        logical = location.get("logicalLocations")
        about = f"{logical[0]['kind']} {logical[0]['fullyQualifiedName']}" if logical else ""
        level = {"error": "error", "warning": "warn"}[result["level"]]
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        yield result["ruleId"], level, about, "" if "message" in location else place


def read_gitlab(text: str) -> Iterator[Read]:
    for issue in json.loads(text):
        if issue["severity"] != "info":
            level = {"major": "error", "minor": "warn"}[issue["severity"]]
            about = re.match(r"([A-Z][A-Za-z]* \S+): ", issue["description"])
            place = f"{issue['location']['path']}:{issue['location']['lines']['begin']}"
            yield issue["check_name"], level, about[1] if about else "", "" if place == RULES_FILE else place


def read_github(text: str) -> Iterator[Read]:
    for line in text.splitlines():
        found = re.fullmatch(r"::(error|warning|notice) (.*?)::(.*)", line)
        assert found is not None
        if found[1] != "notice":
            given = {name: unquote(value) for name, _, value in (p.partition("=") for p in found[2].split(","))}
            rule, _, about = given["title"].partition(": ")
            place = f"{given['file']}:{given['line']}" if "file" in given else ""
            yield rule, {"error": "error", "warning": "warn"}[found[1]], about, place


def read_tap(text: str) -> Iterator[Read]:
    for point, diagnostic in re.findall(r"^((?:not )?ok .*)\n  ---\n((?:  .*\n)*?)  \.\.\.$", text, re.MULTILINE):
        if point.startswith("not ok"):
            told = yaml.safe_load(diagnostic)
            level = "warn" if point.endswith(" # TODO a warning") else "error"
            assert told["severity"] == {"error": "fail", "warn": "warning"}[level]
            yield told["rule"], level, told.get("subject", ""), told.get("at", "")


def read_table(text: str) -> Iterator[Read]:
    for line in text.splitlines():
        if re.match("(ERROR|WARN )  ", line):
            yield _of_cells(*re.split(" {2,}", line))


def _of_cells(level: str, rule: str, *others: str) -> Read:
    about = next((cell for cell in others if " " in cell), "")
    place = next((cell for cell in others if " " not in cell), "")
    return rule, level.lower(), about, place


def read_markdown(text: str) -> Iterator[Read]:
    _, found, table = text.partition("|  | Rule | About | Finding | Where |\n")
    for line in table.split("\n")[1:] if found else ():
        if not line:
            break
        level, rule, about, _, place = (_cell(cell) for cell in re.findall(r"(?<=\| )((?:\\.|[^|\\])*)(?= \|)", line))
        yield rule, {"❌ error": "error", "⚠️ warning": "warn"}[level], about, place


def _cell(shown: str) -> str:
    if shown.startswith("`"):
        return shown.strip("`")
    return html.unescape(re.sub(r"\\(.)", r"\1", shown)).replace("\u200b", "")


READERS: dict[str, Callable[[str], Iterator[Read]]] = {
    "json": read_json,
    "yaml": read_yaml,
    "junit": read_junit,
    "sarif": read_sarif,
    "gitlab": read_gitlab,
    "github": read_github,
    "tap": read_tap,
    "table": read_table,
    "markdown": read_markdown,
}
