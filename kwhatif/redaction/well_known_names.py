"""Names that redaction keeps: those that Kubernetes defines.

Upstream: api/core/v1/well_known_labels.go and well_known_taints.go, api/apps/v1 and api/batch/v1, and the topology keys
and names of drivers in csi-translation-lib/plugins.
"""

from __future__ import annotations

SCHEDULER = "default-scheduler"
PRIORITY_CLASSES = frozenset({"system-cluster-critical", "system-node-critical"})

DEFAULT_NAMES = frozenset({"all-syscalls", "nt-default"})
"""What SySched and NetworkOverhead look for where their arguments name nothing else."""

NODE_KEYS = frozenset({"kubernetes.io/hostname", "beta.kubernetes.io/hostname"})
"""Labels whose value is a node."""
UID_KEYS = frozenset({"batch.kubernetes.io/controller-uid", "controller-uid", "kueue.x-k8s.io/job-uid"})
"""Labels whose value is the uid of an owner."""
INDEX_KEYS = frozenset({"apps.kubernetes.io/pod-index", "batch.kubernetes.io/job-completion-index"})
"""Labels whose value is a number that controllers count up."""
PLATFORM_KEYS = frozenset(
    {"beta.kubernetes.io/arch", "beta.kubernetes.io/os", "kubernetes.io/arch", "kubernetes.io/os"}
)
ARCHITECTURES = frozenset({"386", "amd64", "arm", "arm64", "linux", "ppc64le", "riscv64", "s390x", "windows"})
"""What stays of the values of these."""

KARPENTER_VALUES: dict[str, frozenset[str]] = {
    "karpenter.sh/capacity-type": frozenset({"on-demand", "reserved", "spot"}),
    "karpenter.sh/do-not-disrupt": frozenset({"true"}),
    "karpenter.sh/initialized": frozenset({"true"}),
    "karpenter.sh/registered": frozenset({"true"}),
}
"""Labels of Karpenter's that stay, with what stays of their values."""

NODE_CLASSES = {
    "eks.amazonaws.com/nodeclass": "NodeClass",
    "karpenter.azure.com/aksnodeclass": "AKSNodeClass",
    "karpenter.k8s.aws/ec2nodeclass": "EC2NodeClass",
    "karpenter.kwok.sh/kwoknodeclass": "KWOKNodeClass",
}
"""Label of nodes that are made by a node class -> the class's kind."""

POOL_KEYS = frozenset(
    {
        *("agentpool", "alpha.eksctl.io/nodegroup-name", "cloud.google.com/gke-nodepool"),
        *("doks.digitalocean.com/node-pool", "eks.amazonaws.com/nodegroup", "hypershift.openshift.io/nodePool"),
        *("ibm-cloud.kubernetes.io/worker-pool-name", "k8s.scaleway.com/pool-name", "karpenter.sh/nodepool"),
        *("karpenter.sh/provisioner-name", "kops.k8s.io/instancegroup", "kubernetes.azure.com/agentpool"),
        *("lke.linode.com/pool-id", "node-group", "node-pool", "nodegroup", "nodepool", "pool"),
    }
)
"""By these ``kwhatif snapshot info`` tells the pools of nodes; their values do not stay."""

_TOPOLOGY = (
    *("failure-domain.beta.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone"),
    *("topology.kubernetes.io/region", "topology.kubernetes.io/zone"),
    *("topology.cinder.csi.openstack.org/zone", "topology.disk.csi.azure.com/zone"),
    *("topology.ebs.csi.aws.com/zone", "topology.gke.io/zone"),
)
_NODES = (
    *("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"),
    *("node.kubernetes.io/exclude-from-external-load-balancers", "node.kubernetes.io/windows-build"),
    *("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master", "node-role.kubernetes.io/worker"),
)
_TAINTS = (
    *("node.kubernetes.io/disk-pressure", "node.kubernetes.io/memory-pressure", "node.kubernetes.io/pid-pressure"),
    *("node.kubernetes.io/network-unavailable", "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"),
    *("node.kubernetes.io/out-of-service", "node.kubernetes.io/unschedulable"),
    *("node.cloudprovider.kubernetes.io/shutdown", "node.cloudprovider.kubernetes.io/uninitialized"),
)
_WORKLOADS = (
    *("app.kubernetes.io/component", "app.kubernetes.io/created-by", "app.kubernetes.io/instance"),
    *("app.kubernetes.io/managed-by", "app.kubernetes.io/name", "app.kubernetes.io/part-of"),
    "app.kubernetes.io/version",
    *("batch.kubernetes.io/job-name", "controller-revision-hash", "job-name", "kubernetes.io/metadata.name"),
    *("pod-template-generation", "pod-template-hash", "statefulset.kubernetes.io/pod-name"),
)
_GROUPS = (
    *("appgroup.diktyo.x-k8s.io", "appgroup.diktyo.x-k8s.io.workload"),
    *("kueue.x-k8s.io/priority-class", "kueue.x-k8s.io/queue-name", "scheduling.x-k8s.io/pod-group"),
)
KEYS = (
    frozenset({*_TOPOLOGY, *_NODES, *_TAINTS, *_WORKLOADS, *_GROUPS})
    | (NODE_KEYS | UID_KEYS | INDEX_KEYS | PLATFORM_KEYS)
    | POOL_KEYS
    | (KARPENTER_VALUES.keys() | NODE_CLASSES.keys())
)
"""Keys of labels and taints that stay."""

DOMAINS = frozenset(
    {
        *("app.kubernetes.io", "kubernetes.io", "node-restriction.kubernetes.io", "node-role.kubernetes.io"),
        *("node.kubernetes.io", "topology.kubernetes.io"),
    }
)
"""What stays before the slash of any other key."""

_IN_TREE = ("aws-ebs", "azure-disk", "azure-file", "cinder", "gce-pd", "portworx-volume", "rbd", "vsphere-volume")
DRIVERS = frozenset(
    {
        *(f"kubernetes.io/{name}" for name in (*_IN_TREE, "no-provisioner")),
        *("cinder.csi.openstack.org", "csi.vsphere.vmware.com", "disk.csi.azure.com", "ebs.csi.aws.com"),
        *("file.csi.azure.com", "pd.csi.storage.gke.io", "pxd.portworx.com", "rbd.csi.ceph.com"),
    }
)
"""Provisioners in the tree, and the drivers that took their place."""

COUNTED = frozenset(
    {
        *("configmaps", "persistentvolumeclaims", "pods", "replicationcontrollers", "resourcequotas", "secrets"),
        *("services", "services.loadbalancers", "services.nodeports"),
        *("count/configmaps", "count/cronjobs.batch", "count/daemonsets.apps", "count/deployments.apps"),
        *("count/jobs.batch", "count/persistentvolumeclaims", "count/pods", "count/replicasets.apps"),
        *("count/replicationcontrollers", "count/resourceclaims.resource.k8s.io", "count/resourcequotas"),
        *("count/secrets", "count/services", "count/statefulsets.apps"),
    }
)
RESOURCES = frozenset({"cpu", "ephemeral-storage", "memory", "storage", *COUNTED})
"""Resources that Kubernetes itself counts."""

OWNER_KINDS = frozenset(
    {
        *("ConfigMap", "CronJob", "DaemonSet", "Deployment", "Job", "Node", "PersistentVolume", "Pod", "PodGroup"),
        *("PersistentVolumeClaim", "ReplicaSet", "ReplicationController", "ResourceClaim", "Service", "StatefulSet"),
    }
)
"""Kinds of owners."""
