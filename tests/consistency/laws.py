"""Laws between answers: what two commands, or two places of one answer, say of the same thing is equal.

    python -m tests.consistency.laws [FIRST_SEED [COUNT]]

Each law takes the answers about one world (``worlds.py``) and yields what contradicts, in words. Exit code 1 if
anything does.
"""

from __future__ import annotations

import html
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from tests.cli.running import run
from tests.consistency.worlds import Json, World, build_world

LAWS: dict[str, Callable[[Answers], Iterator[str]]] = {}
ADVICE = re.compile(r"node group or NodePool|adding a node|add a node")


class Answers:
    """What ``kwhatif`` says of a world; each question is asked once. ``brief``: fewer of them."""

    def __init__(self, world: World, folder: Path, *, brief: bool = False) -> None:
        self.world, self.folder, self.brief = world, folder, brief
        world.write(folder)
        self.ask = cache(self._ask)
        self.text = cache(self._text)
        self.at = ("--snapshot", str(folder / "cluster.json"))
        self.change, self.scaled = (str(folder / name) for name in ("change", "scaled.json"))
        self.grown = ("--autoscale", str(folder / "groups.json"))

    def _ask(self, *words: str) -> Json:
        ran = run(*words, *self.at, "-o", "json")
        if ran.code not in (0, 1):
            raise AssertionError(f"{words}: exit code {ran.code}: {ran.err.strip()}")
        answer: Json = json.loads(ran.out)
        if (ran.code == 0) is not answer["outcome"]["good"]:
            raise AssertionError(f"{words}: exit code {ran.code}, good is {answer['outcome']['good']}")
        return answer

    def _text(self, *words: str) -> str:
        return run(*words, *self.at, columns=240).out

    def questions(self) -> Iterator[tuple[str, ...]]:
        """All that is asked here whose answer begins with its verdict."""
        for growth in self.growths():
            yield "place", self.change, *growth
            yield "place", self.scaled, *growth
            yield "capacity", self.change, "--limit", "3", *growth
            yield "drain", next(iter(self.nodes())), "--ignore-daemonsets", *growth
        yield "autoscale", self.change, "--groups", self.grown[1]
        if self.brief:
            return
        yield "chances", self.change, "--trials", "3"
        yield "rightsize", "--usage", str(self.folder / "usage.json"), *self.grown

    def growths(self) -> list[tuple[str, ...]]:
        return [self.grown] if self.brief else [(), self.grown]

    def nodes(self) -> list[str]:
        return [obj["metadata"]["name"] for obj in self.world.items if obj["kind"] == "Node"]

    def updates(self) -> bool:
        """Whether the change is about workloads that run already."""
        there = {(obj["kind"], obj["metadata"]["name"]) for obj in self.world.items}
        return any((obj["kind"], obj["metadata"]["name"]) in there for obj in self.world.change)

    def zones(self) -> list[str]:
        labels = [obj["metadata"]["labels"] for obj in self.world.items if obj["kind"] == "Node"]
        return sorted({each["topology.kubernetes.io/zone"] for each in labels})


def law(check: Callable[[Answers], Iterator[str]]) -> Callable[[Answers], Iterator[str]]:
    LAWS[check.__name__] = check
    return check


def what_is_left(outcome: Json) -> Json:
    """By workload, since pods get other names over time."""
    return {
        "good": outcome["good"],
        "pending": Counter(each["workload"] or each["pod"] for each in outcome["pending"]),
        "not created": Counter({each["workload"]: each["pods"] for each in outcome["notCreated"]}),
        "refused": outcome["refused"],
        **what_is_bought(outcome),
    }


def what_is_bought(outcome: Json) -> Json:
    cost = outcome["cost"]
    nodes = sorted((each["group"], each["nodes"]) for each in outcome["addedNodes"])
    return {"nodes": nodes, "cost": None if cost is None else round(cost, 2)}


def differences(one: Json, other: Json, who: str) -> Iterator[str]:
    for key, value in one.items():
        if value != other[key]:
            yield f"{who}: {key}: {value} and {other[key]}"


def added(outcome: Json) -> int:
    return sum(each["nodes"] for each in outcome["addedNodes"])


@law
def text_markdown_and_page_begin_with_the_verdict(answers: Answers) -> Iterator[str]:
    for words in answers.questions():
        verdict = answers.ask(*words)["outcome"]["verdict"]
        if answers.text(*words).splitlines()[0] != verdict:
            yield f"{words[0]}: text says {answers.text(*words).splitlines()[0]!r}, JSON {verdict!r}"
        first = answers.text(*words, "-o", "markdown").splitlines()[0].strip("*# ").replace("\\", "")
        if first != verdict:
            yield f"{words[0]}: Markdown says {first!r}, JSON {verdict!r}"
    page = answers.folder / "page.html"
    words = ("place", answers.change, *answers.grown)
    answers.text(*words, "--report", f"html={page}")
    if html.escape(answers.ask(*words)["outcome"]["verdict"], quote=False) not in page.read_text():
        yield "place: the page lacks the verdict"


@law
def nodes_and_money_are_one_sum_in_all_places(answers: Answers) -> Iterator[str]:
    """The verdict, the outcome, the tables of nodes and groups, in JSON and in text."""
    for words in answers.questions():
        answer = answers.ask(*words)
        outcome, growth = answer["outcome"], answer.get("scaleUp") or {}
        number, cost = added(outcome), outcome["cost"]
        for counted in re.findall(r"(\d+) (?:new|more) nodes?\b", outcome["verdict"]):
            if int(counted) != number and words[0] != "rightsize":
                yield f"{words[0]}: {number} nodes are added, the verdict says {counted}"
        money = re.findall(r"([\d,]+\.\d\d) more a month", outcome["verdict"])
        if money and (cost is None or f"{cost:,.2f}" != money[0]):
            yield f"{words[0]}: {cost} more a month, the verdict says {money[0]}"
        new = {each["node"] for each in growth.get("nodes", ())}
        on_new = sum(each["node"] in new for each in answer.get("placements", ()))
        for counted in re.findall(r"(\d+) of them on", outcome["verdict"]) if words[0] == "place" else ():
            if int(counted) != on_new:
                yield f"{words[0]}: {on_new} pods are on new nodes, the verdict says {counted}"
        if growth:
            tables = len(growth["nodes"]), sum(each["to"] - each["size"] for each in growth["groups"])
            if set(tables) != {number}:
                yield f"{words[0]}: {number} nodes are added, tables of nodes and groups have {tables}"
            sums = [sum(each["cost"] or 0 for each in growth[rows]) for rows in ("nodes", "groups")]
            if cost is not None and any(abs(each - cost) > 0.01 for each in (*sums, growth["cost"] or 0)):
                yield f"{words[0]}: the outcome costs {cost}, tables of nodes and groups {sums}"


@law
def whoever_is_asked_leaves_what_place_leaves(answers: Answers) -> Iterator[str]:
    for growth in answers.growths():
        place = what_is_left(answers.ask("place", answers.change, *growth)["outcome"])
        for words in (("explain", answers.change), ("place", answers.change, "--timeline")):
            found = what_is_left(answers.ask(*words, *growth)["outcome"])
            yield from differences(place, found, f"place and {words[0]} {words[-1][-10:]} {growth[:1]}")
        gate = what_is_left(answers.ask("gate", answers.change, *growth)["outcome"])
        yield from differences({**place, "good": 0}, {**gate, "good": 0}, f"place and gate {growth[:1]}")
    bought = answers.ask("autoscale", answers.change, "--groups", answers.grown[1])["outcome"]
    yield from differences(place, what_is_left(bought), "place and autoscale")


@law
def who_is_asked_again_does_not_move(answers: Answers) -> Iterator[str]:
    after = answers.folder / "after.json"
    first = answers.ask("place", answers.change, "--write-snapshot", str(after))["outcome"]
    again = json.loads(run("place", "--with-pending", "--snapshot", str(after), "-o", "json").out)["outcome"]
    if again["evicted"]:
        yield f"{again['evicted']} more pods are evicted"
    one, other = ({each["pod"] for each in outcome["pending"]} for outcome in (first, again))
    if one != other:
        yield f"{sorted(one ^ other)} wait once only"


@law
def a_copy_costs_what_place_says(answers: Answers) -> Iterator[str]:
    """Capacity counts copies beside what runs, place also what an update replaces."""
    if answers.updates():
        return
    for growth in answers.growths():
        placed = answers.ask("place", answers.change, *growth)["outcome"]
        one = answers.ask("capacity", answers.change, "--limit", "1", *growth)
        fits = not (placed["pending"] or placed["evicted"] or placed["refused"] or placed["notCreated"])
        if growth and placed["evicted"]:
            # Who may evict does so at once; a copy, which never does, waits for nodes.
            continue
        if (one["fits"] >= 1) != fits:
            yield f"capacity fits {one['fits']} times {growth[:1]}, place: {placed['verdict']}"
        elif fits:
            yield from differences(what_is_bought(placed), what_is_bought(one["outcome"]), "place and capacity")


@law
def a_manifest_with_more_replicas_is_the_workload_scaled(answers: Answers) -> Iterator[str]:
    """Quotas and autoscalers of pods count the same."""
    name, replicas = answers.world.scaled
    home = json.loads(Path(answers.scaled).read_text())["metadata"]["namespace"]
    by_file = answers.ask("place", answers.scaled)["outcome"]
    by_edit = answers.ask("place", "--scale", f"deployment/{home}/{name}={replicas}")["outcome"]
    counts = [_count_not_created(outcome) for outcome in (by_file, by_edit)]
    if counts[0] != counts[1]:
        yield f"of {replicas} {name}: a manifest leaves {counts[0]} not created, --scale {counts[1]}"
    waiting = [Counter(each["workload"] for each in outcome["pending"]) for outcome in (by_file, by_edit)]
    if waiting[0] != waiting[1] and "HorizontalPodAutoscaler" not in by_file["verdict"]:
        yield f"of {replicas} {name}: a manifest leaves {waiting[0]} waiting, --scale {waiting[1]}"


def _count_not_created(outcome: Json) -> int:
    """In the end, or at once where an autoscaler of pods sets fewer soon after."""
    at_once = re.search(r"at once \((\d+) not created", outcome["verdict"])
    return int(at_once[1]) if at_once else sum(each["pods"] for each in outcome["notCreated"])


@law
def a_lost_zone_is_its_nodes_removed_and_a_no_where_pods_wait(answers: Answers) -> Iterator[str]:
    lost = {each["name"]: each for each in answers.ask("outage", "--each", "zones")["failures"]}
    for zone in answers.zones():
        removed = answers.ask("place", "--remove-node", f"topology.kubernetes.io/zone={zone}")["outcome"]
        one, other = what_is_left(lost[zone]["outcome"]), what_is_left(removed)
        for key in ("pending", "not created"):
            if one[key] != other[key]:
                yield f"zone {zone}: {key}: outage {one[key]}, place {other[key]}"
        if lost[zone]["outcome"]["good"] and (one["pending"] or one["not created"]):
            yield f"zone {zone}: pods wait, and the outage is good"


@law
def the_gate_counts_nodes_and_pods_as_place_does(answers: Answers) -> Iterator[str]:
    gate = answers.ask("gate", answers.change, "--rule", "new-nodes=warn", *answers.grown)
    places = answers.ask("place", answers.change, *answers.grown)["outcome"]
    rules = {each["rule"]: each for each in gate["rules"]}
    needs = "no new node is needed" not in rules["new-nodes"]["summary"]
    if added(places) and not needs:
        yield f"{added(places)} nodes are added, and the gate says {rules['new-nodes']['summary']!r}"
    new = [each for each in places["pending"] if each["cause"] == "new"]
    if new and rules["unschedulable"]["status"] == "passed":
        yield f"{len(new)} new pods wait, and the rule unschedulable passes"


@law
def no_hint_speaks_of_a_node_where_none_was_tried(answers: Answers) -> Iterator[str]:
    """A hint names a change that was tried."""
    for finding in answers.ask("gate", answers.change)["findings"]:
        if ADVICE.search(finding["hint"]) and "tried" not in finding["hint"]:
            yield f"{finding['rule']}: {finding['hint']}"


@law
def the_headline_of_rightsize_is_its_table(answers: Answers) -> Iterator[str]:
    words = ("rightsize", "--usage", str(answers.folder / "usage.json"), *answers.grown)
    answer = answers.ask(*words)
    verdict, before, after = answer["outcome"]["verdict"], answer["before"], answer["after"]
    for word, key in (("CPU", "cpu"), ("memory", "memory")):
        said = re.search(rf"{word} requests ([+-]?\d+)%", verdict)
        had, has = (_amount(side["requested"][key]) for side in (before, after))
        if said and had and abs(int(said[1]) - 100 * (has - had) / had) > 1:
            yield f"{word}: the verdict says {said[1]}%, the table {had} and {has}"
    if re.search(r"in pool +\(", verdict):
        yield f"a pool without a name: {verdict}"
    if before["nodesRemovable"] is not None and len(before["removed"]) != before["nodesRemovable"]:
        yield f"{before['nodesRemovable']} nodes go before, {len(before['removed'])} are named"


def _amount(text: str) -> float:
    number, unit = re.fullmatch(r"([\d.]+)(\w*)", text).groups()  # type: ignore[union-attr]
    units = {"": 1.0, "m": 0.001, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
    return float(number) * units[unit]


@law
def a_node_that_refuses_a_copy_lacks_what_it_says(answers: Answers) -> Iterator[str]:
    found = answers.ask("capacity", answers.scaled)
    each = {part["resource"]: part["each"] for part in found["leftOver"]}
    for node in found["nodes"]:
        for reason in node["reasons"]:
            resource = reason.removeprefix("Insufficient ")
            if resource != reason and node["free"].get(resource, 0) >= each.get(resource, 0) > 0:
                yield f"{node['node']}: {reason}, and {node['free'][resource]} are free of {each[resource]}"
    if sum(node["pods"] for node in found["nodes"]) < found["fits"] * found["podsEach"]:
        yield f"{found['fits']} fit {found['podsEach']} pods each, nodes have {sum(n['pods'] for n in found['nodes'])}"


@law
def who_waits_on_a_side_of_a_diff_is_in_its_text(answers: Answers) -> Iterator[str]:
    words = ("diff", "--old", answers.scaled, "--new", answers.change)
    answer, text = answers.ask(*words), answers.text(*words)
    for side in ("a", "b"):
        waiting = {each["workload"] or each["pod"] for each in answer[side]["outcome"]["pending"]}
        for workload in waiting:
            if workload.rpartition("/")[2] not in text:
                yield f"side {side}: {workload} waits, and the text does not name it"


@law
def a_side_of_a_diff_is_what_place_leaves(answers: Answers) -> Iterator[str]:
    sides = answers.ask("diff", "--old", answers.scaled, "--new", answers.change)
    for side, manifest in (("a", answers.scaled), ("b", answers.change)):
        place = what_is_left(answers.ask("place", manifest)["outcome"])
        yield from differences(place, what_is_left(sides[side]["outcome"]), f"place and side {side}")


@law
def nodes_of_an_upgrade_add_up(answers: Answers) -> Iterator[str]:
    """As many nodes of the pool afterwards as there were, in JSON, text and on the page."""
    words, page = ("upgrade", "--pool", "pool=general", "--strategy", "surge"), answers.folder / "upgrade.html"
    answer = answers.ask(*words)
    pool = [name for name in answers.nodes() if name.startswith("general")]
    if len(answer["nodes"]) != len(pool):
        yield f"{len(pool)} nodes are in the pool, {len(answer['nodes'])} are upgraded"
    gone = sum(each["deleted"] is not None for each in answer["nodes"])
    last = answer["moments"][-1]
    if answer["outcome"]["good"] and (gone, last["old"], last["new"]) != (len(pool), 0, len(pool)):
        yield f"{len(pool)} nodes are replaced, {gone} deleted; the last moment has {last}"
    answers.text(*words, "--report", f"html={page}")
    names = len(answers.nodes())
    if answer["outcome"]["good"] and f">{names + gone} nodes<" in page.read_text():
        yield f"the page counts {names + gone} nodes, {gone} of them deleted"


def contradictions(seed: int, only: str = "") -> Iterator[str]:
    """What breaks a law in the world of a seed, or one of them."""
    with tempfile.TemporaryDirectory() as folder:
        answers = Answers(build_world(seed), Path(folder))
        for name, check in LAWS.items():
            if not only or name == only:
                yield from (f"{seed}: {name}: {text}" for text in _catch(check, answers))


def _catch(check: Callable[[Answers], Iterator[str]], answers: Answers) -> Iterator[str]:
    try:
        yield from check(answers)
    except AssertionError as error:
        yield str(error)


def main(words: list[str]) -> int:
    first, count = int(words[0]) if words else 0, int(words[1]) if words[1:] else 20
    broken: Counter[str] = Counter()
    for seed in range(first, first + count):
        names = set()
        for text in contradictions(seed):
            print(text, flush=True)
            names.add(text.split(": ")[1])
        broken.update(names)
    for name in LAWS:
        print(f"{count - broken[name]:>5} of {count}  {name.replace('_', ' ')}")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
