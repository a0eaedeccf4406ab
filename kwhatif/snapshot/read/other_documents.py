"""Recognises documents beside manifests that are no objects of a cluster, with advice for each sort.

A repository has values of charts, configurations of kind, kubeadm and components, CI workflows, and other JSON. A file
that was named itself is refused with that advice; in a directory it is skipped and counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from kwhatif.errors import InputError


class DocumentSort(msgspec.Struct, frozen=True):
    """A sort of documents: ``name`` and ``names`` count it, ``advice`` says what to do with it.

    Objects may come of one that ``makes_objects``, by a program that somebody runs.
    """

    name: str
    names: str
    advice: str = ""
    article: str = "a"
    makes_objects: bool = False

    def count(self, number: int) -> str:
        """``1 chart``, ``2 charts``."""
        return f"{number} {self.name if number == 1 else self.names}"

    def __str__(self) -> str:
        """``a chart, which is no object of a cluster: render it first, as helm template does``."""
        named = f"{self.article} {self.name}" if self.article else self.name
        return f"{named}, which is no object of a cluster{': ' if self.advice else ''}{self.advice}"


class OtherDocumentError(InputError):
    """A document that is no object of a cluster, with its ``sort``."""

    def __init__(self, sort: DocumentSort, *, source: str = "", place: str = "") -> None:
        self.sort = sort
        super().__init__(str(sort), source=source, place=place)


CHART = DocumentSort("chart", "charts", "render it first, as helm template does", makes_objects=True)
KUSTOMIZATION = DocumentSort(
    "Kustomization", "Kustomizations", "render it first, as kubectl kustomize does", makes_objects=True
)
TEMPLATE = DocumentSort("template", "templates", "render it first, as helm template does", makes_objects=True)
VALUES = DocumentSort(
    "file of Helm values",
    "files of Helm values",
    "render the chart with it, as helm template --values does",
    makes_objects=True,
)
COMPOSE = DocumentSort("Compose file", "Compose files", "kompose makes manifests of it")
CI = DocumentSort("file of CI", "files of CI")
OTHER = DocumentSort("document without apiVersion and kind", "documents without apiVersion and kind")
CONFIGURATION = DocumentSort("configuration of a program", "configurations of programs")
COMPONENT = DocumentSort("file of a component of Kustomizations", "files of components of Kustomizations")
PATCH = DocumentSort("patch of a Kustomization", "patches of Kustomizations")
UNUSED = DocumentSort(
    "file that nothing deploys, below directories that something deploys",
    "files that nothing deploys, below directories that something deploys",
)
UNREADABLE = DocumentSort("file of another format", "files of other formats")
ENCRYPTED = DocumentSort(
    "document encrypted by SOPS", "documents encrypted by SOPS", "decrypt it first, as sops does", makes_objects=True
)
LOCKED = DocumentSort("file that git-crypt has locked", "files that git-crypt has locked", makes_objects=True)
UNLISTED = DocumentSort(
    "file beside a Kustomization that does not list it", "files beside Kustomizations that do not list them"
)
YTT = DocumentSort("ytt template", "ytt templates", "print its objects first, as ytt does", makes_objects=True)
HELMFILE = DocumentSort(
    "helmfile", "helmfiles", "print its objects first, as helmfile template does", makes_objects=True
)
FLEET = DocumentSort("fleet.yaml", "files fleet.yaml", "render the chart that it names first", makes_objects=True)
COSI = DocumentSort("resource of Omni or Talos", "resources of Omni or Talos")
OPENB = DocumentSort(
    "table of the openb traces",
    "tables of the openb traces",
    "write a Pod or a Node for each of its rows",
)
SIMKUBE = DocumentSort(
    "trace of SimKube", "traces of SimKube", "skctl export and kubectl get print objects that can be read here"
)
AUDIT_LOG = DocumentSort(
    "log of API requests",
    "logs of API requests",
    "it has no objects in full; take a snapshot with kwhatif snapshot dump",
)

_READ_HERE = "name it with --descheduler-policy"
_KINDS: Mapping[tuple[str, str], DocumentSort] = {
    ("audit.k8s.io", "Event"): AUDIT_LOG,
    ("audit.k8s.io", "EventList"): AUDIT_LOG,
    ("audit.k8s.io", ""): DocumentSort("policy of audit logs", "policies of audit logs"),
    ("descheduler", "DeschedulerPolicy"): DocumentSort(
        "DeschedulerPolicy", "DeschedulerPolicies", "ask kwhatif deschedule with --descheduler-policy"
    ),
    ("kind.x-k8s.io", ""): DocumentSort(
        "configuration of kind",
        "configurations of kind",
        "start the cluster and dump it, or tell its nodes with --add-nodes",
    ),
    ("k3d.io", ""): DocumentSort(
        "configuration of k3d",
        "configurations of k3d",
        "start the cluster and dump it, or tell its nodes with --add-nodes",
    ),
    ("kubeadm.k8s.io", ""): DocumentSort(
        "configuration of kubeadm", "configurations of kubeadm", "start the cluster and dump it"
    ),
    ("eksctl.io", ""): DocumentSort("configuration of eksctl", "configurations of eksctl", "create it and dump it"),
    ("kubescheduler.config.k8s.io", ""): DocumentSort(
        "configuration of kube-scheduler", "configurations of kube-scheduler", _READ_HERE
    ),
    ("kubelet.config.k8s.io", ""): DocumentSort("configuration of kubelet", "configurations of kubelet"),
    ("kubeproxy.config.k8s.io", ""): DocumentSort("configuration of kube-proxy", "configurations of kube-proxy"),
    ("apiserver.config.k8s.io", ""): DocumentSort(
        "configuration of kube-apiserver", "configurations of kube-apiserver"
    ),
    ("apiserver.k8s.io", ""): DocumentSort("configuration of kube-apiserver", "configurations of kube-apiserver"),
    ("client.authentication.k8s.io", ""): DocumentSort("kubectl credential", "kubectl credentials"),
    ("kustomize.config.k8s.io", ""): KUSTOMIZATION,
    ("kwhatif.dev", ""): DocumentSort(
        "document of kwhatif's own", "documents of kwhatif's own", "name it with the option that takes it"
    ),
    ("backstage.io", ""): DocumentSort("entry of a Backstage catalogue", "entries of a Backstage catalogue"),
    ("skaffold", ""): DocumentSort("configuration of skaffold", "configurations of skaffold"),
    ("", "Config"): DocumentSort("kubeconfig", "kubeconfigs", "name it with --kubeconfig"),
}
"""Group and kind of documents that programs read from files; an empty kind stands for all of the group."""

_OF_MACHINES = (
    "it says what machines are like, not pods: give it beside the snapshot, and the machines with --autoscale"
)
_MACHINES: Mapping[str, str] = {
    "AKSNodeClass": _OF_MACHINES,
    "EC2NodeClass": _OF_MACHINES,
    "GCENodeClass": _OF_MACHINES,
    "NodeClass": _OF_MACHINES,
    "NodePool": _OF_MACHINES,
    "Provisioner": "Karpenter reads NodePools in place of Provisioners since 0.32: karpenter-convert makes them",
}
"""Kinds that make nodes rather than pods, and what to do with one."""

_LISTS_OF_KUSTOMIZATIONS = frozenset(
    {
        *("bases", "components", "configMapGenerator", "generators", "helmCharts", "images", "patches"),
        *("patchesJson6902", "patchesStrategicMerge", "resources", "secretGenerator", "transformers"),
    }
)
_KEYS_OF_VALUES = frozenset(
    {
        *("affinity", "autoscaling", "fullnameOverride", "global", "image", "ingress", "nameOverride", "nodeSelector"),
        *("persistence", "podAnnotations", "podSecurityContext", "replicaCount", "resources", "securityContext"),
        *("service", "serviceAccount", "tolerations"),
    }
)
_KEYS_OF_COMPOSE = frozenset({"configs", "name", "networks", "secrets", "services", "version", "volumes"})
_KEYS_OF_FLEET = frozenset(
    {
        *("annotations", "correctDrift", "defaultNamespace", "deleteCRDResources", "dependsOn", "diff", "doNotDeploy"),
        *("forceSyncGeneration", "helm", "ignore", "imageScans", "keepResources", "kustomize", "labels", "name"),
        *("namespace", "namespaceAnnotations", "namespaceLabels", "overrideTargets", "paused", "rolloutStrategy"),
        *("serviceAccount", "targetCustomizations", "targetNamespace", "targets", "yaml"),
    }
)
"""Of a file that Fleet reads (rancher/fleet, pkg/apis/fleet.cattle.io/v1alpha1/fleetyaml.go)."""
_CI_KEYS = (frozenset({"jobs", "on"}), frozenset({"jobs", "true"}), frozenset({"stages"}), frozenset({"pipelines"}))


def sort_of_kind(api_version: str, kind: str) -> DocumentSort | None:
    """The sort of a document of this kind; None for an object of a cluster."""
    group, slash, _ = api_version.rpartition("/")
    group = group if slash else ""
    sort = _KINDS.get((group, kind)) or (_KINDS.get((group, "")) if group else None)
    if sort is KUSTOMIZATION and kind not in ("", "Kustomization"):
        return DocumentSort(kind, f"{kind}s", KUSTOMIZATION.advice)
    return sort


def advice_on_machines(kinds: Iterable[str]) -> str:
    """``; it says what machines are like, ...`` for kinds that make nodes; empty if there are none."""
    return "".join(f"; {_MACHINES[kind]}" for kind in sorted(set(kinds) & _MACHINES.keys()))


def sort_of_document(value: Mapping[Any, Any]) -> DocumentSort | None:
    """The sort of a document without apiVersion or kind; None if it may be an incomplete object."""
    api_version, kind = value.get("apiVersion"), value.get("kind")
    if not kind and api_version and "name" in value and "version" in value:
        return CHART
    if "pod_lifecycles" in value or {"events", "config", "index"} <= set(value):
        return SIMKUBE
    if str(kind).startswith("ENC["):
        return ENCRYPTED
    if api_version or kind:
        return None
    metadata = value.get("metadata")
    if isinstance(metadata, dict) and {"namespace", "type", "id"} <= metadata.keys():
        # As cosi-project/runtime writes its resources (pkg/resource/metadata.go), which omnictl applies.
        return COSI
    if "sops" in value:
        return ENCRYPTED
    if any(isinstance(value.get(key), list) for key in _LISTS_OF_KUSTOMIZATIONS):
        return KUSTOMIZATION
    keys = set(value)
    if any(isinstance(value.get(key), list) for key in ("releases", "helmfiles")):
        return HELMFILE
    if isinstance(value.get("helm"), dict) and keys <= _KEYS_OF_FLEET:
        return FLEET
    if isinstance(value.get("services"), dict) and keys <= _KEYS_OF_COMPOSE:
        return COMPOSE
    if any(marks <= keys for marks in _CI_KEYS):
        return CI
    if any(isinstance(value.get(key), dict) for key in _KEYS_OF_VALUES) or keys & {"replicaCount", "nameOverride"}:
        return VALUES
    return None


_OPENB = re.compile(rb"(?:\xef\xbb\xbf)?(?:name,cpu_milli,memory_mib|sn,cpu_milli,memory_mib)\b")
_FIELD = re.compile(rb"""^[ \t{-]*["']?(apiVersion|kind)["']?[ \t]*:""", re.MULTILINE)
_SIMKUBE_KEYS = (b"pod_lifecycles", b"tracked_objects", b"trackedObjects")


def sort_of_text(data: bytes) -> DocumentSort | None:
    """The sort of a text that is neither JSON nor YAML of objects, by its first bytes; None if it may be."""
    if _OPENB.match(data):
        return OPENB
    head = data[:4096]
    # What MessagePack begins a map or an array of few elements with is no character of UTF-8.
    if data[:1] and 0x80 <= data[0] <= 0x9F and (b"events" in head or any(key in data for key in _SIMKUBE_KEYS)):
        return SIMKUBE
    return None


_YTT = re.compile(rb"^ *#@ *(?:load\(|(?:data|overlay|library|schema)/|(?:def|if|for)\b)|: *#@ ", re.MULTILINE)


def is_ytt(data: bytes) -> bool:
    """Whether a text is a template of ytt, whose code stands in comments of YAML: read without it, values are null."""
    return b"#@" in data and _YTT.search(data) is not None


def may_hold_objects(data: bytes) -> bool:
    """Whether a text has one of the fields that every object of a cluster has."""
    return _FIELD.search(data) is not None


CHARTS_OF_TERRAFORM = re.compile(rb'resource\s+"(?:helm_release|kubernetes_|kubectl_)')
PROGRAMS: Mapping[str, DocumentSort] = {
    suffix: DocumentSort(name, names, advice, makes_objects=True)
    for suffix, name, names, advice in (
        (".jsonnet", "Jsonnet program", "Jsonnet programs", "print its objects first, as jsonnet does"),
        (".libsonnet", "Jsonnet library", "Jsonnet libraries", "print its objects first, as jsonnet does"),
        (".cue", "CUE file", "CUE files", "print its objects first, as cue export or timoni build does"),
        (".k", "KCL program", "KCL programs", "print its objects first, as kcl does"),
        (".pkl", "Pkl module", "Pkl modules", "print its objects first, as pkl eval does"),
        (".dhall", "Dhall expression", "Dhall expressions", "print its objects first, as dhall-to-yaml does"),
        (".tf", "Terraform module", "Terraform modules", "give the objects that it applies"),
    )
}
"""What programs make objects of, by the suffixes of its files."""
TEMPLATES = (".tpl", ".tmpl", ".gotmpl", ".j2", ".jinja", ".jinja2", ".mustache", ".erb")
