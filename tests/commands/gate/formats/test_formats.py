"""The gate's reports: each is valid by its own rules, all of them say the same, and none obeys what it reports on."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as xml

import jsonschema
import msgspec
import pytest
import yaml
from hypothesis import given
from markdown_it import MarkdownIt

from kwhatif.commands.gate.formats.formats import FORMATS
from kwhatif.commands.gate.formats.junit import gate_junit
from kwhatif.commands.gate.formats.markdown import LONGEST, MARKER, gate_markdown
from kwhatif.commands.gate.formats.table import gate_table
from kwhatif.commands.schema_files import SCHEMAS
from kwhatif.render.escape import clean
from kwhatif.render.screen import Screen
from kwhatif.results.gate import Finding, GateResult, Location, RuleOutcome, Subject
from tests.commands.gate.formats.gate_reading import READERS, Read
from tests.commands.gate.formats.gate_results import ANY, HOSTILE, hostile_result, results, sample, with_findings
from tests.commands.gate.formats.gate_schemas import GITLAB, SARIF, check_github, check_junit, check_tap

SCHEMA_FILE = Path(__file__).parents[4] / "schemas" / "gate-report.schema.json"
EMPTY = with_findings()


def nothing_else(schema: Any) -> Any:
    """The schema of a document that has no field but those the schema knows."""
    if isinstance(schema, list):
        return [nothing_else(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: nothing_else(value) for key, value in schema.items()}
    return {**inner, "additionalProperties": False} if isinstance(inner.get("properties"), dict) else inner


OURS = jsonschema.Draft202012Validator(nothing_else(SCHEMAS["gate-report"]()))


def check(name: str, text: str) -> None:
    """A report is what its format allows."""
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    match name:
        case "json":
            OURS.validate(json.loads(text))
        case "yaml":
            OURS.validate(yaml.safe_load(text))
        case "sarif":
            jsonschema.validate(json.loads(text), SARIF)
        case "gitlab":
            jsonschema.validate(issues := json.loads(text), GITLAB)
            assert len({issue["fingerprint"] for issue in issues}) == len(issues)
        case "junit":
            check_junit(text)
        case "github":
            check_github(text)
        case "tap":
            check_tap(text)
        case "markdown":
            assert text.startswith(f"{MARKER}\n## ")
            assert text.count(MARKER) == 1
            assert len(text.encode("utf-16-le")) // 2 <= LONGEST
        case _:
            assert name == "table"


def plain(result: GateResult) -> list[Read]:
    return [
        (
            finding.rule,
            finding.level,
            str(finding.subject or ""),
            f"{finding.location.file.removeprefix('./')}:{finding.location.line}" if finding.location else "",
        )
        for finding in result.findings
    ]


# --- valid, and of one mind


def test_every_format_can_be_read_back() -> None:
    assert set(READERS) == set(FORMATS)


@pytest.mark.parametrize("result", [sample(), EMPTY], ids=["a bit of everything", "nothing"])
@pytest.mark.parametrize("name", FORMATS)
def test_a_report_is_valid(name: str, result: GateResult) -> None:
    check(name, FORMATS[name](result))


@pytest.mark.long
@pytest.mark.parametrize("name", FORMATS)
@given(result=results())
def test_all_formats_have_the_same_findings(name: str, result: GateResult) -> None:
    # Formats that group their findings by rule have them in another order.
    text = FORMATS[name](result)
    check(name, text)
    assert sorted(READERS[name](text)) == sorted(plain(result))


@pytest.mark.parametrize("name", FORMATS)
def test_exemptions_are_told_with_their_reason_and_are_no_findings(name: str) -> None:
    text = FORMATS[name](sample())
    assert "may be cold" in text
    assert "single-node" not in {rule for rule, *_ in READERS[name](text)}


@pytest.mark.parametrize("name", sorted(set(FORMATS) - {"gitlab", "table"}))
def test_warnings_of_the_run_are_told(name: str) -> None:
    # The table goes to people who have them on standard error; an issue of GitLab's belongs to a file.
    assert "2 ConfigMap were not looked at" in FORMATS[name](sample())


@pytest.mark.parametrize("name", sorted(set(FORMATS) - {"gitlab"}))
def test_what_the_gate_decided_is_told_even_without_findings(name: str) -> None:
    note = "nothing to judge: the change neither makes pods nor takes any away"
    text = FORMATS[name](msgspec.structs.replace(EMPTY, judged="change", note=note)).lower()
    assert note in text
    assert "pass" in text


# --- ours


def test_json_and_yaml_come_back_as_they_went_in() -> None:
    assert msgspec.json.decode(FORMATS["json"](sample()), type=GateResult) == sample()
    assert msgspec.convert(yaml.safe_load(FORMATS["yaml"](sample())), GateResult) == sample()


# --- one by one


def test_names_of_test_cases_stay_the_same_while_numbers_change() -> None:
    def named(title: str) -> list[str]:
        finding = Finding(rule="r", level="error", title=title, message="", fingerprint="f")
        other = msgspec.structs.replace(finding, subject=Subject(kind="Pod", name="p"))
        return [
            c.attrib["name"] for c in xml.fromstring(gate_junit(with_findings(finding, other, other))).iter("testcase")
        ]

    assert named("2 pods") == named("3 pods") == ["r", "Pod p", "Pod p (2)"]


def test_a_rule_that_was_asked_for_twice_is_one_class_of_cases() -> None:
    outcomes = [RuleOutcome(rule="spread", level="error", status=status) for status in ("passed", "off")]
    result = msgspec.structs.replace(EMPTY, rules=tuple(outcomes))
    assert [c.attrib["name"] for c in xml.fromstring(gate_junit(result)).iter("testcase")] == ["spread"]
    assert "\n1..1\nok 1 - spread\n" in FORMATS["tap"](result)
    assert len(json.loads(FORMATS["sarif"](result))["runs"][0]["tool"]["driver"]["rules"]) == 1


def test_paths_are_uris_in_sarif() -> None:
    def uri(file: str) -> str:
        finding = Finding(rule="r", level="warn", location=Location(file=file), title="t", message="m", fingerprint="f")
        (result,) = json.loads(FORMATS["sarif"](with_findings(finding)))["runs"][0]["results"]
        return str(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])

    assert uri("./a b/c:d.yaml") == "a%20b/c%3Ad.yaml"
    assert uri("/srv/x.yaml") == "file:///srv/x.yaml"
    assert uri("ä%.yaml") == "%C3%A4%25.yaml"


def test_sarif_has_neither_placeholders_nor_links() -> None:
    finding = Finding(rule="r", level="warn", title="{0} [a](b)", message="", fingerprint="f")
    (result,) = json.loads(FORMATS["sarif"](with_findings(finding)))["runs"][0]["results"]
    assert result["message"]["text"] == "{{0}} [a] (b)."


def test_a_gate_that_asked_nothing_is_a_plan_of_nothing() -> None:
    assert "\n1..0 # no rule is on\n" in FORMATS["tap"](EMPTY)


# --- the terminal


@pytest.mark.parametrize("width", [60, 80, 200])
def test_lines_are_broken_to_fit_the_terminal(width: int) -> None:
    lines = gate_table(sample(), Screen(width)).splitlines()
    assert max(map(len, lines)) <= width
    assert all(line == line.rstrip() for line in lines)


def test_why_one_pod_waits_is_told_once() -> None:
    why = "0/2 nodes are available: 2 Insufficient cpu, 2 node(s) had untolerated taint(s)."
    stuck = Finding(
        rule="rollout-deadlock",
        level="error",
        title="stuck",
        message=f"No room. shop/a: {why}",
        pod="shop/a",
        fingerprint="1",
    )
    left = Finding(
        rule="unschedulable",
        level="error",
        title="2 pods",
        message=f"shop/a (and 1 more): {why}",
        pod="shop/a",
        fingerprint="2",
    )
    report = gate_table(with_findings(stuck, left))
    assert report.count("untolerated") == 1
    assert "shop/a (and 1 more): see rollout-deadlock above" in report


def test_colour_adds_nothing_but_colour() -> None:
    painted = gate_table(sample(), Screen(colour=True))
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == gate_table(sample())
    assert painted.startswith("\x1b[1;31mFAIL\x1b[0m  1 error, 2 warnings, 1 exempted\n")
    assert "\x1b" not in gate_table(sample())


# --- the comment


def rendered(text: str) -> tuple[set[str], str]:
    """The elements that a reader's page has, and the text outside of code."""
    parser = MarkdownIt("gfm-like", {"html": True, "linkify": True})
    # GitHub links to what has a scheme, is an address, or begins with www (looked for below), not to any kubernetes.io.
    assert parser.linkify is not None
    parser.linkify.set({"fuzzy_link": False})
    page = parser.render(text)
    tags: set[str] = set()
    words: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            tags.add(tag)
            self.inside = tag
            assert not [name for name, _ in attrs if name != "style"]

        def handle_data(self, data: str) -> None:
            if getattr(self, "inside", "") != "code":
                words.append(data)

        def handle_endtag(self, tag: str) -> None:
            self.inside = ""

    Reader().feed(page)
    return tags, "\n".join(words)


OUR_TAGS = set(re.findall(r"\w+", "h2 p table thead tbody tr th td code strong em blockquote details summary ul li br"))


@pytest.mark.long
@given(text=ANY)
def test_a_comment_has_no_element_that_is_not_ours_and_calls_nobody(text: str) -> None:
    tags, words = rendered(gate_markdown(hostile_result(text)))
    assert tags <= OUR_TAGS
    assert not re.search(r"@\w|#\d|://|www\.", words)


def test_a_comment_is_rendered_as_meant() -> None:
    tags, words = rendered(gate_markdown(sample()))
    assert {"h2", "table", "details", "summary", "code", "ul"} <= tags
    assert "2 of 3 pods find no node" in words


@pytest.mark.long
@pytest.mark.parametrize("sign", ["x", "<", "😀"])
def test_a_comment_that_would_be_too_long_leaves_things_out_and_says_so(sign: str) -> None:
    finding = sample().findings[0]
    many = [msgspec.structs.replace(finding, message=f"{n} {sign * 2_000}") for n in range(500)]
    text = gate_markdown(with_findings(*many))
    check("markdown", text)
    left = [int(number) for number in re.findall(r"_(\d+) more not shown here", text)]
    assert left[0] == 470
    assert left[1] == 500 - text.count("Why: ")
    assert 0 < left[1] < 500
    assert text.count("<details>") == text.count("</details>")


# --- hostile names


@pytest.mark.long
@pytest.mark.parametrize("name", FORMATS)
@given(text=ANY)
def test_whatever_is_in_a_name_the_report_is_valid_and_no_terminal_obeys_it(name: str, text: str) -> None:
    shown = FORMATS[name](hostile_result(text))
    check(name, shown)
    shown.encode()
    if name != "markdown":
        assert all(line.isprintable() for line in shown.split("\n"))
    if name not in ("json", "yaml"):
        assert len(list(READERS[name](shown))) == 2 or name in ("table", "markdown")


@given(text=ANY)
def test_the_only_invisible_characters_of_a_comment_are_ours(text: str) -> None:
    shown = gate_markdown(hostile_result(text)).replace("⚠️", "")
    assert all(line.isprintable() for line in shown.split("\n"))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_name_is_shown_as_it_is(text: str) -> None:
    run = json.loads(FORMATS["sarif"](hostile_result(text)))["runs"][0]
    assert run["results"][0]["locations"][0]["logicalLocations"][0]["name"] == clean(text)
    (case, *_) = xml.fromstring(gate_junit(hostile_result(text))).iter("testcase")
    assert case.attrib["name"] == clean(str(Subject(kind=text, namespace=text, name=text)))


def test_a_verdict_stands_once_in_a_file_and_ends_a_long_report_on_a_terminal() -> None:
    assert gate_table(sample()).count("1 error, 2 warnings") == 1
    assert gate_table(sample(), Screen(100)).count("1 error, 2 warnings") == 2
