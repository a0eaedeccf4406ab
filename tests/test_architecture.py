"""Imports point one way. Every import counts, also those for type checkers alone and those inside functions."""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from kwhatif.plugins import in_tree_plugins
from tests.mapping_reads import mapping_of, trusting_reads, unasked_reads

PACKAGE = Path(__file__).parents[1] / "kwhatif"

ORDER = (
    {"errors", "clock", "garbage"},
    {"bounds", "progress"},
    {"versions", "results", "golang"},
    {"api"},
    {"cel"},
    {"snapshot", "admission", "cluster"},
    {"workloads", "devices", "usage"},
    {"framework"},
    {"plugins"},
    {"policy"},
    {"legacy", "redaction"},
    {"scheduling"},
    {"autoscaling", "descheduling", "kueue"},
    {"fleet"},
    {"simulation"},
    {"render"},
    {"commands"},
    {"serve"},
    {"cli"},
)
"""A room imports from itself and from the steps below it; rooms of one step know nothing of each other."""

RESULTS_ONLY = {"errors", "results"}
"""What ``render`` may know."""

FRONT_DOORS = {"__init__", "__main__"}
"""Modules at the top that lead into the rooms; what they import is up to them."""

WITHOUT_NUMPY = {"errors", "garbage", "bounds", "progress", "versions", "results", "golang", "api", "render", "cli"}


@dataclass(frozen=True)
class Import:
    """``module`` of the package imports ``target``, in a function or at the top."""

    module: str
    target: str
    deferred: bool

    @property
    def room(self) -> str:
        return self.module.split(".")[0]

    @property
    def package(self) -> str:
        """The distribution imported from: ``numpy`` of ``numpy.typing``."""
        return self.target.split(".")[0]

    @property
    def target_room(self) -> str:
        """The room of our own imported from; empty for the package itself."""
        return self.target.removeprefix("kwhatif").lstrip(".").split(".")[0]


@cache
def modules() -> tuple[str, ...]:
    """Every module, without the package's name: ``cluster.order``, ``errors``."""
    paths = (path.relative_to(PACKAGE).with_suffix("") for path in PACKAGE.rglob("*.py"))
    return tuple(sorted(".".join(path.parts).removesuffix(".__init__") for path in paths))


@cache
def sources() -> Mapping[str, ast.Module]:
    """Every module by its name."""
    # A million nodes that stay: to look through them for garbage again and again takes most of the time, here and in
    # the tests that come after these.
    gc.disable()
    try:
        paths = {module: PACKAGE.joinpath(*module.split(".")) for module in modules()}
        files = {
            name: path / "__init__.py" if path.is_dir() else path.with_suffix(".py") for name, path in paths.items()
        }
        return {name: ast.parse(file.read_text(encoding="utf-8")) for name, file in files.items()}
    finally:
        gc.freeze()
        gc.enable()


def parsed(module: str) -> ast.Module:
    return sources()[module]


@cache
def nodes_of(module: str) -> tuple[ast.AST, ...]:
    """Every node of a module: to find them takes longer than to look at them."""
    return tuple(ast.walk(parsed(module)))


def dotted(node: ast.expr) -> str:
    """An expression as it is written; names with dots, which most are, without the detour that others take."""
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute():
            return f"{dotted(node.value)}.{node.attr}"
    return ast.unparse(node)


def walk(node: ast.AST, *, deferred: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    """Every node below, and whether it is inside a function or for type checkers alone."""
    for child in ast.iter_child_nodes(node):
        inside = deferred or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        inside = inside or (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING")
        yield child, inside
        yield from walk(child, deferred=inside)


@cache
def imports() -> tuple[Import, ...]:
    found = []
    for module in modules():
        for node, deferred in walk(parsed(module)):
            if isinstance(node, ast.Import):
                found += [Import(module, alias.name, deferred) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{module} imports relatively"
                # ``from kwhatif.cluster import order`` imports a module of that name, too.
                names = [f"{node.module}.{alias.name}" for alias in node.names]
                inner = [name for name in names if name.removeprefix("kwhatif.") in modules()]
                found += [Import(module, target, deferred) for target in inner or [node.module or ""]]
    return tuple(found)


def ours() -> list[Import]:
    """Imports of our own modules, but for those of the front doors."""
    return [i for i in imports() if i.package == "kwhatif" and i.module not in FRONT_DOORS]


def complaints(some: list[Import]) -> list[str]:
    return sorted({f"{i.module} imports {i.target}" for i in some})


def test_every_room_has_its_place() -> None:
    rooms = {module.split(".")[0] for module in modules()}
    assert rooms == {room for step in ORDER for room in step} | FRONT_DOORS


@pytest.mark.long
def test_imports_were_found() -> None:
    found = {(i.module, i.target) for i in imports()}
    assert ("cluster.columns", "kwhatif.api.core") in found
    assert ("scheduling.attempt", "kwhatif.scheduling.extenders.extender_cycle") in found, "for type checkers"
    assert any(i.deferred for i in imports())


@pytest.mark.parametrize("step", range(len(ORDER)), ids=lambda step: ", ".join(sorted(ORDER[step])))
def test_imports_point_down(step: int) -> None:
    below = set().union(*ORDER[:step])
    wrong = [
        i
        for i in ours()
        if i.room in ORDER[step]
        and i.target_room != i.room
        and i.target_room not in below
        # The command line says which version it is, and so do the digests of studies.
        and not (i.room in ("cli", "fleet", "serve") and i.target_room in ("", "__version__"))
    ]
    assert complaints(wrong) == []


def test_reports_know_results_and_nothing_else() -> None:
    wrong = [i for i in ours() if i.room == "render" and i.target_room not in RESULTS_ONLY | {"render"}]
    assert complaints(wrong) == []


# --- the size of things

LONGEST = 450
"""Lines of a file: what fits in a head."""


@pytest.mark.long
def test_a_file_holds_an_idea_not_a_book() -> None:
    lengths = {path.relative_to(PACKAGE): len(path.read_text().splitlines()) for path in PACKAGE.rglob("*.py")}
    assert {str(path): length for path, length in lengths.items() if length > LONGEST} == {}


# --- names

_IRREGULAR = frozenset(
    [
        "told",
        "kept",
        "laid",
        "spelt",
        "found",
        "made",
        "taken",
        "given",
        "lost",
        "said",
        "seen",
        "held",
        "built",
        "bought",
        "met",
        "sent",
        "drawn",
        "grown",
        "known",
        "shown",
        "written",
        "worn",
        "chosen",
        "spoken",
        "broken",
        "done",
        "gone",
        "begun",
        "bound",
        "brought",
        "fed",
        "felt",
        "forgotten",
        "got",
        "hidden",
        "led",
        "lent",
        "meant",
        "paid",
        "struck",
        "taught",
        "thought",
        "thrown",
        "understood",
        "won",
    ]
)

UPSTREAM_WORDS = {
    "replicated": "cluster-autoscaler's drainability rule; each rule is the function with its upstream name",
    "requested": "NodeInfo.Requested: the sum of the requests of a node's pods",
    "required": "field.Required, the constructor of a field error",
}
"""Functions that are one participle, and why."""


@pytest.mark.long
def test_functions_are_called_by_verbs_not_by_participles() -> None:
    names = {
        node.name.strip("_")
        for module in modules()
        for node in nodes_of(module)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    verbs = {"need", "feed", "seed", "speed", "embed", "exceed", "proceed"}
    participles = {name for name in names if "_" not in name and (name.endswith("ed") or name in _IRREGULAR)}
    assert participles - verbs <= set(UPSTREAM_WORDS)


FILLERS = frozenset({"each", "found", "told"})
"""Names that say nothing of a value: what is found, and of what kind, is what a reader wants to know."""

VAGUE = frozenset({"given", "gone", "held", "kept", "known", "lost", "made", "ours", "rest", "said", "seen", "taken"})
"""Participles that are no names of parameters: whoever calls a function reads its name alone."""

MOST_VAGUE = 9
"""Parameters that are named so today; the number may go down."""


def _bound(node: ast.AST) -> str:
    """The name that a node gives to a value of its function."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    return node.arg if isinstance(node, ast.arg) else ""


def test_values_are_named_by_what_they_are() -> None:
    # A field of a result is what its readers call it: ``each`` pod's share of what is left over.
    fields = {
        id(statement.target)
        for module in modules()
        for node in nodes_of(module)
        if isinstance(node, ast.ClassDef)
        for statement in node.body
        if isinstance(statement, ast.AnnAssign)
    }
    fillers = {
        f"{module}:{node.lineno} {name}"
        for module in modules()
        for node in nodes_of(module)
        if isinstance(node, ast.Name | ast.arg) and (name := _bound(node)) in FILLERS and id(node) not in fields
    }
    assert fillers == set()


def test_parameters_are_named_by_what_they_are() -> None:
    arguments = [node for module in modules() for node in nodes_of(module) if isinstance(node, ast.arg)]
    assert sum(argument.arg in VAGUE for argument in arguments) <= MOST_VAGUE


# --- no way round


def test_no_module_leads_back_to_itself() -> None:
    """Also not by what only a type checker imports: who reads one module would have to read the other one first."""
    below: dict[str, set[str]] = {module: set() for module in modules()}
    for i in ours():
        target = i.target.removeprefix("kwhatif.")
        if target in below and target != i.module:
            below[i.module].add(target)
    try:
        TopologicalSorter(below).prepare()
    except CycleError as error:
        pytest.fail(f"a circle of imports: {' <- '.join(error.args[1])}")


def test_no_two_packages_import_each_other() -> None:
    """At every level: rooms, the packages of a room, and what is below these."""
    packages = {module for module in modules() if (PACKAGE.joinpath(*module.split("."))).is_dir()}
    ties: dict[tuple[str, str], set[str]] = {}
    for i in ours():
        ours_, theirs = i.module.split("."), i.target.removeprefix("kwhatif.").split(".")
        level = next((n for n, (a, b) in enumerate(zip(ours_, theirs, strict=False)) if a != b), None)
        if level is not None:
            a, b = ".".join(ours_[: level + 1]), ".".join(theirs[: level + 1])
            if {a, b} <= packages:
                ties.setdefault((a, b), set()).add(f"{i.module} imports {i.target}")
    assert {pair: sorted(ties[pair])[:3] for pair in ties if pair[::-1] in ties} == {}


# --- plugins


@cache
def plugin_modules() -> frozenset[str]:
    """Modules that define a plugin; the others beside them are helpers that plugins share."""
    found = set()
    for module in modules():
        if not module.startswith(("plugins.", "legacy.plugins.")):
            continue
        for node in nodes_of(module):
            bases = node.bases if isinstance(node, ast.ClassDef) else []
            if any(ast.unparse(base).split("[")[0] in ("Plugin", "Declaration") for base in bases):
                found.add(module)
    return frozenset(found)


def test_a_module_defines_one_plugin_and_is_named_after_it() -> None:
    for module in plugin_modules():
        names = [
            node.name
            for node in parsed(module).body
            if isinstance(node, ast.ClassDef) and any("Plugin[" in ast.unparse(base) for base in node.bases)
        ]
        spelt = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", "".join(names)).lower()
        assert spelt.lstrip("_") == module.rpartition(".")[2]


def test_plugins_never_import_each_other() -> None:
    rooms = ("plugins.", "legacy.plugins.")
    wrong = [i for i in ours() if i.module.startswith(rooms) and i.target[8:] in plugin_modules()]
    assert complaints(wrong) == []


def test_beside_plugins_there_are_only_plugins_and_below_them_only_helpers() -> None:
    helpers = {m for m in modules() if m.startswith("plugins.")} - plugin_modules()
    rooms = {"plugins.outoftree", "plugins.shared"}
    assert helpers == {m for m in modules() if m.startswith("plugins.shared")} | rooms
    assert helpers <= {i.target[8:] for i in ours()} | rooms


NAMED_ELSEWHERE = {
    "descheduling.plugins.pod_life_time": {"NodeAffinity"},  # a kubelet's reason to fail a pod
    "redaction.struct_rules": {"NodeAffinity"},  # the same
    "framework.resource_allocation": {
        "DynamicResources",
        "NodeResourcesBalancedAllocation",
        "NodeResourcesFit",
    },  # 0003
    "scheduling.driver": {"DefaultPreemption"},
    "scheduling.queue": {"PodTopologySpread", "SchedulingGates"},
}
"""Where upstream's own scheduler goes by the name of a plugin, and a decision that says why we do."""


@pytest.mark.long
def test_a_plugin_is_named_in_its_own_file_alone() -> None:
    """What differs by version names plugins, too, and so does what is of 1.22."""
    names = set(in_tree_plugins())
    found: dict[str, set[str]] = {}
    for module in modules():
        if not module.startswith(("plugins.", "legacy.", "versions.")):
            texts = {node.value for node in nodes_of(module) if isinstance(node, ast.Constant)}
            found[module] = names & texts
    assert {module: named for module, named in found.items() if named} == NAMED_ELSEWHERE


# --- what is of 1.22


def test_nothing_imports_the_legacy_room() -> None:
    assert complaints([i for i in imports() if i.target_room == "legacy" and i.room != "legacy"]) == []


def test_the_legacy_room_is_named_in_one_place() -> None:
    name = "kwhatif.legacy"
    strings = {
        module
        for module in modules()
        for node in nodes_of(module)
        if isinstance(node, ast.Constant) and node.value == name
    }
    assert strings == {"policy.legacy_formats"}


# --- rooms within a room

SNAPSHOT = (
    {"read"},
    {"format", "kustomize"},
    {"recording_lines"},
    {"foreign", "live"},
    {"recording", "repository"},
    {"collector", "followed_cluster"},
    {"load", "validation"},
    {"live_cache"},
)
"""Packages of the snapshot room, and what stands beside them; imports point at earlier steps."""


def test_imports_within_the_snapshot_room_point_one_way() -> None:
    steps = {part: number for number, step in enumerate(SNAPSHOT) for part in step}
    inner = [
        (i, i.module.split(".")[1], i.target.split(".")[2]) for i in ours() if i.room == i.target_room == "snapshot"
    ]
    wrong = [i for i, part, of in inner if part != of and steps[of] >= steps[part]]
    assert len(inner) > len(wrong) == 0, complaints(wrong)


# --- what comes in, what goes out, and what runs beside

READERS = {
    "api.field_types": "a file of the package",
    "commands.demo.copy_samples": "files of the package",
    "commands.page": "files of this package, which pages are made of",
    "scheduling.extenders.http_caller": "certificates, to a limit",
    "serve.page": "files of this package, likewise",
    "serve.worker": "how much memory this process has, as the system says it",
    "snapshot.read.files": "everything else, recordings as well, to a limit; what a file of a directory begins with",
    "snapshot.read.rooted_files": "what documents of others name, to a limit",
    "snapshot.repository.chart_files": "an archive that was read to a limit",
    "usage.http_answers": "answers of Prometheus and of a load-watcher, as a stream, to a limit",
    "usage.read": "usage, as a stream, to a limit",
}
WRITERS = {
    "scheduling.extenders.http_caller": "a certificate, for the library, in a directory of its own",
    "snapshot.repository.scratch_directories": "what programs of others read, in a directory of its own",
    "snapshot.format.atomic_files": "everything else: complete or not at all",
}
STREAMS = {
    "cli.main": "whether there is any",
    "cli.output": "answers, and what is said beside them",
    "cli.progress_line": "how far a command has come, on a terminal, without what is no text",
    "fleet.remote_executors": "what Ray says of itself, away from answers",
    "serve.log": "what a server says while it runs",
    "serve.stdio": "messages of an agent's protocol, which are data",
    "snapshot.format.model": "a snapshot, which is data",
}
DECODERS = {
    "api.decode": "under a lock: to build two at the same time is to crash",
    "api.field_types": "plain values, which need no decoder",
    "snapshot.read.json_reader": "raw texts, which need none",
    "serve.answers": "what a client sent, in a process with one thread",
    "commands.conformance.compare": "answers of our own; no thread compares",
    "usage.prometheus_answers": "one kind of series; no thread reads them",
}
THREADS = {
    "bounds": "waits no longer than it may",
    "fleet.executors": "a worker watches whether its parent is there",
    "snapshot.live.dump": "several kinds at a time",
    "snapshot.live.recorder": "a kind each",
    "snapshot.read.programs": "stops a program that takes too long",
    "snapshot.repository.renderer": "waits for several programs at a time",
}


PROGRAMS = {
    "snapshot.read.programs": "every program",
    "serve.workers": "this program once more, to keep a cluster and to follow one",
    "snapshot.live.live_cluster": "what a kubeconfig names for credentials, which the client starts",
}


@cache
def calls() -> tuple[tuple[str, str, ast.Call], ...]:
    """Module, what is called, and the call."""
    nodes = ((module, node) for module in modules() for node in nodes_of(module))
    return tuple((module, dotted(node.func), node) for module, node in nodes if isinstance(node, ast.Call))


def callers(*names: str) -> set[str]:
    """The modules that call something of one of these names, whatever it belongs to."""
    return {module for module, name, _ in calls() if name.rpartition(".")[2] in names}


def openers(modes: str) -> set[str]:
    """The modules that open files in one of these modes, by the letter that says so."""
    found = set()
    for module, name, call in calls():
        words = [word.value for word in call.args if isinstance(word, ast.Constant)]
        mode = next((word for word in words if isinstance(word, str) and set(word) <= set("rwxabt+")), "r")
        if name.rpartition(".")[2] == "open" and name != "os.open":
            found |= {module} if set(mode) & set(modes) else set()
    return found


@pytest.mark.long
def test_nothing_is_read_but_where_there_is_a_limit() -> None:
    assert openers("r") | callers("read_bytes", "read_text") == set(READERS)
    endless = [module for module, name, call in calls() if name.endswith("file.read") and not call.args]
    assert endless == []


def test_bodies_of_answers_are_read_to_a_limit() -> None:
    who_asks = {i.module for i in imports() if i.package == "urllib3"}
    assert who_asks == callers("stream") <= callers("decompress_all")
    words = {ast.unparse(node) for module in who_asks for node in nodes_of(module)}
    assert not words & {"reply.data", "response.data"}


def test_nothing_is_written_but_as_a_draft() -> None:
    others = callers("write_bytes", "write_text", "mkstemp", "NamedTemporaryFile", "fdopen")
    assert openers("wxa+") | others == set(WRITERS)


@pytest.mark.long
def test_answers_and_what_is_said_beside_them_are_written_in_one_place() -> None:
    """There, and in the formats that reports are made of, commands of pipelines are taken out; a snapshot is data."""
    streams = [(module, node) for module in modules() for node in nodes_of(module) if isinstance(node, ast.Attribute)]
    used = {
        module for module, node in streams if node.attr in ("stdout", "stderr") and ast.unparse(node.value) == "sys"
    }
    assert used == set(STREAMS)
    assert callers("print") == {"cli.output", "cli.kubectl_complete"}


def test_what_a_path_leads_to_is_asked_in_a_way_that_knows_no_impossible_paths() -> None:
    # Path.is_file() raises OSError for a name that is too long; os.path.isfile() says no.
    asked = ("exists", "is_file", "is_dir", "is_symlink")
    found = {
        (module, name)
        for module, name, call in calls()
        if name.rpartition(".")[2] in asked and not call.args + call.keywords
    }
    assert found == set()


def test_no_thread_builds_a_decoder_while_another_one_does() -> None:
    building = ("msgspec.json.decode", "msgspec.json.Decoder", "msgspec.convert", "msgspec.yaml.decode")
    assert {module for module, name, _ in calls() if name in building} == set(DECODERS)
    assert callers("Thread", "Timer", "ThreadPoolExecutor") == set(THREADS)
    threaded = {module for module in modules() if module.startswith("snapshot.live.")}
    assert threaded & (set(DECODERS) | callers("convert")) == set()


MAPPINGS_OF_OURS = {
    "matches of our patterns": {
        *("admission.validation.rows read", "api.selectors match", "cel.declarations match"),
        *("commands.diff.run match", "commands.gate.excerpts match", "commands.gate.excerpts item"),
        "simulation.explanation.workload_changes match",
        *("fleet.executor_selection match", "golang.parsing values", "redaction.component_texts match"),
        *("redaction.pseudonyms match", "redaction.reveal match", "simulation.autoscalers.aks_types parts"),
        *("usage.samples row", "workloads.controllers form"),
    },
    "files of the package": {"api.field_types _table()", "api.field_types gated"},
    "schemas of ours": {
        *(f"commands.schema_files {name}" for name in ("definition", "definitions", "file", "scenario", "whole")),
        "commands.schema_files definitions.pop('GatePolicy')",
        *("snapshot.validation listed", "snapshot.validation schema"),
    },
    "a configuration as we write it": {
        f"commands.sweep.policy_variant {name}" for name in ("document", "config", "entry", "plugins", "profile", "ref")
    },
    "by extension point, all of which are there": {
        *("framework.runner at", "framework.runner self._at", "scheduling.setup expanded"),
        *("policy.profile expanded", "policy.profile names"),
    },
    "tables and defaults of all names that are read": {
        *("admission.kinds.namespace_limits by_field", "cli.answer words", "commands.autoscale.karpenter_plan methods"),
        *("plugins.dynamic_resources known", "redaction.object_rules KINDS", "redaction.redact RULES"),
        *("simulation.autoscalers.ec2_machines AMI_FAMILIES", "snapshot.kustomize.build specs"),
        *("snapshot.kustomize.build accumulated.configuration.specs", "snapshot.live.dump listings"),
        *("workloads.daemon_set_rollout rolling", "workloads.deployment limits"),
        "simulation.autoscalers.discovery sizes",
    },
    "numbers and lines of an answer of ours": {
        *("commands.backtest.run self.choices", "commands.capacity.capacity outcome", "commands.chances.trials homes"),
        *("commands.conformance.group_answers placements", "commands.drain.drain turns.counts"),
        *("commands.gate.rules.fits_without finding.numbers", "commands.outage.effects counts"),
        *("commands.gate.rules.fits_at_max finding.numbers", "commands.gate.rules.new_nodes finding.numbers"),
        "commands.gate.rules.headroom said",
        *("commands.queue.quota_bars chart", "commands.queue.quota_bars line"),
        *("commands.rightsize.advice_files resources", "commands.rightsize.rightsize_result sums"),
        *("commands.rightsize.steps freed", "commands.snapshot.diff.diff n", "commands.snapshot.diff.diff totals"),
        *("commands.snapshot.info.info row.allocatable", "simulation.placement.placements outcomes"),
        *(
            "simulation.placement.verdict outcomes",
            "usage.book complaints.unnamed",
            "workloads.daemon_set_rollout self._sorted",
        ),
    },
    "what a function of ours or of a library gives for what it got": {
        "admission.validation.volumes amounts({'size': source.get('sizeLimit') or '0'})",
        "scheduling.extenders.http_caller headers",
        *("serve.guard message", "serve.guard scope", "serve.access scope"),
    },
}
"""Of a module: a mapping whose fields are there, whatever others write."""


@pytest.mark.long
def test_fields_of_what_others_wrote_are_read_by_a_function_that_says_what_is_missing() -> None:
    """Or are asked for first (``mapping_reads.py``); the others are decoded into a Struct."""
    found = {f"{module} {mapping_of(read)}" for module in modules() for read in unasked_reads(parsed(module))}
    assert found == set().union(*MAPPINGS_OF_OURS.values())
    trusting = [f"{module} {ast.unparse(read)}" for module in modules() for read in trusting_reads(nodes_of(module))]
    assert trusting == []


@pytest.mark.long
def test_programs_are_started_in_one_place() -> None:
    """Which words of others they get, and how these are checked, stands in ``program_words.py``."""
    assert {i.module for i in imports() if i.package == "subprocess"} == set(PROGRAMS)
    assert {module for module, name, _ in calls() if name.startswith("subprocess.")} == {
        "serve.workers",
        "snapshot.read.programs",
    }
    replacing = {name for module in modules() for name in _attributes(module) if _STARTS.fullmatch(name)}
    assert replacing == {"os.execv", "os.fork"}
    assert {module for module in modules() if "os.fork" in _attributes(module)} == {"serve.keeper"}
    assert callers("execv") == {"snapshot.read.program_launcher"}
    assert callers("ProgramCall") == {
        "snapshot.read.git_objects",
        "snapshot.read.git_revisions",
        "snapshot.repository.charts",
    }


PATTERNS = {
    "admission.custom.formats": "tables of ours",
    "admission.validation.field_rules": "tables of ours",
    "cel.declarations": "names of types of ours",
    "golang.parsing": "a number of digits, and escaped text",
    "golang.time_layout": "tables of ours",
    "redaction.translation": "escaped text",
    "render.blocks": "columns of ours",
    "render.explain_nodes": "escaped text",
    "simulation.autoscalers.discovery": "tables of ours with escaped text in them",
}


def test_patterns_of_others_are_compiled_in_one_place_in_linear_time() -> None:
    """What others write is RE2's (``cel/patterns.py``), with ``*`` by way of ``cel/globs.py``; Python's are of ours."""
    assert {i.module for i in imports() if i.package in ("fnmatch", "glob")} == set()
    assert callers("compile_pattern") == {"cel.patterns", "cel.globs"}
    of_re = {
        f"re.{name}"
        for name in ("compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer")
    }
    found = {module for module, name, call in calls() if name in of_re and call.args and not _is_constant(call.args[0])}
    assert found == set(PATTERNS)


def _is_constant(node: ast.expr) -> bool:
    """Whether a text is written in the module, be it with constants in it."""
    match node:
        case ast.Constant():
            return True
        case ast.Name():
            return node.id.lstrip("_").isupper()
        case ast.FormattedValue():
            return _is_constant(node.value)
        case ast.JoinedStr():
            return all(map(_is_constant, node.values))
        case ast.BinOp():
            return _is_constant(node.left) and _is_constant(node.right)
    return False


_STARTS = re.compile(
    r"os\.(?:exec|spawn|posix_spawn|system|popen|startfile|fork)\w*|asyncio\.\w*subprocess\w*|pty\.\w+"
)


def _attributes(module: str) -> set[str]:
    return {dotted(node) for node in nodes_of(module) if isinstance(node, ast.Attribute)}


_ASKS_OF_PATHS = {
    *("os.path.realpath", "os.path.abspath", "os.path.isfile", "os.path.isdir", "os.path.islink", "os.path.exists"),
    *(
        "os.path.join",
        "os.path.lexists",
        "os.listdir",
        "os.scandir",
        "os.walk",
        "os.stat",
        "os.lstat",
        "os.open",
        "open",
    ),
    *("os.readlink", "first_bytes", "regular_file", "read_paths", "lines_that_begin"),
}


@pytest.mark.long
def test_paths_of_a_repository_are_joined_and_opened_by_its_tree() -> None:
    """What a document of others names leads where ``FileTree`` says, and is opened by ``FileRoot``."""
    found = {
        module for module, name, _ in calls() if name in _ASKS_OF_PATHS and module.startswith("snapshot.repository.")
    }
    assert found == {
        "snapshot.repository.argo_clusters",  # files that the user names
        "snapshot.repository.chart_library",  # below a directory that the user names, by FileRoot
        "snapshot.repository.charts",  # a directory of ours
        "snapshot.repository.file_trees",
        "snapshot.repository.manifest_reader",  # standard input
        "snapshot.repository.revision_tree",  # no paths of a file system
        "snapshot.repository.scratch_directories",
    }
    assert {module for module in modules() if "os.O_NONBLOCK" in _attributes(module)} <= {"snapshot.read.rooted_files"}


def test_sessions_are_opened_and_gaps_found_in_one_place() -> None:
    """A session is opened by a scenario or by another session; no result has gaps that nobody looked for."""
    assert callers("Session") == {"simulation.session", "simulation.scenario"}
    assert callers("Fidelity") == {"simulation.fidelity.assess"}


WALL_CLOCK = re.compile(r"(.*\.)?(datetime\.(now|utcnow|today)|date\.today|time\.(time|time_ns|clock_gettime(_ns)?))")
TIMELESS = {"localtime": 1, "gmtime": 1, "ctime": 1, "asctime": 1, "strftime": 2}
"""Functions of ``time`` that take the current time unless they get this number of arguments."""


@pytest.mark.long
def test_one_function_reads_the_clock_on_the_wall() -> None:
    """Also where it is only named, as ``default_factory=datetime.now``."""
    nodes = [(module, node) for module in modules() for node in nodes_of(module)]
    named = {m for m, node in nodes if isinstance(node, ast.Attribute) and WALL_CLOCK.fullmatch(dotted(node))}
    named |= {
        m
        for m, name, call in calls()
        if name in {f"time.{each}" for each in TIMELESS if len(call.args) < TIMELESS[each]}
    }
    measuring = {"monotonic", "perf_counter", "process_time", "sleep"}
    imported = {
        m
        for m, node in nodes
        if isinstance(node, ast.ImportFrom) and node.module == "time" and {a.name for a in node.names} - measuring
    }
    assert named | imported == {"clock"}


# --- other people's packages


def test_columns_stay_where_columns_are() -> None:
    assert complaints([i for i in imports() if i.package == "numpy" and i.room in WITHOUT_NUMPY]) == []


def test_the_command_line_is_the_only_one_to_know_typer() -> None:
    assert {i.room for i in imports() if i.package in ("typer", "click")} == {"cli"}


@pytest.mark.parametrize(
    ("package", "users"),
    [
        ("distributed", {"fleet.remote_executors"}),
        ("jinja2", {"commands.page"}),
        ("joblib", {"fleet.executors"}),
        ("kubernetes", {"snapshot.live.live_cluster"}),
        ("optuna", {"commands.sweep.points"}),
        ("pyarrow", {"fleet.rows_parquet"}),
        ("ray", {"fleet.remote_executors"}),
        ("re2", {"cel.patterns"}),
        ("rich", {"render.screen"}),
        ("scipy", {"commands.sweep.points"}),
        ("tabulate", {"render.formats"}),
        ("urllib3", {"snapshot.live.live_cluster", "scheduling.extenders.http_caller", "serve.client"}),
    ],
)
def test_what_few_runs_need_is_imported_in_few_places_when_it_is_needed(package: str, users: set[str]) -> None:
    found = [i for i in imports() if i.package == package]
    assert {i.module for i in found} == users
    assert complaints([i for i in found if not i.deferred]) == []
