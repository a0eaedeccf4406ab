"""The tables of docs/contributing/behaviour/extenders.md: what an extender does, and what came out of it."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.builders import Json, cluster_of, node, pod
from tests.scheduling.extended import Extended, extender
from tests.scheduling.extender_server import HANGS_UP, NONSENSE, SLOW, SLOW_BODY, Raw, keeps, names, scores, serving
from tests.scheduling.test_extenders import ONLY_FIT

pytestmark = pytest.mark.long

DOCUMENT = Path(__file__).parents[2] / "docs/contributing/behaviour/extenders.md"
GONE = object()
"""Nobody listens where the extender should be."""


@dataclass(frozen=True)
class Case:
    """What the extender ``does``, at which verb, and with which settings."""

    does: str
    answer: Any
    settings: Mapping[str, Any] = field(default_factory=dict)
    tls: bool = False


QUICK = {"httpTimeout": "50ms"}
WHOLE = {"nodeCacheCapable": False}

FAILURES = [
    Case("is slow: `httpTimeout` is over before it answers", SLOW, QUICK),
    Case("begins to answer, and `httpTimeout` is over before it ends", SLOW_BODY, QUICK),
    Case("answers 500", Raw(b'{"NodeNames": ["b"]}', code=500)),
    Case("answers with a page of HTML", Raw(b"<html><body>Welcome</body></html>")),
    Case("answers with nothing", Raw(b"")),
    Case("stops in the middle of its answer", Raw(b'{"NodeNames": ["b"]}', only=12)),
    Case("closes the connection", HANGS_UP),
    Case("speaks another protocol", NONSENSE),
    Case("is gone", GONE),
    Case("shows a certificate that nobody trusts", keeps("b"), tls=True),
]
FILTERS = [
    Case("lets b pass", keeps("b")),
    Case("lets none pass, with reasons", keeps(failed={"a": "no licence", "b": "no licence"}, hopeless={"c": "never"})),
    Case("lets none pass, without a reason", keeps()),
    *FAILURES,
    Case("says that it has an error", {"Error": "licence server down"}),
    Case("has a number where names should be", {"NodeNames": 3}),
    Case("answers `{}`", {}),
    Case("spells it `nodenames`", {"nodenames": ["b"]}),
    Case("names a node that it was not asked about", {"NodeNames": ["ghost"]}),
    Case(
        "sends back a whole node that is not there, and b",
        {"Nodes": {"items": [{"metadata": {"name": "ghost"}}, {"metadata": {"name": "b"}}]}},
        WHOLE,
    ),
    Case("answers with names when it was sent whole nodes", lambda body: {"NodeNames": names(body)}, WHOLE),
    Case("answers with whole nodes when it was sent names", {"Nodes": {"items": [{"metadata": {"name": "b"}}]}}),
]
PRIORITIES = [
    Case("gives b 10 points", scores(a=1, b=10)),
    Case("gives b 1000 points", scores(b=1000)),
    Case("takes 10 points from a", scores(a=-10)),
    Case("gives 10 points to a node that is not there", scores(ghost=10)),
    Case("gives b 1.5 points", [{"Host": "b", "Score": 1.5}]),
    Case("answers with a map of scores", {"b": 10}),
    *FAILURES,
]
VICTIMS = {"Pods": [{"UID": "uid-default-on-b"}], "NumPDBViolations": 0}
PREEMPTIONS = [
    Case("leaves b", {"NodeNameToMetaVictims": {"b": VICTIMS}}),
    Case("leaves none", {"NodeNameToMetaVictims": {}}),
    Case("leaves b without victims", {"NodeNameToMetaVictims": {"b": {"Pods": []}}}),
    Case("claims a pod of b on a", {"NodeNameToMetaVictims": {"a": VICTIMS}}),
    Case("leaves a node that is not there", {"NodeNameToMetaVictims": {"ghost": VICTIMS}}),
    *FAILURES,
]
BINDINGS = [
    Case("binds", {}),
    Case("says that it could not", {"Error": "taken"}),
    *FAILURES,
]
KINDS = {"filter": FILTERS, "prioritize": PRIORITIES, "preempt": PREEMPTIONS, "bind": BINDINGS}


@contextmanager
def reached(case: Case, verb: str) -> Iterator[str]:
    """The address of an extender that behaves like this."""
    if case.answer is GONE:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            yield f"http://127.0.0.1:{taken.getsockname()[1]}"
    else:
        with serving({verb: case.answer}, tls=case.tls) as server:
            yield server.url


def outcome(case: Case, verb: str, *, ignorable: bool) -> str:
    """The node, or the message, of a pod that could go to a, b or c, or to a and b once others have left."""
    with reached(case, verb) as url:
        settings: Json = {f"{verb}Verb": verb, "ignorable": ignorable, **case.settings}
        if verb == "prioritize":
            settings["weight"] = 1
        there = (
            [pod(f"on-{name}", on=name, cpu="4", priority=p) for p, name in enumerate("ab", -1)]
            if verb == "preempt"
            else []
        )
        nodes = [node(name) for name in ("ab" if verb == "preempt" else "abc")]
        run = Extended(cluster_of(nodes, there), extender(url, **settings), bind=True, **ONLY_FIT)
        attempt = run.attempt(pod(cpu="1", priority=1))
        where = run.node(attempt)
        found = where or (f"{attempt.nominated}, in others' place" if attempt.nominated else f"`{attempt.message}`")
        for failure in run.one.failures[:1]:
            if failure.text not in attempt.message:
                found += f"; {failure.outcome}: `{failure.text}`"
    return found.replace(url, "URL").replace(urlsplit(url).netloc, "HOST:PORT").replace("|", "\\|")


def table(verb: str) -> str:
    rows = ["| the extender | not ignorable | `ignorable: true` |", "| --- | --- | --- |"]
    for case in KINDS[verb]:
        strict, lenient = (outcome(case, verb, ignorable=ignorable) for ignorable in (False, True))
        same = strict == lenient
        found, _, why = lenient.partition(": `")
        if found and why and why.rstrip("`") in strict:
            lenient = found  # the message stands beside it already
        rows.append(f"| {case.does} | {strict} | {'the same' if same else lenient} |")
    return "\n".join(rows)


@pytest.mark.parametrize("verb", KINDS)
def test_the_document_says_what_came_out(verb: str) -> None:
    before, _, rest = DOCUMENT.read_text().partition(f"<!-- table: {verb} -->\n")
    assert before
    found, _, _ = rest.partition("\n<!-- end -->")
    assert found.splitlines() == table(verb).splitlines()
