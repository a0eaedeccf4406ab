"""What others wrote is text in every format: no escape sequence for a terminal, no command for a pipeline's log."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree as xml

import pytest
import yaml

from kwhatif.commands.gate.formats.formats import FORMATS
from kwhatif.render.blocks import Block, Column, Facts, Heading, Lines, table
from kwhatif.render.formats import as_documents, code, escape_markdown, markdown_of, plain_json
from kwhatif.render.tables import text_of
from tests.cli.running import CLUSTER, run
from tests.commands.gate.formats.gate_results import hostile_result

COMMANDS = (
    "::error::hostile",
    "  ::set-output name=a::b",
    "\t::stop-commands::x",
    "##[error]hostile",
    "fine ##[group]hostile",
    "##vso[task.setvariable variable=a]b",
    "###vso[task.complete]",
    "##teamcity[buildProblem description='x']",
    "first\n::error::second",
    "first\r\n  ##[error]second",
    "\u202e::error::\u2028::error::",
    "a b c ::error::d " * 30,
)
LOG_COMMAND = re.compile(r"^\s*::|##\w*\[", re.MULTILINE)
"""What the runners of GitHub, Azure and TeamCity look for."""


@pytest.mark.parametrize("text", COMMANDS)
@pytest.mark.parametrize("name", [name for name in FORMATS if name != "github"])
def test_no_report_of_the_gate_holds_a_command(name: str, text: str) -> None:
    report = FORMATS[name](hostile_result(text))
    assert not LOG_COMMAND.search(report)
    assert all(line.isprintable() for line in report.split("\n"))


@pytest.mark.parametrize("text", COMMANDS)
def test_every_line_for_github_is_one_of_our_own_commands(text: str) -> None:
    for line in FORMATS["github"](hostile_result(text)).splitlines():
        assert re.match(r"::(error|warning|notice) ", line)


@pytest.mark.parametrize("text", COMMANDS)
def test_no_block_holds_a_command(text: str) -> None:
    blocks: list[Block] = [
        Heading(text),
        Facts(((text, text),)),
        Lines((text, text)),
        Lines((text,), listed=True),
        table((Column(text, name=True), Column(text, name=True)), [(text, text)]),
    ]
    for report in (text_of(blocks), markdown_of(blocks)):
        assert not LOG_COMMAND.search(report)


@pytest.mark.parametrize("text", COMMANDS)
def test_programs_read_what_was_written(text: str) -> None:
    value = {"a": text, text: [text]}
    as_json, as_yaml = plain_json(value), as_documents([value])
    assert (json.loads(as_json), yaml.safe_load(as_yaml)) == (value, value)
    assert not LOG_COMMAND.search(as_json)
    assert not LOG_COMMAND.search(as_yaml)
    assert as_yaml.isascii()


def test_xml_says_what_was_written() -> None:
    report = FORMATS["junit"](hostile_result("##[error]x"))
    assert any("##[error]x" in (case.get("name") or "") for case in xml.fromstring(report).iter("testcase"))


@pytest.mark.parametrize("text", ["GH-1", "see gh-17", "#1", "@name", "a@b.c", "https://x.y", "www.x.y", ":tada:"])
def test_markdown_mentions_nobody_and_nothing(text: str) -> None:
    # What stands in code is text wherever Markdown is read.
    shown = re.sub("`[^`]+`", "", escape_markdown(text)).replace("&#8203;", "\u200b")
    assert not re.search(r"\bGH-\d|#\d|@\w|://|www\.|:\w+:", shown, re.IGNORECASE)


@pytest.mark.parametrize("text", ["high-1", "gh", "GH-x", "17:30", "a: b"])
def test_markdown_leaves_other_text_alone(text: str) -> None:
    assert escape_markdown(text) == text


def test_code_holds_no_command_since_it_knows_no_other_spelling() -> None:
    assert "`" not in code("##[error]x")


@pytest.mark.long
def test_a_text_of_any_length_is_looked_at_once() -> None:
    """Patterns that look again at what they have seen would take hours."""
    for text in (":" + "a" * 300_000, ":" * 300_000, "#" * 300_000, ":a" * 150_000, "-1" * 150_000):
        assert len(escape_markdown(text)) >= len(text)


def test_a_configuration_is_printed_without_harm(tmp_path_factory: pytest.TempPathFactory) -> None:
    name = "\u202e##[error]x\x1b[31m"
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": name}],
    }
    file = tmp_path_factory.mktemp("policy") / "p.json"
    file.write_text(json.dumps(document))
    for words, read in (("yaml", yaml.safe_load), ("json", json.loads)):
        for command in ("show", "convert"):
            ran = run("policy", command, "-f", str(file), "-o", words)
            assert ran.code == 0, ran.err
            shown = read(ran.out).get("configuration", read(ran.out))
            assert shown["profiles"][0]["schedulerName"] == name
            assert not LOG_COMMAND.search(ran.out + ran.err)
            assert all(line.isprintable() for line in (ran.out + ran.err).split("\n"))


def test_errors_and_notes_hold_no_command() -> None:
    ran = run("place", "##[error]x", "--snapshot", CLUSTER)
    assert ran.err == "kwhatif: #\\#[error]x: no such file or directory\n"
