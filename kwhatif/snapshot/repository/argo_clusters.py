"""The clusters that Argo CD knows: Secrets with a label, as they are declared, or printed by kubectl.

Upstream: argo-cd (docs/operator-manual/declarative-setup.md, util/db/cluster.go).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kwhatif import bounds
from kwhatif.api.objects import section, text_at
from kwhatif.errors import InputError
from kwhatif.snapshot.read.files import read_paths
from kwhatif.snapshot.read.objects import Item, items_of, plain_of, read_documents

SECRET_TYPE = "argocd.argoproj.io/secret-type"
_INTERNAL = "https://kubernetes.default.svc"


@dataclass(frozen=True)
class ArgoCluster:
    """A cluster that Argo CD knows, by its Secret."""

    name: str
    server: str
    project: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_local(self) -> bool:
        """Whether Argo CD runs there itself."""
        return self.server == _INTERNAL


def read_clusters(files: Sequence[str]) -> list[ArgoCluster]:
    """The clusters of files with Secrets, by name. Raises InputError for what is none."""
    clusters: dict[str, ArgoCluster] = {}
    for text in read_paths(files, max_bytes=bounds.SETTINGS_BYTES):
        for document in read_documents(text):
            for item in items_of(document):
                cluster = _cluster_of(item)
                clusters[cluster.name] = cluster
    return [clusters[name] for name in sorted(clusters)]


def _cluster_of(item: Item) -> ArgoCluster:
    value = plain_of(item)
    metadata = section(value, "metadata")
    labels = {str(key): str(label) for key, label in section(metadata, "labels").items()}
    if item.kind != "Secret" or labels.get(SECRET_TYPE) != "cluster":
        problem = f"expected Secrets of Argo CD's clusters, labelled {SECRET_TYPE}: cluster, found {item.kind}"
        raise InputError(problem, source=item.source, place=item.place)
    texts = {key: _decode(str(text), key, item) for key, text in section(value, "data").items()}
    texts |= {str(key): str(text) for key, text in section(value, "stringData").items()}
    name = texts.get("name") or text_at(metadata, "name")
    annotations = {str(key): str(annotation) for key, annotation in section(metadata, "annotations").items()}
    return ArgoCluster(name, texts.get("server", ""), texts.get("project", ""), labels, annotations)


def _decode(text: str, key: str, item: Item) -> str:
    if key not in ("name", "server", "project"):
        # Credentials are not looked at.
        return ""
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise InputError("expected base64", source=item.source, place=f"{item.place}.data.{key}") from None
