"""The files that commands read beside the one that is wrong, each with nothing wrong in it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.fuzz.places import Json

_HERE = Path(__file__).parent
_OF_KIND = {"custom": "Job", "groups": "NodeGroups", "catalogue": "InstanceTypes", "policy": "DeschedulerPolicy"}
_SHARES = {
    "useDeviationThresholds": False,
    "thresholds": {"MetricResource": 20},
    "targetThresholds": {"MetricResource": 50},
}
_PROMETHEUS_POLICY = {
    "apiVersion": "descheduler/v1alpha2",
    "kind": "DeschedulerPolicy",
    "metricsProviders": [{"source": "Prometheus", "prometheus": {"url": "http://prometheus"}}],
    "profiles": [
        {
            "name": "shares",
            "pluginConfig": [
                {
                    "name": "LowNodeUtilization",
                    "args": {**_SHARES, "metricsUtilization": {"source": "Prometheus", "prometheus": {"query": "q"}}},
                }
            ],
            "plugins": {"balance": {"enabled": ["LowNodeUtilization"]}},
        }
    ],
}


@cache
def documents(file: str) -> list[Json]:
    return list(yaml.safe_load_all((_HERE / file).read_text("utf-8")))


@cache
def good_files() -> dict[str, Any]:
    """By the word that commands have for a file: what is in it."""

    def listed(file: str) -> Json:
        return {"apiVersion": "v1", "kind": "List", "items": documents(file)}

    found = {"cluster": listed("cluster.yaml"), "release": listed("release.yaml"), "prometheus": _PROMETHEUS_POLICY}
    for name, kind in _OF_KIND.items():
        (found[name],) = (obj for obj in documents("documents.yaml") if obj["kind"] == kind)
    found["types"] = documents("offers.yaml")[0]["ec2"]
    found["usage"] = documents("usage.yaml")[0]["prometheus"]
    return found
