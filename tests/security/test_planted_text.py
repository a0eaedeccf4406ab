"""Text that others wrote is text: in Markdown with all automatic links on, in the logs of pipelines, on a terminal, in
what is revealed; and addresses do not survive redaction.
"""

from __future__ import annotations

import json
import random
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from kwhatif.commands.gate.formats.formats import FORMATS
from kwhatif.redaction.pseudonyms import WORD
from kwhatif.render.blocks import Block, Column, Facts, Heading, Lines, table
from kwhatif.render.escape import in_answer_of_others
from kwhatif.render.formats import escape_markdown, markdown_of
from tests.cli.running import CLUSTER, run
from tests.commands.gate.formats.gate_results import hostile_result

LOG_COMMAND = re.compile(r"^\s*::|##\w*\[", re.MULTILINE)
REFERENCE = re.compile(
    r"@\w|#\d|\bGH-\d|\bGHSA-|\bCVE-\d|www\.|://|:[\w+-]*[a-z_+][\w+-]*:|(?<![\w-])[0-9a-f]{7,40}(?![\w-])", re.I
)
"""What GitHub makes a mention, a link or a picture of, after the Markdown is drawn."""

LINKS = (
    "topology.kubernetes.io/zone",
    "node.kubernetes.io/instance-type=m5.large",
    "www.evil.example",
    "WWW.evil.example/a?b=c",
    "(www.evil.example)",
    "*www.evil.example*",
    "see:www.evil.example.",
    "https://evil.example/x",
    "http://[::1]/",
    "ftp://evil.example",
    "mailto:me@evil.example",
    "xmpp:me@evil.example/a",
    "me@evil.example",
    "@team",
    "@org/team",
    "x @team, and @other.",
    "#12",
    "org/repo#12",
    "GH-12",
    "gh-12",
    "GHSA-jfh8-c2jp-5v3q",
    "CVE-2026-1234",
    "5d41402abc4b2a76b9719d911017c592deadbeef",
    "org/repo@5d41402abc4b",
    ":tada: :+1:",
    "<https://evil.example>",
    "[a](https://evil.example)",
    "![a](https://evil.example/a.png)",
    "[a]: https://evil.example",
    "<img src=//evil.example>",
    "`www.evil.example",
    "``www.evil.example`` `a",
    "\\www.evil.example",
    "|www.evil.example|@team|#1",
    "a`www.evil.example`b",
    "evil.shop/x evil.xn--p1ai",
    "$www.evil.example$",
    "~~www.evil.example~~",
    "&commat;team &#64;team &#35;12",
    "www.\u200bevil.example",
    "\u202ewww.evil.example",
    "https\u2028://evil.example",
)


def drawn(markdown: str) -> tuple[set[str], str]:
    """The elements of the page that GitHub-flavoured Markdown makes, with every automatic link on, and its text."""
    parser = MarkdownIt("gfm-like", {"html": True, "linkify": True})
    assert parser.linkify is not None
    parser.linkify.set({"fuzzy_link": True, "fuzzy_email": True, "fuzzy_ip": True})
    tags: set[str] = set()
    words: list[str] = []
    inside: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            tags.add(tag)
            inside.append(tag)
            words.append("\n" if tag in ("br", "td", "th") else "")

        def handle_endtag(self, tag: str) -> None:
            if tag in inside:
                del inside[len(inside) - inside[::-1].index(tag) - 1 :]

        def handle_data(self, data: str) -> None:
            words.append(" " if "code" in inside else data)

    Reader().feed(parser.render(markdown))
    return tags, "".join(words)


def assert_inert(markdown: str) -> None:
    tags, words = drawn(markdown)
    assert not tags & {"a", "img", "script", "iframe", "form", "input"}, markdown
    assert not REFERENCE.search(words), (markdown, words)


@pytest.mark.parametrize("text", LINKS)
def test_markdown_makes_nothing_of_what_others_wrote(text: str) -> None:
    for variant in (text, f"a {text} b", f"({text})", f"{text}, {text}.", text.upper()):
        assert_inert(escape_markdown(variant))
        blocks: list[Block] = [
            Heading(variant),
            Facts((("label", variant),)),
            Lines((variant, variant)),
            Lines((variant,), listed=True),
            table((Column(variant, name=True), Column("b", name=True)), [(variant, variant)]),
        ]
        assert_inert(markdown_of(blocks))


@pytest.mark.parametrize("text", LINKS)
def test_a_comment_on_a_pull_request_makes_nothing_of_it_either(text: str) -> None:
    assert_inert(FORMATS["markdown"](hostile_result(text)))


def test_words_that_could_be_names_of_hosts_are_code() -> None:
    assert escape_markdown("key topology.kubernetes.io/zone, in web.yaml.") == (
        "key `topology.kubernetes.io/zone`, in `web.yaml`."
    )
    plain = "0/3 nodes are available: 3 Insufficient cpu. 10.0.0.1 has 1.5 of 2.25"
    assert escape_markdown(plain) == plain


COMMANDS = ("##[error]x", "##vso[task.complete]", "::error::x", "a ##[group]b", "##teamcity[x]", "###[error]", "##[]")


@pytest.mark.parametrize("text", COMMANDS)
@pytest.mark.parametrize("name", FORMATS)
def test_no_format_brings_a_command_into_a_log(name: str, text: str) -> None:
    report = FORMATS[name](hostile_result(text))
    own = re.sub(r"^::(error|warning|notice) ", "", report, flags=re.MULTILINE) if name == "github" else report
    assert not LOG_COMMAND.search(own)


@pytest.mark.long
def test_planted_texts_stay_texts_in_every_format() -> None:
    """Made of pieces by a seed: ``python -m tests.planted_reports SEED NUMBER`` goes on."""
    from tests.planted_reports import check

    assert check(seed=1, number=60) == 60


# --- what is revealed


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ("a\x1b[31mred\x1b[0m\n", "a\\x1b[31mred\\x1b[0m\n"),
        ("\x1b]0;title\x07\x9b31m\n", "\\x1b]0;title\\x07\\x9b31m\n"),
        ("over\rwritten\n", "over\\rwritten\n"),
        ("lines\r\nof Windows\r\n", "lines\nof Windows\n"),
        ("\u202eback\u2066wards\u200b\n", "\\u202eback\\u2066wards\\u200b\n"),
        ("::error::x\n  ::warning::\n##[error]x\n", "\\::error::x\n  \\::warning::\n#\\#[error]x\n"),
        ("[a]\n::error::x\n", "[a]\n\\::error::x\n"),
        ("a\tb\xa0c 日本\n", "a\tb\xa0c 日本\n"),
        ("\x08\x08\x7f\x00", "\\x08\\x08\\x7f\\x00"),
    ],
)
def test_an_answer_of_others_is_revealed_without_harm(answer: str, shown: str, tmp_path: Path) -> None:
    assert in_answer_of_others(answer) == shown
    translation, text = tmp_path / "translation.json", tmp_path / "answer"
    assert run("snapshot", "redact", CLUSTER, "-o", str(tmp_path / "out"), "--translation", str(translation)).code == 0
    text.write_bytes(answer.encode())
    ran = run("snapshot", "reveal", "--translation", str(translation), str(text))
    assert (ran.code, ran.out) == (0, shown)


def test_json_that_is_revealed_stays_json() -> None:
    value = {"a": "\x1b[31m\u202e##[error]x", "b": ["::error::"]}
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False), json.dumps(value, indent=2)):
        shown = in_answer_of_others(text)
        assert json.loads(shown) == value
        assert not LOG_COMMAND.search(shown)
        assert shown.replace("\n", "").isprintable()


# --- addresses


@pytest.mark.parametrize(
    "address",
    [
        "2001:db8:10:200::42",
        "2001:0db8:0001:0002:0003:0004:0005:0006",
        "fe80::1",
        "::12",
        "12::",
        "::ffff:10.20.30.40",
        "64:ff9b::10.20.30.40",
        "2001:DB8::123",
        "2001-db8-10-200--42",
        "1-22-333-44-55-66-77-88",
        "02:42:ac:11:00:02",
        "02-42-ac-11-00-02",
        "2.4.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.1.0.0.8.b.d.0.1.0.0.2",
        "10.20.30.40",
        "ip-10-20-30-40",
    ],
)
@pytest.mark.parametrize("around", ["{}", "[{}]:443", "{}/64", "pod-{}.cluster", "dial tcp [{}]: refused", "a={},b"])
def test_an_address_is_one_word_for_redaction(address: str, around: str) -> None:
    assert address in WORD.findall(around.format(address))


def test_no_group_of_an_address_survives_redaction(tmp_path: Path) -> None:
    draw = random.Random(6)
    groups = [[f"{draw.randrange(100, 1000)}" for _ in range(5)] for _ in range(20)]
    names = [f"2001:db8:{':'.join(each[:2])}::{':'.join(each[2:])}" for each in groups]
    pod = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p", "labels": {"a": "b"}}, "spec": {}}
    labels = {f"at-{number}": name.replace(":", "-") for number, name in enumerate(names)}
    pod["metadata"] = {"name": "p", "labels": labels, "annotations": {}}
    containers = [{"name": "c", "image": f"[{name}]:5000/x"} for name in names]
    pod["spec"] = {"containers": containers, "nodeSelector": labels}
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [pod]}))
    out = tmp_path / "out.json"
    words = ("snapshot", "redact", str(path), "-o", str(out), "--translation", str(tmp_path / "translation.json"))
    ran = run(*words)
    assert ran.code == 0, ran.err
    kept = re.findall(r"(?<![0-9a-z])[0-9]{3}(?![0-9a-z])", out.read_text())
    assert not set(kept) & {group for each in groups for group in each}


def test_words_of_any_length_are_found_in_a_line_of_work() -> None:
    for text in ("1:" * 50_000, "1-" * 50_000, "a." * 50_000, "::" * 50_000, "0" * 200_000, "a--" * 50_000):
        assert WORD.findall(text) is not None
