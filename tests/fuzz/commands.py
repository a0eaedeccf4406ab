"""Every command that reads files, as it is asked about the one that is wrong.

In the words of a command ``{bad}`` is the file that is wrong and ``{good}`` the same before that; ``{cluster}`` and
``{release}`` are a cluster and what comes to it, ``{groups}`` its node groups, ``{catalogue}`` what a cloud offers,
``{custom}`` is a custom resource, ``{policy}`` and
``{prometheus}`` are policies of a descheduler, ``{usage}`` what pods used, ``{rows}`` the rows
of a study that are wrong, and ``{out}`` any file to write.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kwhatif.commands.parameters import parameters_of, takes_cluster
from kwhatif.commands.registry import all_commands

_EDITS = (
    "--scale Deployment/shop/web=3 --scale StatefulSet/shop/db=2 --add-nodes 1 --like n1 --remove-node n2 "
    "--set n1.allocatable.cpu=16 --label n1=disk=hdd --taint n1=a=b:NoExecute --delete shop/db-0"
)
_GATES = " --feature-gates StorageCapacityScoring=true"

_WRITTEN = {
    "manifest": (
        "place {bad} --snapshot {cluster} -o wide",
        "place {bad} --snapshot {cluster} --timeline -o json",
        "place {bad} --snapshot {cluster} --autoscale {groups} --write-snapshot {out}.json",
        "explain {bad} --snapshot {cluster}",
        "diff --snapshot {cluster} --old {good} --new {bad}",
        "diff {bad} --snapshot {cluster} --policy default --policy default@1.31",
        "review {bad} --base {good} --snapshot {cluster}",
        "gate {bad} --base {good} --snapshot {cluster}",
        "gate {bad} --snapshot {cluster} -o sarif",
        "gate {bad} --snapshot {cluster} --autoscale {groups}",
        "autoscale {bad} --snapshot {cluster} --groups {groups} --catalogue {catalogue} --until-quiet --orders 1",
        "capacity {bad} --snapshot {cluster} --pod --limit 30",
        "capacity {bad} --snapshot {cluster} --limit 3",
        "queue {bad} --snapshot {cluster}",
        "expand {bad}",
        "expand {bad} --snapshot {cluster} -o yaml",
        "expand {bad} --snapshot {cluster} --verb create",
        "expand {bad} --snapshot {cluster} --verb apply",
        "expand {bad} --snapshot {cluster} --verb replace",
        "expand {bad} {release} --snapshot {cluster}",
        "place {bad} {release} --snapshot {cluster}",
        "chances {bad} --snapshot {cluster} --trials 5",
        "outage -f {bad} --snapshot {cluster} --each zones --workers 1",
        "snapshot trim {bad} --snapshot {cluster} --steps 5 -o {out}.json",
        "snapshot redact {bad} -o {out}.yaml --translation {out}.translation",
    ),
    "snapshot": (
        "place {release} --snapshot {bad} --with-pending -o wide",
        "place --with-pending --snapshot {bad} --timeline --write-snapshot {out}.json",
        "place --with-pending --snapshot {bad} " + _EDITS,
        "explain {release} --snapshot {bad}",
        "queue --snapshot {bad}",
        "explain shop/waiting --snapshot {bad}",
        "diff {release} --snapshot {cluster} --against-snapshot {bad}",
        "diff --replay all --snapshot {bad} --policy default --policy default@1.31",
        "gate {release} --snapshot {bad}",
        "capacity {release} --snapshot {bad} --limit 30",
        "drain n1 --snapshot {bad} --ignore-daemonsets --delete-emptydir-data --force",
        "upgrade --snapshot {bad} --pool disk=ssd --strategy gke-surge",
        "upgrade --snapshot {bad} --pool disk=ssd --strategy aks --drain-timeout 10m --within 1h",
        "deschedule --descheduler-policy {policy} --snapshot {bad} --until-quiet",
        "rightsize --snapshot {bad} --usage {usage} --autoscale {groups}",
        "review {release} --snapshot {bad}",
        "outage --snapshot {bad} --each nodes --workers 1",
        "expand {release} --snapshot {bad}",
        "snapshot info --nodes {bad}",
        "snapshot info {bad} " + _EDITS,
        "snapshot convert {bad} -o {out}.json",
        "snapshot convert {bad} -o {out}.json --format list",
        "snapshot diff {cluster} {bad}",
        "snapshot redact {bad} -o {out}.json --translation {out}.translation",
        "snapshot trim shop/waiting --snapshot {bad} --steps 5 -o {out}.json",
        "snapshot validate {bad}",
        "autoscale {release} --snapshot {bad} --groups {groups} --scale-down --orders 1",
        "autoscale {release} --snapshot {bad} --catalogue {catalogue} --consolidate --orders 1",
        "autoscale {release} --snapshot {bad} --groups {groups} --catalogue {catalogue} --until-quiet --orders 1",
        "autoscale groups --snapshot {bad}",
        "autoscale catalogue --snapshot {bad}",
    ),
    "custom": (
        "place {bad} --snapshot {cluster} --pod-template-path example.com/Job=$.spec.template",
        "expand {bad} --pod-template-path example.com/Job=$.spec.template",
        "gate {bad} --base {good} --snapshot {cluster} --pod-template-path example.com/Job=$.spec.template",
        "capacity {bad} --snapshot {cluster} --limit 30 --pod-template-path example.com/Job=$.spec.template",
    ),
    "rules": (
        "expand {bad} {release}",
        "expand {bad} {custom} --pod-template-path example.com/Job=$.spec.template",
        "place {bad} {release} --snapshot {cluster}",
    ),
    "configuration": (
        "policy show -f {bad}" + _GATES,
        "policy validate {bad}" + _GATES,
        "policy convert -f {bad}" + _GATES,
        "place {release} --snapshot {cluster} --policy {bad}" + _GATES,
        "diff {release} --snapshot {cluster} --policy default --policy {bad}" + _GATES,
        "snapshot redact {bad} -o {out}.yaml --translation {out}.translation",
    ),
    "legacy": (
        "policy show -f {bad}",
        "policy validate {bad}",
        "policy convert -f {bad}",
        "place {release} --snapshot {cluster} --policy {bad}",
        "diff {release} --snapshot {cluster} --policy default --policy {bad}",
    ),
    "edits": (
        "place {release} --snapshot {cluster} --edits {bad}",
        "snapshot info {cluster} --edits {bad}",
        "drain n1 --snapshot {cluster} --ignore-daemonsets --force --edits {bad}",
    ),
    "groups": (
        "autoscale {release} --snapshot {cluster} --groups {bad} --scale-down --orders 1",
        "autoscale {release} --snapshot {cluster} --groups {bad} --until-quiet --orders 1",
        "rightsize --snapshot {cluster} --usage {usage} --autoscale {bad}",
        "gate {release} --snapshot {cluster} --autoscale {bad}",
        "place {release} --snapshot {cluster} --autoscale {bad}",
    ),
    "space": ("sweep {release} --snapshot {cluster} --replay all --space {bad} --workers 1",),
    "sizing": ("rightsize --snapshot {cluster} --usage {usage} --sizing {bad} --steps",),
    "usage": ("rightsize --snapshot {cluster} --usage {bad}", "rightsize --snapshot {cluster} --usage {bad} --steps"),
    "descheduler": (
        "deschedule --descheduler-policy {bad} --snapshot {cluster}",
        "deschedule --descheduler-policy {bad} --snapshot {cluster} --cycles 3 --autoscale {groups}",
    ),
    "measured": (
        "deschedule --descheduler-policy {policy} --snapshot {cluster} --metrics {bad}",
        "deschedule --descheduler-policy {prometheus} --snapshot {cluster} --metrics {bad}",
    ),
    "kinds": (
        "expand {custom} --pod-template-path {bad}",
        "place {custom} --snapshot {cluster} --pod-template-path {bad}",
    ),
    "catalogue": (
        "autoscale {release} --snapshot {cluster} --catalogue {bad} --consolidate --orders 1",
        "autoscale {release} --snapshot {cluster} --catalogue {bad} --groups {groups} --until-quiet --orders 1",
        "place {release} --snapshot {cluster} --autoscale {bad}",
        "rightsize --snapshot {cluster} --usage {usage} --prices {bad}",
    ),
    "pools": ("autoscale {release} --snapshot {cluster} --catalogue {catalogue} --node-pools {bad} --orders 1",),
    "kwok": ("autoscale catalogue --kwok {bad}",),
    "ec2": (
        "autoscale catalogue --ec2-types {bad} --ec2-offerings {bad} --ec2-spot-prices {bad}",
        "autoscale catalogue --ec2-types {bad} --ec2-offerings {bad} --snapshot {cluster}",
    ),
    "prices": (
        "autoscale catalogue --ec2-types {types} --ec2-offerings {types} --on-demand-prices {bad}",
        "rightsize --snapshot {cluster} --usage {usage} --prices {bad}",
    ),
    "gate": ("gate {release} --snapshot {cluster} --config {bad}",),
    "scenario": ("conformance {bad}", "conformance {bad} --answers {out}.jsonl"),
    "recording": (
        "backtest {bad}",
        "backtest {bad} --policy default",
        "place {release} --snapshot {bad}",
        "snapshot info {bad}",
        "snapshot info {bad}@+5s",
        "snapshot validate {bad}",
        "deschedule --descheduler-policy {policy} --snapshot {bad}@+1s",
    ),
    "rows": ("outage --snapshot {cluster} --each nodes --workers 1 --out {rows} --resume",),
    "translation": (
        "snapshot reveal {release} --translation {bad}",
        "snapshot redact {release} -o {out}.yaml --translation {bad}",
    ),
    "page": (
        "snapshot dump --kubeconfig x -o {out}.json",
        "snapshot dump --kubeconfig x -o {out}.json --redact --translation {out}.translation",
    ),
}


def readers() -> set[str]:
    """The commands that read files which others wrote, as they are called, but for servers: these do not end."""
    return {
        name.removesuffix(" plan")
        for name, entry in all_commands().items()
        if name not in ("serve", "mcp")
        and (
            takes_cluster(entry.command)
            or any(each.flag.file in ("in", "manifests", "cluster") for each in parameters_of(entry.command))
        )
    }


def readers_without(lines: Iterable[str]) -> set[str]:
    """The commands that read files of others and that none of these lines calls."""
    called = [line.split() for line in lines]
    return {name for name in readers() if not any(words[: len(name.split())] == name.split() for words in called)}


def _by_example() -> list[str]:
    """The first example of each command that nothing above names, about a cluster that is wrong."""
    left = sorted(readers_without(line for lines in _WRITTEN.values() for line in lines))
    examples = (f"{name} {all_commands()[name].examples[0]}" for name in left)
    wrong = (re.sub(r"samples/manifests/\S+", "{release}", example) for example in examples)
    return [re.sub(r"samples/cluster\S*", "{bad}", example) for example in wrong]


COMMANDS = {**_WRITTEN, "snapshot": (*_WRITTEN["snapshot"], *_by_example())}
"""Sort of file -> the commands that read one."""
