"""The examples at the end of every ``--help``: words behind the command. A test runs each, beside the samples."""

from __future__ import annotations

_CLUSTER = "--snapshot samples/cluster"
_MANIFESTS = "samples/manifests"
_SWEEP = "--space samples/sweep/space.yaml --snapshot samples/sweep/cluster.yaml"
_USAGE_OF = "samples/usage"
_USAGE = f"--snapshot {_USAGE_OF}"

EXAMPLES: dict[str, tuple[str, ...]] = {
    "place": (
        f"{_MANIFESTS}/web.yaml {_CLUSTER}",
        f"-f {_MANIFESTS}/too-big.yaml {_CLUSTER} --explain too-big",
        f"--with-pending {_CLUSTER} --uncordon general-a-2 -o wide",
    ),
    "explain": (
        f"deployment/web {_CLUSTER}",
        f"{_MANIFESTS}/too-big.yaml {_CLUSTER} --node gpu-b-1",
        f"reindex-3-2f9gk --after {_MANIFESTS}/checkout.yaml {_CLUSTER}",
    ),
    "diff": (
        f"{_MANIFESTS}/web.yaml {_CLUSTER} --policy default --policy samples/policies/most-allocated.yaml",
        f"--replay all {_CLUSTER} --policy default@1.30 --policy default@1.36",
    ),
    "gate": (
        "samples/gate/head --base samples/gate/base --snapshot samples/gate/snapshot.json",
        "samples/gate/head --base samples/gate/base --snapshot samples/gate/snapshot.json --rule preempts=error "
        "--report markdown=comment.md",
    ),
    "capacity": (f"{_MANIFESTS}/checkout.yaml {_CLUSTER}", f"{_MANIFESTS}/checkout.yaml {_CLUSTER} --at-least 5"),
    "drain": (
        f"general-b-1 {_CLUSTER} --ignore-daemonsets --delete-emptydir-data",
        f"topology.kubernetes.io/zone=eu-west-1a {_CLUSTER} --ignore-daemonsets --delete-emptydir-data --force",
    ),
    "upgrade": (
        f"--pool pool=general {_CLUSTER} --strategy gke-surge",
        f"--pool pool=general {_CLUSTER} --strategy aks --drain-timeout 10m --within 1h",
    ),
    "deschedule": (
        f"--policy samples/deschedule/policy.yaml {_CLUSTER}",
        f"--policy samples/deschedule/policy.yaml {_CLUSTER} --until-quiet",
    ),
    "chances": (
        f"{_MANIFESTS}/web.yaml {_CLUSTER} --trials 200",
        f"{_MANIFESTS}/web.yaml {_CLUSTER} --precision 0.05 --skew 2",
    ),
    "outage": (f"{_CLUSTER}", f"{_CLUSTER} --all nodes,zones --survive node"),
    "sweep": (
        f"samples/sweep/training.yaml {_SWEEP} --replay all",
        f"--replay namespace=shop {_SWEEP} "
        "--prices samples/sweep/prices.yaml --objective cost --objective zoneSkew=0.5 --write best.yaml",
    ),
    "rightsize": (
        f"{_USAGE}/saves-40/cluster.json --usage {_USAGE_OF}/saves-40/usage.json "
        f"--autoscale {_USAGE_OF}/saves-40/groups.yaml --steps",
        f"{_USAGE}/pods-bind/cluster.json --usage {_USAGE_OF}/pods-bind/usage.txt --write advice",
    ),
    "expand": (f"{_MANIFESTS}/checkout.yaml {_CLUSTER}", f"{_MANIFESTS}/checkout.yaml -o yaml"),
    "autoscale plan": (
        "samples/autoscaled/training.yaml --snapshot samples/autoscaled/cluster.yaml "
        "--groups samples/autoscaled/groups.yaml",
        "samples/karpenter/web.yaml --snapshot samples/karpenter/cluster.yaml "
        "--catalogue samples/karpenter/catalogue.yaml",
    ),
    "autoscale groups": ("--snapshot samples/autoscaled/cluster.yaml",),
    "autoscale catalogue": ("--snapshot samples/karpenter/cluster.yaml",),
    "snapshot info": ("samples/cluster", "samples/gpu/cluster.json --nodes", "day.jsonl.gz@+1s"),
    "snapshot validate": ("samples/cluster", "samples/gpu/cluster.json --strict"),
    "snapshot diff": ("samples/gpu/cluster.json samples/gate/snapshot.json --exit-zero",),
    "snapshot dump": ("-o cluster.json.zst", "--redact --translation names.json -o shared.json.zst"),
    "snapshot record": ("-o day.jsonl.zst --for 8h",),
    "snapshot rbac": ("--name snapshots", "--watch --service-account tools/recorder"),
    "snapshot convert": ("samples/cluster -o cluster.json.zst",),
    "snapshot redact": ("samples/gpu/cluster.json -o shared.json --translation names.json",),
    "snapshot reveal": ("answer.txt --translation names.json",),
    "snapshot trim": (f"reindex-3-2f9gk {_CLUSTER} -o reproducer.json",),
    "policy show": ("", "samples/policies/most-allocated.yaml"),
    "policy validate": ("samples/policies/most-allocated.yaml",),
    "policy convert": ("samples/legacy/policy.json",),
    "backtest": ("day.jsonl.gz", "day.jsonl.gz --need 99"),
    "conformance": ("samples/scenario.jsonl",),
}
