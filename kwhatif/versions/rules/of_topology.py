"""Where a pod may be by the pods that are there: topology spread and affinity between pods."""

from kwhatif.versions.row import Whose

SPREAD = Whose("PodTopologySpread", folder="framework/plugins/podtopologyspread")
AFFINITY = Whose("InterPodAffinity", folder="framework/plugins/interpodaffinity")
BOTH = Whose("InterPodAffinity", "PodTopologySpread")


class TopologyRules:
    match_label_keys_in_pod_topology_spread = SPREAD.gate(
        "MatchLabelKeysInPodTopologySpread", "topology spread constraints may have matchLabelKeys"
    )
    min_domains_in_pod_topology_spread = SPREAD.gate(
        "MinDomainsInPodTopologySpread", "topology spread constraints may have minDomains"
    )
    node_inclusion_policy_in_pod_topology_spread = SPREAD.gate(
        "NodeInclusionPolicyInPodTopologySpread",
        "topology spread constraints may say which nodes count (nodeAffinityPolicy, nodeTaintsPolicy)",
    )
    spread_hears_of_new_pods = SPREAD.since(
        "1.31",
        "backend/queue/scheduling_queue.go",
        "pods that PodTopologySpread rejected hear of new pods in their namespace",
    )
    lost_nominations_concern_affinity = BOTH.since(
        "1.36",
        "framework/plugins/interpodaffinity/plugin.go, framework/plugins/podtopologyspread/plugin.go",
        "InterPodAffinity and PodTopologySpread, too, care about pods that were only nominated",
    )
    departed_anti_affinity_counts = AFFINITY.since(
        "1.36", "plugin.go", "a pod that leaves helps those that its own anti-affinity kept away"
    )
