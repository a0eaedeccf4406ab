"""Version rules about node properties, resources and their scores, topology spread, and inter-pod affinity."""

from __future__ import annotations

from kwhatif.versions.rule import RuleGroup

DECLARED = RuleGroup("NodeDeclaredFeatures", folder="framework/plugins/nodedeclaredfeatures")
TAINTS = RuleGroup("TaintToleration", folder="framework/plugins/tainttoleration")
AFFINITY = RuleGroup("NodeAffinity", folder="framework/plugins/nodeaffinity")
PORTS = RuleGroup("NodePorts")
IMAGES = RuleGroup("ImageLocality", folder="framework/plugins/imagelocality")


class NodeRules:
    node_declared_features = DECLARED.gate(
        "NodeDeclaredFeatures", "plugin NodeDeclaredFeatures is on: pods avoid nodes that lack what they need"
    )
    taint_toleration_comparison_operators = TAINTS.gate(
        "TaintTolerationComparisonOperators", "tolerations may compare numbers (Gt, Lt)"
    )
    taint_is_named = TAINTS.until("1.34", "taint_toleration.go", "messages name the first taint that is not tolerated")
    sidecar_ports_count = PORTS.since("1.33", "util/utils.go", "host ports of restartable init containers count")
    missing_node_features_are_named = DECLARED.until(
        "1.36", "nodedeclaredfeatures.go", "messages name the declared features that a node lacks"
    )
    user_namespaces_on_host_network_are_declared = DECLARED.since(
        "1.36",
        "staging component-helpers/nodedeclaredfeatures/features",
        "pods with hostNetwork and hostUsers: false need nodes that declare it",
    )
    image_locality_counts_init_containers = IMAGES.since("1.30", "image_locality.go", "images of init containers count")
    image_locality_counts_image_volumes = IMAGES.since("1.36", "image_locality.go", "images mounted as volumes count")
    node_affinity_skips_score = AFFINITY.since(
        "1.30", "node_affinity.go", "NodeAffinity does not score pods without preferences"
    )


FIT = RuleGroup("NodeResourcesFit", folder="framework/plugins/noderesources")
BALANCE = RuleGroup("NodeResourcesBalancedAllocation", folder="framework/plugins/noderesources")
REQUESTS = RuleGroup("NodeResourcesFit", "NodeResourcesBalancedAllocation", folder="staging component-helpers/resource")
SIDECARS = RuleGroup("NodeResourcesFit", "NodeResourcesBalancedAllocation", "NodePorts")


class ResourceRules:
    in_place_pod_level_resources_vertical_scaling = REQUESTS.gate(
        "InPlacePodLevelResourcesVerticalScaling", "resizes of pod-level resources count"
    )
    in_place_pod_vertical_scaling = REQUESTS.gate("InPlacePodVerticalScaling", "resizes of containers count")
    pod_level_resources = REQUESTS.gate("PodLevelResources", "pods have resources of their own, besides containers'")
    sidecar_containers = SIDECARS.gate("SidecarContainers", "pods may have restartable init containers")
    ratio_shape_must_match_strategy = FIT.since(
        "1.36",
        "apis/config/validation/validation_pluginargs.go",
        "NodeResourcesFit: requestedToCapacityRatio is required for its strategy and forbidden for others",
    )
    request_beyond_capacity_is_unresolvable = FIT.since(
        "1.34", "fit.go", "a node too small for the pod, were it empty, is no candidate for preemption"
    )
    sidecars_are_refused_early = FIT.since(
        "1.30", "fit.go", "with SidecarContainers off, PreFilter and not Filter refuses pods with such containers"
    )
    pod_level_hugepages = REQUESTS.since("1.33", "helpers.go", "pods may ask for huge pages as a whole")
    resizes_are_in_conditions = REQUESTS.since(
        "1.33",
        "helpers.go",
        "what is asked, in force and allocated counts, sidecars included, and conditions say that a resize is "
        "infeasible; before, status.resize said so",
    )
    resizes_count_what_is_in_force = REQUESTS.since(
        "1.32", "helpers.go", "of a resize counts what is in force; before, what is allocated"
    )
    balanced_allocation_skips_best_effort = BALANCE.since(
        "1.33",
        "balanced_allocation.go",
        "NodeResourcesBalancedAllocation does not score pods that ask for none of its resources",
    )
    balanced_allocation_compares = BALANCE.since(
        "1.36",
        "balanced_allocation.go",
        "NodeResourcesBalancedAllocation scores how the pod changes a node's balance, not the balance itself",
    )
    fit_scores_whole_pods = FIT.until(
        "1.33", "resource_allocation.go", "NodeResourcesFit's score counts resizes and pod-level resources"
    )
    sidecars_add_to_non_zero_requests = REQUESTS.since(
        "1.32",
        "framework/types.go",
        "restartable init containers add to the requests that spread pods without requests; before, only the "
        "largest of all init containers counted",
    )


SPREAD = RuleGroup("PodTopologySpread", folder="framework/plugins/podtopologyspread")
POD_AFFINITY = RuleGroup("InterPodAffinity", folder="framework/plugins/interpodaffinity")
BOTH = RuleGroup("InterPodAffinity", "PodTopologySpread")


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
    departed_anti_affinity_counts = POD_AFFINITY.since(
        "1.36", "plugin.go", "a pod that leaves helps those that its own anti-affinity kept away"
    )
