"""The matrices of pods without a node: beside an answer that is drawn, as ``--explain`` has them, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from kwhatif.commands.explain.run import ExplainRun
from kwhatif.commands.place.question import Place
from kwhatif.results.explain import ExplainResult, PodReport
from kwhatif.results.place import PlaceResult
from kwhatif.simulation.explanation.observer import MOST_WAITING
from kwhatif.simulation.explanation.options import ExplainOptions
from kwhatif.simulation.inputs import Inputs
from kwhatif.simulation.pipeline import ask
from kwhatif.simulation.scenario import Scenario

SAMPLES = Path(__file__).parents[3] / "samples"
FILES = [str(SAMPLES / "manifests" / name) for name in ("web.yaml", "urgent.yaml", "too-big.yaml")]


def case(*, mapped: bool, files: list[str] = FILES) -> Scenario:
    return Scenario(Inputs([str(SAMPLES / "cluster")], files, with_map=mapped))


@pytest.mark.long
def test_they_are_what_explain_says_of_the_pod_as_it_was_tried() -> None:
    drawn: PlaceResult = ask(Place(), case(mapped=True))
    told: ExplainResult = ask(
        ExplainRun(Place(), ["batch/too-big"], explain_options=ExplainOptions(fixes=False)), case(mapped=False)
    )
    mine = tuple(each for each in drawn.explanations if isinstance(each, PodReport) and each.pod == "batch/too-big")
    assert mine == told.pods, "beside pods recreated for victims"
    assert [report.pod for report in told.pods] == ["batch/too-big"]


@pytest.mark.long
def test_an_answer_that_is_printed_has_none_and_one_that_is_drawn_is_the_same() -> None:
    printed, drawn = ask(Place(), case(mapped=False)), ask(Place(), case(mapped=True))
    assert printed.explanations == ()
    assert printed == drawn


@pytest.mark.parametrize("timeline", [False, True], ids=["in one go", "over time"])
def test_one_pod_stands_for_its_workload_and_no_more_than_twelve_are_told(tmp_path: Path, timeline: bool) -> None:
    one = """
apiVersion: apps/v1
kind: Deployment
metadata: {{name: greedy-{0}, namespace: shop}}
spec:
  replicas: 2
  selector: {{matchLabels: {{app: greedy-{0}}}}}
  template:
    metadata: {{labels: {{app: greedy-{0}}}}}
    spec: {{containers: [{{name: a, image: a, resources: {{requests: {{cpu: 100}}}}}}]}}
"""
    file = tmp_path / "greedy.yaml"
    file.write_text("---".join(map(one.format, range(MOST_WAITING + 3))))
    drawn: PlaceResult = ask(Place(timeline=timeline), case(mapped=True, files=[str(file)]))
    assert sum(not each.good for each in drawn.placements) == 2 * (MOST_WAITING + 3)
    pods = [report.pod for report in drawn.explanations if isinstance(report, PodReport)]
    assert len({pod.rsplit("-", 2)[0] for pod in pods}) == len(pods) == MOST_WAITING
