from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.asking import scores
from tests.builders import MIB, Json, cluster_of, container, node, plugin_of, pod


def mib(**images: int) -> dict[str, int]:
    return {name.replace("_", ":"): size * MIB for name, size in images.items()}


def containers(*images: str) -> list[Json]:
    return [container(image=image, name=f"c{i}") for i, image in enumerate(images)]


# One container is worth 0 from 23 MiB down and 100 from 1000 MiB up; every container raises the upper end.
@pytest.mark.parametrize(
    ("on_a", "on_b", "kind", "expected"),
    [
        pytest.param({}, {}, {"image": "app:v1"}, (0, 0), id="an image that nobody holds is worth nothing"),
        pytest.param(
            mib(app_v1=300),
            mib(app_v1=300),
            {"image": "app:v1"},
            (28, 28),
            id="an image that all nodes hold counts in full",
        ),
        pytest.param(
            mib(app_v1=300),
            {},
            {"image": "app:v1"},
            (12, 0),
            id="one that half of the nodes hold counts by half",
        ),
        pytest.param(mib(app_v1=46), {}, {"image": "app:v1"}, (0, 0), id="23 MiB are worth nothing"),
        pytest.param(mib(app_v1=2000), {}, {"image": "app:v1"}, (100, 0), id="1000 MiB are worth everything"),
        pytest.param(mib(app_v1=9000), {}, {"image": "app:v1"}, (100, 0), id="and more is worth no more"),
        pytest.param(
            mib(app_v1=600),
            {},
            {"containers": containers("app:v1", "side:v1")},
            (14, 0),
            id="two containers raise the bar",
        ),
        pytest.param(
            mib(app_v1=600),
            {},
            {"containers": containers("app:v1"), "init": containers("app:v1")},
            (29, 0),
            id="an init container raises it and its image counts",
        ),
        pytest.param(
            mib(data_v1=600),
            {},
            {"spec": {"volumes": [{"name": "v", "image": {"reference": "data:v1"}}]}},
            (28, 0),
            id="an image volume counts without raising it",
        ),
        pytest.param({"app:latest": 600 * MIB}, {}, {"image": "app"}, (28, 0), id="no tag means the latest one"),
        pytest.param(
            {"registry:5000/app:latest": 600 * MIB},
            {},
            {"image": "registry:5000/app"},
            (28, 0),
            id="the port of a registry is no tag",
        ),
        pytest.param({"app": 600 * MIB}, {}, {"image": "app"}, (0, 0), id="names of nodes are left as they are"),
        pytest.param(
            {"app@sha256:0a": 600 * MIB}, {}, {"image": "app@sha256:0a"}, (28, 0), id="a digest is as good as a tag"
        ),
    ],
)
def test_scores(on_a: dict[str, int], on_b: dict[str, int], kind: dict[str, Any], expected: tuple[int, int]) -> None:
    cluster = cluster_of([node("a", images=on_a), node("b", images=on_b)])
    found = scores(plugin_of("ImageLocality"), pod(**kind), cluster)
    assert found == dict(zip("ab", expected, strict=True))


def test_the_size_of_an_image_is_what_the_node_that_joined_first_said() -> None:
    """Zones take turns in the scheduler's order, but sizes were noted as nodes joined."""
    joined = [
        node("first", zone="z1", images=mib(app_v1=300)),
        node("second", zone="z1", images=mib(app_v1=900)),
        node("third", zone="z2", images=mib(app_v1=600)),
    ]
    waiting, plugin = pod(image="app:v1"), plugin_of("ImageLocality")
    everywhere = ("first", "second", "third")
    assert scores(plugin, waiting, cluster_of(joined)) == dict.fromkeys(everywhere, 28)
    assert scores(plugin, waiting, cluster_of(joined[::-1])) == dict.fromkeys(everywhere, 59)


def test_a_node_that_lists_an_image_twice_holds_it_once() -> None:
    once = node("a", images=mib(app_v1=600))
    status = replace(once.status, images=[*(once.status.images or ()), *(once.status.images or ())])
    listed = replace(once, status=status)
    found = scores(plugin_of("ImageLocality"), pod(image="app:v1"), cluster_of([listed, node("b")]))
    assert found == {"a": 28, "b": 0}
