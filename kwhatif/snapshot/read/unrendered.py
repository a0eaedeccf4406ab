"""What manifests are made of, and no object of a cluster yet: templates, charts and kustomizations."""

from __future__ import annotations

import re
from collections.abc import Collection

TEMPLATE = "a template that was not rendered: render it first, as helm template does"
_CHART = "a chart, which is no object of a cluster: render it first, as helm template does"
_KUSTOMIZE = "kustomize.config.k8s.io/"
# What Go's templates have between two pairs of braces, and a mapping of YAML does not.
_IN_BRACES = re.compile(
    rb"\{\{-?\s*(?:[.$(]|/\*|(?:if|else|end|range|with|define|include|template|tpl|toYaml|block)\b)"
)
# One of these is in every kustomization; it need not say its kind.
_OF_KUSTOMIZATIONS = frozenset(
    {
        *("bases", "components", "configMapGenerator", "generators", "helmCharts", "images", "patches"),
        *("patchesJson6902", "patchesStrategicMerge", "resources", "secretGenerator", "transformers"),
    }
)


def is_template(text: bytes) -> bool:
    """Whether there is something in a text that a template's engine would replace."""
    return _IN_BRACES.search(text) is not None


def source_of_objects(api_version: str, kind: str, keys: Collection[str]) -> str:
    """What is to be said of a document that others are made of; nothing if it is something else.

    ``keys`` are its fields, which tell if it says neither apiVersion nor kind.
    """
    if api_version.startswith(_KUSTOMIZE) or (not api_version and not kind and _OF_KUSTOMIZATIONS & set(keys)):
        what = kind or "Kustomization"
        return f"a {what}, which is no object of a cluster: render it first, as kubectl kustomize does"
    return _CHART if not kind and {"apiVersion", "name", "version"} <= set(keys) else ""
