"""The renderers by themselves, on text that nobody would write with good intentions."""

from __future__ import annotations

import json
import re

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kwhatif.commands.conformance.result import ConformanceResult, FileAgreement
from kwhatif.commands.conformance.text import conformance_blocks
from kwhatif.commands.explain.text import explain_blocks
from kwhatif.commands.place.text import names_of, place_blocks
from kwhatif.render.blocks import Facts, Grouping, Heading, Lines, Table, Verdict, table
from kwhatif.render.escape import clean
from kwhatif.render.formats import as_documents, as_json, as_yaml, escape_markdown, markdown_of
from kwhatif.render.screen import Screen
from kwhatif.render.sections import fidelity_blocks
from kwhatif.render.tables import text_of
from kwhatif.results.amounts import format_count, format_some
from kwhatif.results.base import Fidelity, Gap
from kwhatif.results.explain import Blocker, Eviction, ExplainResult, Fix, NodeReport, PodReport
from kwhatif.results.outcome import EvictedPod, Outcome
from kwhatif.results.place import Placement, PlaceResult, Victim
from kwhatif.simulation.placement.conclusion import words_of
from kwhatif.simulation.placement.run import Run
from tests.simulation.sessions import session_of

ANY = st.text(st.characters(codec=None), max_size=30)
FIDELITY = Fidelity(rules="1.36")
GOOD = Outcome(good=True, verdict="1 of 1 pod placed")


# --- names


@pytest.mark.long
@given(ANY)
def test_what_is_shown_is_on_one_line_and_obeyed_by_no_terminal(text: str) -> None:
    shown = clean(text)
    assert shown.isprintable()
    assert clean(shown) == shown
    shown.encode()


def test_what_is_not_printable_is_shown_as_python_spells_it() -> None:
    assert clean("a\x1b[31m\n\t\u202e\ud800\x7f\x9bß→") == "a\\x1b[31m\\n\\t\\u202e\\ud800\\x7f\\x9bß→"


def test_bytes_that_are_no_text_are_no_escape_in_yaml_that_its_readers_refuse() -> None:
    assert as_documents([{"path": "a\udc80b \U0001f600"}]) == '---\npath: "a\\uFFFDb \\U0001F600"\n'


# --- tables


def test_columns_are_as_kubectl_prints_them() -> None:
    drawn = text_of([table(("name", "node", ""), (("a", "much longer", "x"), ("bbbbb", "n", "")))])
    assert drawn == "NAME   NODE\na      much longer  x\nbbbbb  n\n"


def test_names_among_the_headers_keep_their_case() -> None:
    assert text_of([table(("plugin", "node-a [name]"), [("X", "1")])]).splitlines()[0] == "PLUGIN  node-a"


def test_cells_that_look_like_numbers_are_left_as_they_are() -> None:
    assert text_of([table(("a", "b"), (("007", "1e5"), ("1.50", "-")))]).splitlines()[1:] == ["007   1e5", "1.50  -"]


@given(st.lists(st.tuples(ANY, ANY), min_size=1, max_size=5))
def test_a_table_has_a_line_a_row_whatever_is_in_it(rows: list[tuple[str, str]]) -> None:
    drawn = text_of([table(("one", "other"), tuple(rows))])
    assert len(drawn.split("\n")) == len(rows) + 2
    assert all(line.isprintable() for line in drawn.split("\n"))


def test_headings_stand_over_their_blocks_and_other_blocks_apart() -> None:
    text = text_of([Lines(("a", "b")), Heading("H"), table(("x",), (("1",),)), Facts((("Long", "v"), ("S", "")))])
    assert text == "a\nb\n\nH\nX\n1\n\nLong:  v\nS:\n"


# --- the terminal

WIDE = table(
    ("pod", "node", "why"),
    (("shop/a-name-of-some-length", "ip-10-0-0-1.eu-west-1.compute.internal", "it is full of words " * 4),) * 2,
)


def test_columns_without_room_go_below_their_row_and_sentences_are_wrapped() -> None:
    assert text_of([WIDE], Screen(80)).splitlines()[:4] == [
        "POD                         NODE",
        "  WHY",
        "shop/a-name-of-some-length  ip-10-0-0-1.eu-west-1.compute.internal",
        "  it is full of words it is full of words it is full of words it is full of",
    ]


@given(st.lists(st.tuples(ANY, ANY, ANY), min_size=1, max_size=5), st.integers(60, 200))
def test_a_terminal_shows_every_word_of_a_table_and_only_single_words_are_too_wide(
    rows: list[tuple[str, str, str]], width: int
) -> None:
    lines = text_of([table(("one", "other", "third"), tuple(rows))], Screen(width)).splitlines()
    assert all(len(line) <= width or len(line.split()) == 1 for line in lines)
    assert sorted("".join(lines[1:]).replace(" ", "")) == sorted(
        "".join(clean(cell) for row in rows for cell in row).replace(" ", "")
    ) or any("\\" in line for line in lines)


def test_the_ending_that_all_nodes_have_is_told_once() -> None:
    names = tuple((f"ip-10-0-0-{i}.eu-west-1.compute.internal",) for i in range(2))
    shown = text_of([table(("node [node]",), names)], Screen(80))
    assert shown == (
        "NODE\nip-10-0-0-0…\nip-10-0-0-1…\n\nNames of nodes that end in … end in .eu-west-1.compute.internal.\n"
    )
    assert names[0][0] in text_of([table(("node [node]",), names)])


def test_a_verdict_stands_first_and_is_repeated_where_it_is_out_of_sight() -> None:
    verdict = Verdict("All is well.", True)
    assert text_of([Lines(("a",)), verdict]) == "All is well.\n\na\n"
    long = text_of([Lines(("a",) * 30), verdict], Screen(80, colour=True)).splitlines()
    assert long[0] == long[-1] == "\x1b[1;32mAll is well.\x1b[0m"


# --- groups


def table_of(number: int) -> Table:
    rows = tuple((f"shop/web-5d4c7fbbdd-{'bcdfg'[i % 5]}2x4z", f"node-{i}", str(i), "full") for i in range(number))
    return table(("pod [pod, same]", "node [node]", "number", "why [same]"), rows, Grouping("pod"))


def test_tables_from_20_rows_on_are_told_in_groups_unless_everything_is_asked_for() -> None:
    assert len(text_of([table_of(19)], everything=False).splitlines()) == 20
    assert text_of([table_of(20)], everything=False) == (
        "PODS  POD         NODE                NUMBER   WHY\n"
        "20    shop/web-*  node-0 and 19 more  0 to 19  full\n"
        "--all shows every row\n"
    )
    assert len(text_of([table_of(20)], everything=True).splitlines()) == 21


def test_rows_that_say_the_same_are_told_once_where_a_short_table_asks_for_it() -> None:
    rows = tuple((f"shop/web-5d4c7fbbdd-{letter}2x4z", "the group is full") for letter in "bcdfg")
    short = table(("pod [pod]", "why [same]"), (*rows, ("shop/db-0", "it is new")), Grouping("pod", always=True))
    assert text_of([short], everything=False) == (
        "PODS  POD         WHY\n"
        "5     shop/web-*  the group is full\n"
        "1     shop/db-0   it is new\n"
        "--all shows every row\n"
    )


def test_a_file_has_the_verdict_once() -> None:
    assert text_of([Lines(("a",) * 30), Verdict("All is well.", True)]).count("All is well.") == 1


def test_amounts_range_by_size_and_rows_that_stand_for_themselves_are_cut() -> None:
    rows = tuple((f"shop/w-{i}", amount) for i, amount in enumerate(["900m", "2", "-", "1500m"] * 6))
    shown = text_of([table(("pod [pod, same]", "cpu"), rows, Grouping("pod"))], everything=False)
    assert "24    shop/w-*  900m to 2\n" in shown
    shown = text_of([table(("pod", "cpu"), rows, Grouping("pod"))], everything=False)
    assert shown.count("\n") == 25
    shown = text_of([table(("pod", "cpu"), rows[:1] * 50, Grouping("pod"))], everything=False)
    assert shown.endswith("\nshop/w-0  900m\n12 more pods; --all shows every row\n")


def table_of_workloads(zones: int) -> Table:
    rows = tuple((f"shop/app{i}-5d4c7fbbdd-b2x4z", f"zone {i % zones}", f"{i + 1}m") for i in range(30))
    return table(("pod [pod, same]", "zone [same]", "cpu"), rows, Grouping("pod"))


def test_rows_of_which_no_two_are_alike_are_counted_by_what_tells_fewer_of_them_apart() -> None:
    assert text_of([table_of_workloads(2)], everything=False) == (
        "PODS  POD                      ZONE    CPU\n"
        "15    shop/app0-* and 14 more  zone 0  1m to 29m\n"
        "15    shop/app1-* and 14 more  zone 1  2m to 30m\n"
        "--all shows every row\n"
    )


@pytest.mark.parametrize("zones", [1, 30], ids=["one total of all", "no zone twice"])
def test_rows_of_which_no_two_are_alike_are_cut_where_totals_would_tell_no_more(zones: int) -> None:
    shown = text_of([table_of_workloads(zones)], everything=False)
    assert shown.startswith("POD ")
    assert shown.endswith("\n18 more pods; --all shows every row\n")


def test_a_table_that_is_read_for_what_is_compared_has_no_totals() -> None:
    table = table_of_workloads(2)
    shown = text_of([replace(table, grouping=Grouping("pod", totals=False))], everything=False)
    assert shown.endswith("\n18 more pods; --all shows every row\n")


def test_groups_that_hold_less_than_a_third_of_the_rows_give_way_to_totals() -> None:
    rows = tuple((f"shop/app{i // 2}-5d4c7fbbdd-{'bc'[i % 2]}2x4z", f"zone {i // 30}") for i in range(90))
    shown = text_of([table(("pod [pod, same]", "zone [same]"), rows, Grouping("pod"))], everything=False)
    assert shown.splitlines()[1:] == [
        "30    shop/app0-* and 14 more   zone 0",
        "30    shop/app15-* and 14 more  zone 1",
        "30    shop/app30-* and 14 more  zone 2",
        "--all shows every row",
    ]


def test_a_report_of_long_tables_keeps_to_sixty_lines() -> None:
    rows = tuple((f"shop/w-{i}", f"reason {i}") for i in range(500))
    tables = [table(("pod [pod]", "why [same]"), rows, Grouping("pod"))] * 8
    assert len(text_of([*tables, Verdict("No.", False)], everything=False).splitlines()) <= 60


# --- markdown


@given(st.lists(st.tuples(ANY, ANY), min_size=1, max_size=5))
def test_no_cell_breaks_out_of_a_markdown_table(rows: list[tuple[str, str]]) -> None:
    lines = markdown_of([table(("one", "other"), tuple(rows))]).splitlines()
    assert len(lines) == len(rows) + 2
    for line in lines:
        # Escapes are taken as GitHub's own scanner takes them: a backslash and what follows it.
        assert len(re.findall(r"\|", re.sub(r"\\.", "", line))) == 3


@given(ANY)
def test_escaped_text_holds_no_markup(text: str) -> None:
    bare = re.sub(r"\\.", "", escape_markdown(text))
    assert not set(bare) & set("`*_[]|~<>")
    assert "&" not in re.sub("&(amp|lt|gt|#8203);", "", bare)


def test_escaped_text_calls_nobody_and_links_to_nothing() -> None:
    text = "@team #1 http://a.b www.a.b :tada: 11:29:02 a: b"
    shown = escape_markdown(text)
    assert shown == "`@team` `#1` `http://a.b` `www.a.b` `:tada`: 11:29:02 a: b"


# --- results


def test_json_and_yaml_are_ascii_and_come_back_as_they_went_in() -> None:
    result = PlaceResult(
        outcome=GOOD,
        nodes=1,
        placements=(Placement(pod="a/\x1b[1m|\n→\x9b", outcome="placed", node="ñ"),),
        fidelity=FIDELITY,
    )
    for text, load in ((as_json(result), json.loads), (as_yaml(result), yaml.safe_load)):
        assert text.isascii()
        assert all(line.isprintable() for line in text.split("\n"))
        assert msgspec.convert(load(text), PlaceResult) == result


def test_the_verdict_counts_outcomes_and_victims() -> None:
    outcomes = ["placed", "placed", "unschedulable", "gated", "waiting", "skipped", "placed"]
    placements = [Placement(pod=f"a/{i}", outcome=outcome) for i, outcome in enumerate(outcomes)]
    run = Run(session_of([]), (), placements, victims=(EvictedPod(pod="a/v"), EvictedPod(pod="a/w")))
    assert words_of(run) == "3 of 7 pods placed, 1 gated, 1 waiting, 1 skipped, 2 pods evicted"
    assert words_of(Run(session_of([]))) == "no pods to place"


def test_victims_show_what_makes_them_hard_to_evict() -> None:
    victims = (
        Victim(pod="a/v", node="n", priority=-1, budgets=("one", "two"), violates=True),
        Victim(pod="a/w", node="n", priority=0, terminating=True),
    )
    placement = Placement(pod="a/p", outcome="placed", node="n", victims=victims)
    text = text_of(place_blocks(PlaceResult(outcome=GOOD, nodes=1, placements=(placement,), fidelity=FIDELITY)))
    assert "one, two (violated)" in text
    assert "a/w (terminating)" in text


def test_a_pod_that_waits_says_for_what() -> None:
    result = PlaceResult(
        outcome=GOOD, nodes=1, placements=(Placement(pod="a/b", outcome="waiting", node="n"),), fidelity=FIDELITY
    )
    assert "waits for a permit" in text_of(place_blocks(result))
    assert names_of(result) == "pod/a/b -> node/n\n"


def test_ties_beyond_those_kept_are_counted() -> None:
    placement = Placement(pod="a/b", outcome="placed", node="n1", ties=5, tied=("n1", "n2"), score=1)
    result = PlaceResult(outcome=GOOD, nodes=9, placements=(placement,), fidelity=FIDELITY)
    assert "n1,n2,and 3 more" in text_of(place_blocks(result, wide=True))


def test_long_messages_are_not_cut() -> None:
    message = "0/5000 nodes are available: " + "x" * 5000
    placement = Placement(pod="a/b", outcome="unschedulable", message=message)
    assert message in text_of(
        place_blocks(PlaceResult(outcome=GOOD, nodes=1, placements=(placement,), fidelity=FIDELITY))
    )


def test_gaps_that_touch_pods_are_marked_and_the_others_told_briefly() -> None:
    gaps = (
        Gap(what="moon", effect="tides", pods=("a/1", "a/2", "a/3", "a/4")),
        Gap(what="the snapshot holds no Sun", effect="dark"),
        Gap(what="the snapshot holds no Star", effect="dark"),
    )
    text = text_of(fidelity_blocks(Fidelity(rules="1.36", cluster="v1.30.1", source="sky", gaps=gaps)))
    assert text.splitlines() == [
        "Rules of Kubernetes 1.36; snapshot of Kubernetes 1.30.1 from sky, taken at an unknown time.",
        "",
        "GAPS (* touches these pods)",
        "* moon: tides [a/1, a/2, a/3 and 1 more]",
        "  the snapshot holds no Sun, Star",
    ]
    assert text_of(fidelity_blocks(FIDELITY)).splitlines()[1] == "No gap touches these pods."


def report(nodes: tuple[NodeReport, ...], **more: object) -> ExplainResult:
    placement = more.pop("placement", Placement(pod="a/b", outcome="unschedulable"))
    assert isinstance(placement, Placement)
    pod = PodReport(pod="a/b", placement=placement, nodes=nodes, **more)  # type: ignore[arg-type]
    return ExplainResult(nodes=len(nodes), pods=(pod,), fidelity=FIDELITY)


def rejected(number: int, reasons: int) -> tuple[NodeReport, ...]:
    return tuple(
        NodeReport(
            node=f"n{i:03}", feasible=False, blockers=(Blocker(plugin="P", reason=f"r{i % reasons}", reported=True),)
        )
        for i in range(number)
    )


def test_groups_of_nodes_are_many_at_most() -> None:
    text = text_of(explain_blocks(report(rejected(60, 30))))
    assert "28 more nodes in 14 rows; --all shows every node by itself." in text
    assert "n000, n030" in text
    assert "n059" in text_of(explain_blocks(report(rejected(60, 30)), everything=True))


def test_nodes_of_which_the_same_is_said_share_a_row() -> None:
    assert "--all" not in text_of(explain_blocks(report(rejected(12, 12))))
    text = text_of(explain_blocks(report(rejected(212, 1))))
    assert "\n212 nodes  *  may help  n000, n001, n002 and 209 more  r0\n" in text


def test_the_nearest_miss_is_where_the_fewest_plugins_reject_and_then_the_least_is_short() -> None:
    def node(name: str, *short: tuple[str, float]) -> NodeReport:
        blockers = (Blocker(plugin=plugin, reason=f"by {plugin}", short=share) for plugin, share in short)
        return NodeReport(node=name, feasible=False, blockers=tuple(blockers))

    nodes = (
        node("both", ("Fit", 0.01), ("Taints", 0.0)),
        node("tainted", ("Taints", 0.0)),
        node("far", ("Fit", 2.5)),
        node("near", ("Fit", 0.1)),
    )
    text = text_of(explain_blocks(report(nodes), everything=True))
    names = ("near", "tainted", "far", "both")
    assert [line.split()[0] for line in text.splitlines() if line.startswith(names)] == list(names)
    assert text.startswith("Does not fit: a/b finds no node; the nearest is near: by Fit.")


def test_a_pod_without_nodes_or_reasons_can_be_explained() -> None:
    assert "Outcome:    unschedulable" in text_of(explain_blocks(report(())))


def test_an_eviction_names_the_criterion_that_decided() -> None:
    victim = Victim(pod="a/v", node="n", priority=3)
    placement = Placement(pod="a/b", outcome="unschedulable", victims=(victim,), criterion="fewest victims")
    evictions = tuple(
        Eviction(
            node=node,
            victims=(victim,),
            violations=0,
            top_priority=3,
            sum_of_priorities=2**31 + rest,
            chosen=node == "n",
        )
        for node, rest in (("m", -3), ("n", 3))
    )
    text = text_of(explain_blocks(report((), placement=placement, evictions=evictions)))
    assert [line.split() for line in text.splitlines() if line.startswith(("m ", "n "))] == [
        ["m", "0", "3", *["1", "*", "2^31", "-", "3"], "1", "<none>"],
        ["n", "0", "3", *["1", "*", "2^31", "+", "3"], "1", "<none>", "fewest", "victims"],
    ]


def test_fixes_tell_how_many_were_tried() -> None:
    one = text_of(explain_blocks(report((), fixes=(Fix(change="c", node="n"),), tried=3)))
    assert "FIXES: tried 3 changes, this works\n" in one
    assert "FIXES: none of 1 change tried helps." in text_of(explain_blocks(report((), tried=1)))


def test_agreement_is_100_percent_only_when_it_is() -> None:
    file = FileAgreement(file="f", scenarios=10_000, compared=10_000, agreeing=9_999, pods=1, differing={"scores": 1})
    result = ConformanceResult(files=(file,))
    assert "99.9%" in text_of(conformance_blocks(result))
    assert result.exit_code == 1


def test_numbers_and_lists_in_words() -> None:
    assert (format_count(1, "pod"), format_count(0, "pod"), format_count(2, "box", "boxes")) == (
        "1 pod",
        "0 pods",
        "2 boxes",
    )
    assert (format_some(["a"]), format_some(list("abc")), format_some(list("abcde"))) == (
        "a",
        "a, b, c",
        "a, b, c and 2 more",
    )
