"""Results of the gate to be reported: one that is easy to read, and those of somebody with bad intentions."""

from __future__ import annotations

from hypothesis import strategies as st

from kwhatif.results.base import Fidelity, Gap
from kwhatif.results.gate import Change, Exemption, Finding, GateResult, Location, RuleOutcome, Subject
from kwhatif.results.outcome import Outcome
from kwhatif.results.place import Placement

__all__ = ["ANY", "HOSTILE", "TAME", "hostile_result", "results", "sample", "with_findings"]

WEB = Subject(kind="Deployment", namespace="shop", name="web")
CACHE = Subject(kind="StatefulSet", namespace="shop", name="cache")
AT = Location(file="./head/web.yaml", line=3)

HOSTILE = (
    "<script>alert(1)</script>",
    "a|b\\|c",
    "`tick`",
    "**bold** _it_ ~no~ # $x$",
    "@team see #1 and https://evil.example/?a=1 or www.evil.example :tada:",
    "[click](javascript:alert(1)) ![i](http://x/y.png)",
    "\x1b[31mred\x1b[0m\x07",
    "two\nlines\r\n::error file=x::forged\r::stop-commands::x",
    "##[add-mask]x",
    "\u202egnp.exe\u200b\x00\x9b\ud800",
    "%0A::warning::x",
    "a,b:c=d",
    "{0} {name}",
    "--- ok 1 - fine # SKIP no",
    "</details><!-- kwhatif gate --> ]]> &amp; &#64;",
    "quote\" and '",
    "l" * 5_000,
)
"""Names and texts that some format would take for something else."""


def sample() -> GateResult:
    """A bit of everything."""
    unschedulable = Finding(
        rule="unschedulable",
        level="error",
        subject=WEB,
        location=AT,
        title="2 of 3 pods find no node",
        message="0/6 nodes are available: 3 Insufficient cpu, 3 node(s) had untolerated taint(s).",
        numbers={"pods": 2, "allowed": 0, "share": 0.25, "resource": "cpu"},
        hint="500m cpu less would do",
        fingerprint="f1",
    )
    headroom = Finding(
        rule="headroom",
        level="warn",
        subject=Subject(kind="Pool", name="general"),
        title="4% of cpu is left",
        message="The rule wants 10%",
        fingerprint="f2",
    )
    age = Finding(rule="snapshot-age", level="warn", title="30 h old", message="It may be 24 h old", fingerprint="f3")
    single = Finding(
        rule="single-node",
        level="error",
        subject=CACHE,
        location=Location(file="head/cache.yaml", line=12),
        title="all 2 pods are on node-a",
        message="One node takes the whole of it away",
        fingerprint="f4",
    )
    return GateResult(
        outcome=Outcome(good=False, verdict="FAIL  1 error, 2 warnings, 1 exempted"),
        verdict="fail",
        judged="change",
        changes=(
            Change(what="added", subject=WEB, location=AT, pods_after=3),
            Change(what="changed", subject=CACHE, pods_before=2, pods_after=2, details=("spec.replicas",)),
            Change(what="unchanged", subject=Subject(kind="Service", namespace="shop", name="web")),
        ),
        placements=(
            Placement(pod="shop/web-1", outcome="placed", node="node-a"),
            Placement(pod="shop/web-2", outcome="unschedulable"),
        ),
        rules=(
            RuleOutcome(rule="unschedulable", level="error", status="failed", checked=2, findings=1, summary="2 pods"),
            RuleOutcome(rule="headroom", level="warn", status="warned", checked=2, findings=1, threshold="10% free"),
            RuleOutcome(rule="snapshot-age", level="warn", status="warned", checked=1, findings=1),
            RuleOutcome(rule="single-node", level="error", status="exempted", checked=2, findings=0),
            RuleOutcome(rule="quota", level="error", status="passed", checked=2, summary="4 of 10 pods used"),
            RuleOutcome(rule="spread", level="off", status="off"),
            RuleOutcome(rule="rollout-deadlock", level="error", status="not applicable"),
        ),
        findings=(unschedulable, headroom, age),
        exemptions=(Exemption(rule="single-node", subject=CACHE, reason="may be cold", finding=single),),
        warnings=("2 ConfigMap were not looked at",),
        fidelity=Fidelity(
            rules="1.36",
            cluster="v1.36.1",
            taken_at="2026-11-20T06:00:00Z",
            source="snapshot.json",
            gaps=(Gap(what="no PodDisruptionBudget", effect="nobody is protected", pods=("shop/web-1",)),),
        ),
        policy=".kwhatif.yaml",
    )


def with_findings(*findings: Finding, exemptions: tuple[Exemption, ...] = ()) -> GateResult:
    """A result that has nothing else."""
    levels = {finding.level for finding in findings}
    verdict = "fail" if "error" in levels else "warn" if levels else "pass"
    return GateResult(
        outcome=Outcome(good=verdict != "fail", verdict=verdict.upper()),
        verdict=verdict,  # type: ignore[arg-type]
        judged="everything",
        findings=findings,
        exemptions=exemptions,
        fidelity=Fidelity(rules="1.36"),
    )


def hostile_result(text: str) -> GateResult:
    """The text wherever one comes from a file."""
    subject = Subject(kind=text, namespace=text, name=text)
    location = Location(file=text, line=3)
    findings = [
        Finding(
            rule=rule,
            level=level,  # type: ignore[arg-type]
            subject=subject,
            location=location,
            title=text,
            message=text,
            numbers={text: text, "n": 1},
            hint=text,
            fingerprint=text,
        )
        for rule, level in (("unschedulable", "error"), ("spread", "warn"), ("quota", "error"))
    ]
    return GateResult(
        outcome=Outcome(good=False, verdict=text),
        verdict="fail",
        judged="change",
        note=text,
        changes=(Change(what="changed", subject=subject, location=location, pods_after=1, details=(text, text)),),
        placements=(Placement(pod=text, outcome="unschedulable", message=text),),
        rules=(RuleOutcome(rule="spread", level="warn", status="warned", checked=1, threshold=text, summary=text),),
        findings=tuple(findings[:2]),
        exemptions=(Exemption(rule="quota", subject=subject, reason=text, finding=findings[2]),),
        warnings=(text,),
        fidelity=Fidelity(
            rules="1.36", cluster=text, source=text, edits=(text,), gaps=(Gap(what=text, effect=text, pods=(text,)),)
        ),
        policy=text,
    )


ANY = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(codec=None), max_size=30))

TAME = st.text(st.sampled_from("abz.-/|`*<>@#\\[]{}%$&~_!äλ"), min_size=1, max_size=12)
"""Names with all the signs that mean something somewhere, but none that part names in a table for people."""

_SUBJECTS = st.none() | st.builds(
    Subject,
    kind=st.sampled_from(["Deployment", "Pod", "Pool"]),
    namespace=st.sampled_from(["", "shop"]),
    name=TAME.map(lambda name: name.strip("/") or "x"),
)
_LOCATIONS = st.none() | st.builds(
    Location, file=TAME.map(lambda name: f"dir/x{name.replace('/', '')}"), line=st.integers(1, 99)
)
_FINDINGS = st.builds(
    Finding,
    rule=st.sampled_from(["unschedulable", "spread", "own-rule"]),
    level=st.sampled_from(["error", "warn"]),
    subject=_SUBJECTS,
    location=_LOCATIONS,
    title=st.sampled_from(["too much", "too little"]),
    message=st.sampled_from(["it is so", "it says: so"]),
    numbers=st.dictionaries(TAME, st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TAME, max_size=2),
    hint=st.sampled_from(["", "do better"]),
    fingerprint=st.sampled_from(["a", "b"]),
)


@st.composite
def results(draw: st.DrawFn) -> GateResult:
    """Any findings and exemptions, with names that are tame enough to be read back out of a table for people."""
    findings = draw(st.lists(_FINDINGS, max_size=5))
    exempted = draw(st.lists(_FINDINGS.filter(lambda finding: finding.subject is not None), max_size=2))
    exemptions = [
        Exemption(rule=finding.rule, subject=finding.subject, reason="since", finding=finding)
        for finding in exempted
        if finding.subject is not None
    ]
    return with_findings(*findings, exemptions=tuple(exemptions))
