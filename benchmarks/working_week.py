"""Make the cluster of a working week as EKS shows it: what ``kubectl get -o json`` prints of 60 nodes and 894 pods.

    working_week.py [--seed N] [--manifests DIRECTORY] -o FILE

Four pools (general, spot, arm, gpu) in three zones; Deployments, StatefulSets whose claims are bound, DaemonSets,
CronJobs with finished Jobs, a Job of which a pod waits; autoscalers, budgets, quotas and priority classes. Pods are
spread by a simple rule of this program, all within what the nodes have. ``--manifests`` also writes what a team has in
git: its Deployments, StatefulSets, CronJobs, autoscalers and budgets, a file each below a directory by namespace. The
same seed makes the same bytes.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from datetime import timedelta
from pathlib import Path

from week_apps import APPS, App, made_apps
from week_nodes import (
    ARCH,
    DAEMONS,
    GPU,
    HOST,
    NOW,
    OWN_PRIORITIES,
    POOL,
    POOLS,
    PRIORITIES,
    TEAMS,
    ZONE,
    ZONES,
    Machine,
    NodesOfWeek,
    Pool,
    Spec,
    moment_before,
)

PODS = 894
CRONS = (("shop", "nightly-prices"), ("payments", "settle"), ("data", "compact"), ("platform", "backup"))
QUOTAS = {"shop": 1.35, "payments": 1.15, "data": 1.5, "ml": 1.25}
"""Namespaces with a quota, and how many times what is used it allows."""


class Week(NodesOfWeek):
    """All objects."""

    def _choose(self, app: App) -> Machine:
        """The emptiest node of the pool, in the zone with the fewest of the app where it spreads."""
        fits = [
            machine
            for machine in self.machines
            if machine.pool.name == app.pool
            and machine.cpu + app.cpu <= machine.pool.cpu
            and machine.memory + app.memory <= machine.pool.memory
            and machine.gpus + app.gpus <= machine.pool.gpus
            and machine.pods < machine.pool.pods
            and not (app.apart == HOST and machine.apps[app.name])
            and not (app.apart == ZONE and any(one.apps[app.name] for one in self.machines if one.zone == machine.zone))
        ]
        zones = Counter({name: sum(one.apps[app.name] for one in self.machines if one.zone == name) for name in ZONES})
        even = app.spread or app.apart == ZONE or app.volume
        return min(fits, key=lambda one: (zones[one.zone] if even else 0, one.cpu / one.pool.cpu, one.name))

    def _template(self, app: App) -> Spec:
        requests = {"cpu": f"{app.cpu}m", "memory": f"{app.memory}Mi"} | ({GPU: "1"} if app.gpus else {})
        container: Spec = {
            "name": app.name,
            "image": f"registry.example/{app.namespace}/{app.name}:1.{len(app.name)}.0",
            "resources": {
                "requests": requests,
                "limits": {"memory": f"{app.memory}Mi"} | ({GPU: "1"} if app.gpus else {}),
            },
            "imagePullPolicy": "IfNotPresent",
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
        }
        if app.volume:
            container["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
        spec: Spec = {
            "containers": [container],
            "dnsPolicy": "ClusterFirst",
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "securityContext": {},
            "terminationGracePeriodSeconds": 30,
        }
        pool = next(pool for pool in POOLS if pool.name == app.pool)
        if pool.taint:
            spec["nodeSelector"] = {ARCH: pool.arch} if pool.name == "arm" else {POOL: pool.name}
            key, value = pool.taint
            spec["tolerations"] = [{"key": key, "operator": "Equal", "value": value, "effect": "NoSchedule"}]
        selector = {"matchLabels": {"app": app.name}}
        if app.apart:
            term = {"labelSelector": selector, "topologyKey": app.apart}
            spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        if app.spread:
            constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
            spec["topologySpreadConstraints"] = [{**constraint, "labelSelector": selector}]
        if app.priority:
            spec["priorityClassName"] = app.priority
        return {"metadata": {"labels": {"app": app.name, "team": app.namespace}}, "spec": spec}

    def _add_pod(self, app: App, name: str, owner: Spec, template: Spec, machine: Machine | None, days: float) -> Spec:
        """The pod as stored: the template, and what admission, scheduler and kubelet added."""
        spec = {**template["spec"], "enableServiceLinks": True, "preemptionPolicy": "PreemptLowerPriority"}
        spec |= {"serviceAccount": "default", "serviceAccountName": "default"}
        spec["priority"] = (PRIORITIES | OWN_PRIORITIES).get(app.priority, 0)
        tolerations = list(spec.get("tolerations", ()))
        for trouble in ("not-ready", "unreachable"):
            key = f"node.kubernetes.io/{trouble}"
            tolerations.append({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})
        spec["tolerations"] = tolerations
        reference: Spec = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"]}
        reference |= {"uid": owner["metadata"]["uid"], "controller": True, "blockOwnerDeletion": True}
        status: Spec = {"phase": "Pending", "qosClass": "Burstable"}
        if machine is None:
            refused = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
            status["conditions"] = [{**refused, "lastTransitionTime": moment_before(days)}]
        else:
            spec["nodeName"] = machine.name
            self.addresses += 1
            kinds = ("PodScheduled", "Initialized", "ContainersReady", "Ready")
            status |= {
                "phase": "Running",
                "startTime": moment_before(days),
                "podIP": f"10.1.{divmod(self.addresses, 250)[0]}.{self.addresses % 250}",
            }
            status["conditions"] = [
                {"type": kind, "status": "True", "lastTransitionTime": moment_before(days)} for kind in kinds
            ]
            machine.cpu, machine.memory = machine.cpu + app.cpu, machine.memory + app.memory
            machine.gpus, machine.pods = machine.gpus + app.gpus, machine.pods + 1
            machine.apps[app.name] += 1
        used = self.used.setdefault(app.namespace, Counter())
        used.update({"requests.cpu": app.cpu, "requests.memory": app.memory, "pods": 1})
        metadata = {"labels": template["metadata"]["labels"], "ownerReferences": [reference]}
        return self.add("v1", "Pod", name, days, app.namespace, metadata=metadata, spec=spec, status=status)

    def add_daemons(self) -> None:
        plans: list[tuple[str, int, int, tuple[Pool, ...]]] = [(*daemon, POOLS) for daemon in DAEMONS]
        plans.append(("nvidia-device-plugin", 0, 0, POOLS[3:]))
        for name, cpu, memory, pools in plans:
            app = App("kube-system", name, 0, cpu, memory, priority="system-node-critical")
            template = self._template(app)
            template["spec"]["tolerations"] = [{"operator": "Exists"}]
            if not cpu:
                del template["spec"]["containers"][0]["resources"]
                template["spec"]["nodeSelector"] = {POOL: "gpu"}
            machines = [machine for machine in self.machines if machine.pool in pools]
            update = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%", "maxSurge": 0}}
            spec = {"selector": {"matchLabels": {"app": name}}, "template": template, "updateStrategy": update}
            counts = ("currentNumberScheduled", "desiredNumberScheduled", "numberAvailable", "numberReady")
            status = dict.fromkeys((*counts, "updatedNumberScheduled"), len(machines)) | {"observedGeneration": 1}
            owner = self.add("apps/v1", "DaemonSet", name, 300, "kube-system", spec=spec, status=status)
            for machine in machines:
                own = json.loads(json.dumps(template))
                here = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [machine.name]}]}
                terms = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [here]}}
                own["spec"]["affinity"] = {"nodeAffinity": terms}
                own["metadata"]["labels"] |= {"pod-template-generation": "1"}
                self._add_pod(app, f"{name}-{self.letters(5)}", owner, own, machine, self.random.uniform(1, 8))

    def add_app(self, app: App) -> None:
        template = self._template(app)
        days = self.random.uniform(1, 30)
        spec: Spec = {"replicas": app.replicas, "selector": {"matchLabels": {"app": app.name}}, "template": template}
        spec["revisionHistoryLimit"] = 10
        counts = dict.fromkeys(("replicas", "readyReplicas", "availableReplicas", "updatedReplicas"), app.replicas)
        status: Spec = {"observedGeneration": 1, **counts}
        make = self._add_stateful_set if app.kind == "StatefulSet" else self._add_deployment
        make(app, spec, status, days)
        if app.scaled:
            self._add_autoscaler(app)
        if app.budget:
            self._add_budget(app, *app.budget)

    def _add_deployment(self, app: App, spec: Spec, status: Spec, days: float) -> None:
        rolling = {"maxSurge": "25%", "maxUnavailable": "25%"}
        spec |= {"strategy": {"type": "RollingUpdate", "rollingUpdate": rolling}, "progressDeadlineSeconds": 600}
        conditions = [{"type": kind, "status": "True"} for kind in ("Available", "Progressing")]
        metadata = {"annotations": {"deployment.kubernetes.io/revision": "1"}, "generation": 1}
        owner = self.add(
            *("apps/v1", "Deployment", app.name, days, app.namespace),
            metadata=metadata,
            spec=spec,
            status=status | {"conditions": conditions},
        )
        digest = self.letters(9)
        template = json.loads(json.dumps(spec["template"]))
        template["metadata"]["labels"]["pod-template-hash"] = digest
        reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": app.name, "uid": owner["metadata"]["uid"]}
        labels = {"app": app.name, "pod-template-hash": digest}
        metadata = {
            "labels": template["metadata"]["labels"],
            "annotations": {"deployment.kubernetes.io/revision": "1"},
            "ownerReferences": [{**reference, "controller": True, "blockOwnerDeletion": True}],
        }
        counts = dict.fromkeys(("replicas", "readyReplicas", "availableReplicas", "fullyLabeledReplicas"), app.replicas)
        rest: Spec = {"replicas": app.replicas, "selector": {"matchLabels": labels}, "template": template}
        name = f"{app.name}-{digest}"
        replicas = self.add(
            *("apps/v1", "ReplicaSet", name, days, app.namespace), metadata=metadata, spec=rest, status=counts
        )
        for _ in range(app.replicas):
            self._add_pod(app, f"{name}-{self.letters(5)}", replicas, template, self._choose(app), days)

    def _add_stateful_set(self, app: App, spec: Spec, status: Spec, days: float) -> None:
        claim_spec = {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "gp3",
            "volumeMode": "Filesystem",
            "resources": {"requests": {"storage": f"{app.volume}Gi"}},
        }
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": claim_spec}
        revision = f"{app.name}-{self.letters(10)}"
        spec |= {
            "serviceName": app.name,
            "podManagementPolicy": "OrderedReady",
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
            "volumeClaimTemplates": [{**claim, "status": {"phase": "Pending"}}],
        }
        status |= {"currentReplicas": app.replicas, "currentRevision": revision, "updateRevision": revision}
        owner = self.add("apps/v1", "StatefulSet", app.name, days, app.namespace, spec=spec, status=status)
        self.add(
            "v1", "Service", app.name, days, app.namespace, spec={"clusterIP": "None", "selector": {"app": app.name}}
        )
        for ordinal in range(app.replicas):
            machine, name = self._choose(app), f"{app.name}-{ordinal}"
            template = json.loads(json.dumps(spec["template"]))
            labels = {"apps.kubernetes.io/pod-index": str(ordinal), "controller-revision-hash": revision}
            template["metadata"]["labels"] |= labels | {"statefulset.kubernetes.io/pod-name": name}
            volume = {"name": "data", "persistentVolumeClaim": {"claimName": f"data-{name}"}}
            template["spec"] |= {"hostname": name, "subdomain": app.name, "volumes": [volume]}
            self._add_claim(app, f"data-{name}", claim_spec, machine, days)
            self._add_pod(app, name, owner, template, machine, days)

    def _add_claim(self, app: App, name: str, spec: Spec, machine: Machine, days: float) -> None:
        """A claim and its volume, bound by the external provisioner: without labels and without an owner."""
        bound = {
            "pv.kubernetes.io/bind-completed": "yes",
            "pv.kubernetes.io/bound-by-controller": "yes",
            "volume.kubernetes.io/selected-node": machine.name,
            "volume.kubernetes.io/storage-provisioner": "ebs.csi.aws.com",
        }
        size = {"storage": f"{app.volume}Gi"}
        claim = self.add(
            *("v1", "PersistentVolumeClaim", name, days, app.namespace),
            metadata={"annotations": bound, "finalizers": ["kubernetes.io/pvc-protection"]},
            spec=dict(spec),
            status={"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": size},
        )
        uid = claim["metadata"]["uid"]
        claim["spec"]["volumeName"] = volume = f"pvc-{uid}"
        zone = {"key": "topology.ebs.csi.aws.com/zone", "operator": "In", "values": [machine.zone]}
        reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": name, "uid": uid}
        self.add(
            *("v1", "PersistentVolume", volume, days),
            metadata={"annotations": {"pv.kubernetes.io/provisioned-by": "ebs.csi.aws.com"}},
            spec={
                "accessModes": ["ReadWriteOnce"],
                "capacity": size,
                "storageClassName": "gp3",
                "persistentVolumeReclaimPolicy": "Delete",
                "volumeMode": "Filesystem",
                "claimRef": {**reference, "namespace": app.namespace},
                "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": f"vol-0{uid[:8]}", "fsType": "ext4"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}},
            },
            status={"phase": "Bound"},
        )

    def _add_autoscaler(self, app: App) -> None:
        cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}
        spec = {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": app.kind, "name": app.name},
            "minReplicas": app.replicas // 2,
            "maxReplicas": app.scaled,
            "metrics": [{"type": "Resource", "resource": cpu}],
        }
        status = {"currentReplicas": app.replicas, "desiredReplicas": app.replicas}
        self.add("autoscaling/v2", "HorizontalPodAutoscaler", app.name, 90, app.namespace, spec=spec, status=status)

    def _add_budget(self, app: App, word: str, amount: int | str) -> None:
        count = amount if isinstance(amount, int) else -(-app.replicas * int(amount.rstrip("%")) // 100)
        healthy = count if word == "min" else app.replicas - count
        status = {"currentHealthy": app.replicas, "desiredHealthy": healthy, "expectedPods": app.replicas}
        status |= {"disruptionsAllowed": app.replicas - healthy, "observedGeneration": 1}
        field = "minAvailable" if word == "min" else "maxUnavailable"
        spec = {field: amount, "selector": {"matchLabels": {"app": app.name}}}
        self.add("policy/v1", "PodDisruptionBudget", app.name, 90, app.namespace, spec=spec, status=status)

    def add_jobs(self) -> None:
        """CronJobs with the last three Jobs of each, and a training of which a pod waits for a GPU."""
        for hour, (namespace, name) in enumerate(CRONS):
            app = App(namespace, name, 1, 500, 1024, priority="batch")
            template = self._template(app)
            template["spec"]["restartPolicy"] = "Never"
            job = {"parallelism": 1, "completions": 1, "backoffLimit": 3, "template": template}
            spec: Spec = {
                "schedule": f"0 {hour + 1} * * *",
                "concurrencyPolicy": "Forbid",
                "jobTemplate": {"spec": job},
            }
            spec |= {"successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1, "suspend": False}
            cron = self.add("batch/v1", "CronJob", name, 120, namespace, spec=spec)
            reference = {"apiVersion": "batch/v1", "kind": "CronJob", "name": name, "uid": cron["metadata"]["uid"]}
            for day in (2, 1, 0):
                at = day + (15 - hour) / 24
                minute = int((NOW - timedelta(days=at)).timestamp()) // 60
                done = self._add_job(app, f"{name}-{minute}", at, job, [{**reference, "controller": True}])
                machine = self.random.choice(self.machines[:20])
                before = machine.cpu, machine.memory, machine.pods
                pod = self._add_pod(
                    app, f"{done['metadata']['name']}-{self.letters(5)}", done, done["spec"]["template"], machine, at
                )
                # A finished pod takes nothing, of nodes and of quotas.
                machine.cpu, machine.memory, machine.pods = before
                machine.apps[name] = 0
                self.used[namespace].subtract({"requests.cpu": 500, "requests.memory": 1024, "pods": 1})
                pod["status"] |= {"phase": "Succeeded", "conditions": [{"type": "Ready", "status": "False"}]}
                done["status"] = {"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]}
        app = App("ml", "train-ranker", 2, 3000, 12_288, pool="gpu", gpus=1, priority="batch")
        template = self._template(app)
        template["spec"]["restartPolicy"] = "Never"
        job = {"parallelism": 2, "completions": 2, "backoffLimit": 3, "template": template}
        owner = self._add_job(app, app.name, 0.2, job, [])
        owner["status"] = {"active": 2, "ready": 1}
        for node in (self._choose(app), None):
            self._add_pod(app, f"{app.name}-{self.letters(5)}", owner, owner["spec"]["template"], node, 0.2)

    def _add_job(self, app: App, name: str, days: float, spec: Spec, owners: list[Spec]) -> Spec:
        """A Job as stored, with the selector that the API server makes."""
        job = self.add("batch/v1", "Job", name, days, app.namespace, spec=json.loads(json.dumps(spec)))
        if owners:
            job["metadata"]["ownerReferences"] = owners
        own = {"batch.kubernetes.io/controller-uid": job["metadata"]["uid"]}
        job["spec"]["selector"] = {"matchLabels": own}
        job["spec"]["template"]["metadata"]["labels"] |= own | {"batch.kubernetes.io/job-name": name}
        return job

    def add_quotas(self) -> None:
        for namespace, times in QUOTAS.items():
            used = self.used[namespace]
            hard = {key: int(amount * times) for key, amount in used.items()}
            self.add(
                *("v1", "ResourceQuota", "team", 200, namespace),
                spec={"hard": _amounts(hard)},
                status={"hard": _amounts(hard), "used": _amounts(used)},
            )


def _amounts(counts: dict[str, int]) -> dict[str, str]:
    units = {"requests.cpu": "m", "requests.memory": "Mi"}
    return {key: f"{count}{units.get(key, '')}" for key, count in counts.items()}


def make_week(seed: int) -> Spec:
    """The list that ``kubectl get -o json`` prints, of as many nodes and pods for any seed."""
    week = Week(seed)
    week.add_nodes()
    week.add_surroundings()
    week.add_daemons()
    week.add_jobs()
    for app in APPS:
        week.add_app(app)
    there = sum(item["kind"] == "Pod" for item in week.items)
    for app in made_apps(week.random, PODS - there):
        week.add_app(app)
    week.add_quotas()
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": week.items}


DEPLOYED = ("Deployment", "StatefulSet", "CronJob", "HorizontalPodAutoscaler", "PodDisruptionBudget")


def write_manifests(directory: Path, week: Spec) -> None:
    """What a repository has of the teams' objects: without what only the server knows."""
    for item in week["items"]:
        metadata = item["metadata"]
        if item["kind"] not in DEPLOYED or metadata["namespace"] not in TEAMS:
            continue
        named = {"name": metadata["name"], "namespace": metadata["namespace"]}
        manifest = {"apiVersion": item["apiVersion"], "kind": item["kind"], "metadata": named, "spec": item["spec"]}
        path = directory / metadata["namespace"] / f"{item['kind'].lower()}-{metadata['name']}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--manifests", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    week = make_week(given.seed)
    given.output.write_text(json.dumps(week, separators=(",", ":")), encoding="utf-8")
    if given.manifests:
        write_manifests(given.manifests, week)


if __name__ == "__main__":
    main()
