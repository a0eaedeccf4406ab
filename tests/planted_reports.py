"""Texts made of pieces that terminals, pipelines and readers of Markdown take for more, planted into reports.

    python -m tests.planted_reports SEED NUMBER

plants so many texts into every format of every report, and says how many of them became a command, a link, a tag or an
escape.
"""

from __future__ import annotations

import json
import random
import re
import sys
from functools import cache
from html.parser import HTMLParser
from xml.etree import ElementTree as xml

import yaml
from markdown_it import MarkdownIt

from kwhatif.commands.gate.formats.formats import FORMATS
from kwhatif.render.blocks import Block, Column, Facts, Heading, Lines, table
from kwhatif.render.escape import in_answer_of_others
from kwhatif.render.formats import as_documents, markdown_of, plain_json
from kwhatif.render.tables import text_of
from tests.commands.gate.formats.gate_results import hostile_result

PIECES = (
    *("::", "::error::", "::set-output name=a::", "##[", "##[error]", "##vso[task.complete]", "##teamcity[x]", "#"),
    *("@team", "@", "#12", "org/repo#1", "GH-12", "GHSA-jfh8-c2jp-5v3q", "5d41402abc4b2a76", ":tada:", "www."),
    *("WWW.", "evil.example", "kubernetes.io", "/zone", "https://", "http:", "//", "ftp://", "mailto:", "a@b.io"),
    *(".", "..", "-", "<", ">", "<b>", "</td>", "<script>", "<!--", "-->", "]]>", "&", "&lt;", "&#64;", "&commat;"),
    *("<img src=x>", "\\", "`", "``", "```", "|", "*", "**", "_", "~~", "[a](b)", "![a](b)", "[", "]", "(", ")"),
    *("$", "!", "1. ", "> ", "---", "===", "+ ", "\x1b[31m", "\x1b]0;a\x07", "\x9b", "\r", "\n", "\r\n", "\x08"),
    *("\x00", "\u202e", "\u2066", "\u200b", "\u2028", "\ufeff", "\U000e0001", "\ud800", "%0A", "%0D", "%25", "\t"),
    *(" ", "  ", "    ", "a", "b c", "é", "日本", "'", '"', "{{", "---\n"),
)
LOG_COMMAND = re.compile(r"^\s*::|##\w*\[", re.MULTILINE)
REFERENCE = re.compile(
    r"@\w|#\d|\bGH-\d|\bGHSA-|\bCVE-\d|www\.|://|:[\w+-]*[a-z_+][\w+-]*:|(?<![\w-])(?=[a-f]*[0-9])[0-9a-f]{7,40}(?![\w-])",
    re.IGNORECASE,
)
_PAGE = frozenset(
    re.findall(r"\w+", "h1 h2 h3 p table thead tbody tr th td code strong em blockquote details summary ul li br")
)


# libyaml is ten times as fast, where there is one.
_LOADER = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader


class _Page(HTMLParser):
    """The elements of a page, and its text outside of code."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.words: list[str] = []
        self._code = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.words.append("\n" if tag in ("br", "td", "th") else "")
        self._code += tag == "code"

    def handle_endtag(self, tag: str) -> None:
        self._code -= tag == "code"

    def handle_data(self, data: str) -> None:
        self.words.append(" " if self._code else data)


def planted_text(draw: random.Random) -> str:
    return "".join(draw.choice(PIECES) for _ in range(draw.randrange(1, 9)))


def problems(name: str, report: str) -> list[str]:
    """What a report holds besides text."""
    found = []
    lines = report.split("\n")
    if not all(line.replace("\t", "").replace("\xa0", "").isprintable() for line in lines):
        found.append("an escape")
    own = re.sub(r"^::(error|warning|notice) ", "", report, flags=re.MULTILINE) if name == "github" else report
    if LOG_COMMAND.search(own):
        found.append("a command")
    if name == "markdown":
        page = _Page(_markdown().render(report))
        found += [f"a tag {tag}" for tag in sorted(page.tags - _PAGE)]
        found += [f"a reference {where[0]}" for where in [REFERENCE.search("".join(page.words))] if where]
    if name in ("json", "sarif", "gitlab"):
        json.loads(report)
    if name == "yaml":
        yaml.load(report, _LOADER)
    if name == "junit":
        xml.fromstring(report)
    return found


@cache
def _markdown() -> MarkdownIt:
    parser = MarkdownIt("gfm-like", {"html": True, "linkify": True})
    assert parser.linkify is not None
    parser.linkify.set({"fuzzy_link": True, "fuzzy_email": True, "fuzzy_ip": True})
    return parser


def reports_of(text: str) -> dict[str, str]:
    """One text in every format: those of the gate, and those of all commands."""
    result = hostile_result(text)
    blocks: list[Block] = [
        Heading(text),
        Facts((("label", text),)),
        Lines((text, text)),
        Lines((text,), listed=True),
        table((Column(text, name=True), Column("b", name=True)), [(text, text)]),
    ]
    reports = {name: write(result) for name, write in FORMATS.items()}
    reports |= {"text": text_of(blocks), "of blocks: markdown": markdown_of(blocks)}
    reports |= {"of values: json": plain_json({text: [text]}), "of values: yaml": as_documents([{text: [text]}])}
    return reports | {
        "revealed": in_answer_of_others(text),
        "revealed json": in_answer_of_others(json.dumps({"a": text})),
    }


def check(seed: int, number: int) -> int:
    """Plant texts; returns how many stayed texts everywhere."""
    draw, good = random.Random(seed), 0
    for _ in range(number):
        text = planted_text(draw)
        wrong = {}
        for name, report in reports_of(text).items():
            if found := problems(name.rpartition(" ")[2], report):
                wrong[name] = found
        if wrong:
            print(json.dumps(text), wrong)
        good += not wrong
    return good


if __name__ == "__main__":
    seed, number = map(int, sys.argv[1:])
    good = check(seed, number)
    print(f"seed {seed}: {number:,} texts, {number - good} of them more than text")
    sys.exit(good < number)
