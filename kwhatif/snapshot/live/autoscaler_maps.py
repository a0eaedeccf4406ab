"""The two ConfigMaps of cluster-autoscaler, wherever it runs: asked for by name, so that no other is seen."""

from __future__ import annotations

import msgspec

from kwhatif.api.decode import decode_json
from kwhatif.errors import InputError
from kwhatif.snapshot.format.autoscaler_info import CONFIG_MAPS, AutoscalerInfo, ConfigMap, with_config_map
from kwhatif.snapshot.live.asker import Asker, Refused


class _ConfigMaps(msgspec.Struct):
    items: list[ConfigMap] | None = None


def read_autoscaler(asker: Asker) -> AutoscalerInfo | None:
    """What they say; None if there are none, or if they may not be read. Raises ClusterError."""
    info: AutoscalerInfo | None = None
    for name in CONFIG_MAPS:
        params = {"fieldSelector": f"metadata.name={name}"}
        try:
            body = asker.get("/api/v1/configmaps", params, what=f"ConfigMap {name}")
            found = decode_json(body, _ConfigMaps).items or []
        except (InputError, Refused):
            continue
        for each in sorted(found, key=lambda each: each.metadata.namespace or ""):
            info = with_config_map(info, each)
    return info
