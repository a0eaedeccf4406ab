"""What pods ask for, what nodes have left, and scores of both."""

from kwhatif.versions.row import Whose

FIT = Whose("NodeResourcesFit", folder="framework/plugins/noderesources")
BALANCE = Whose("NodeResourcesBalancedAllocation", folder="framework/plugins/noderesources")
REQUESTS = Whose("NodeResourcesFit", "NodeResourcesBalancedAllocation", folder="staging component-helpers/resource")
SIDECARS = Whose("NodeResourcesFit", "NodeResourcesBalancedAllocation", "NodePorts")


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
