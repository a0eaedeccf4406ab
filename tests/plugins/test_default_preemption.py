"""The plugin's place in the chain; the search itself is tested in ``tests/scheduling``."""

from __future__ import annotations

from kwhatif.framework.interface import Handle, PostFilterResult
from kwhatif.framework.status import Code, Status
from kwhatif.plugins.default_preemption import DefaultPreemption
from tests.builders import FEATURES, cluster_of, node, pod, scheduler_for


def spoken(result: PostFilterResult) -> PostFilterResult:
    """What the plugin makes of the search's result."""
    cluster = cluster_of([node("a")])
    info = cluster.shapes.info(pod())
    asked: list[object] = []

    def search(*arguments: object) -> PostFilterResult:
        asked.extend(arguments)
        return result

    plugin = DefaultPreemption(Handle(FEATURES, "its arguments", search))
    found = plugin.post_filter(info, None, None)  # type: ignore[arg-type]
    assert asked == [info, None, "its arguments"]
    return found


def test_a_refusal_is_marked_as_preemptions_own() -> None:
    found = spoken(PostFilterResult(Status.unschedulable("nobody to evict")))
    assert found.status == Status(Code.UNSCHEDULABLE, ("preemption: nobody to evict",))


def test_an_error_keeps_its_code() -> None:
    found = spoken(PostFilterResult(Status.error("lost")))
    assert found.status == Status(Code.ERROR, ("preemption: lost",))


def test_a_success_is_passed_on_as_it_is() -> None:
    result = PostFilterResult(None, "a", (), "only candidate", 1)
    assert spoken(result) is result


def test_the_arguments_reach_the_search() -> None:
    cluster = cluster_of([node("a")])
    plugins = {plugin.name: plugin for plugin in scheduler_for(cluster).framework.all_plugins}
    args = plugins["DefaultPreemption"].handle.args
    assert (args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute) == (10, 100)
