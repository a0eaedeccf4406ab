"""Version rules of 1.22, by which legacy policies are decided, where it differs from all supported minors."""

from kwhatif.versions.rule import RuleGroup

CONFIGURATION = RuleGroup("configuration", folder="apis/config")
POLICY_PLUGINS = RuleGroup(
    "NodeLabel",
    "NodePreferAvoidPods",
    "NodeResourceLimits",
    "NodeResourcesLeastAllocated",
    "NodeResourcesMostAllocated",
    "RequestedToCapacityRatio",
    "SelectorSpread",
    "ServiceAffinity",
)
TAINTS = RuleGroup("TaintToleration", folder="framework/plugins/tainttoleration")
AFFINITY = RuleGroup("NodeAffinity", folder="framework/plugins/nodeaffinity")
FIT = RuleGroup("NodeResourcesFit", folder="framework/plugins/noderesources")
RESTRICTIONS = RuleGroup("VolumeRestrictions", folder="framework/plugins/volumerestrictions")
LIMITS = RuleGroup("NodeVolumeLimits", "EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits")
ZONES = RuleGroup("VolumeZone", folder="framework/plugins/volumezone")
SPREAD = RuleGroup("PodTopologySpread", folder="framework/plugins/podtopologyspread")
POD_AFFINITY = RuleGroup("InterPodAffinity", folder="framework/plugins/interpodaffinity")
MESSAGES = RuleGroup("messages", folder="framework")
PREEMPTION = RuleGroup("DefaultPreemption", folder="framework/plugins/defaultpreemption")
FILTER = RuleGroup("Filter")
REQUESTS = RuleGroup("NodeResourcesFit", "NodeResourcesBalancedAllocation", folder="framework")
IMAGES = RuleGroup("ImageLocality")


class RulesOf122:
    multi_point = CONFIGURATION.since(
        "1.23", "types.go", "configurations have multiPoint, and default plugins are enabled there"
    )
    locks_are_leases = CONFIGURATION.since(
        "1.24", "apis/config/validation/validation.go", "leader election knows no resource lock but leases"
    )
    legacy_plugins = POLICY_PLUGINS.until(
        "1.23", "framework/plugins/registry.go", "NodeLabel, ServiceAffinity and others that Policies need exist"
    )
    profiles_have_percentages = CONFIGURATION.since(
        "1.26", "types.go", "profiles may have a percentageOfNodesToScore of their own"
    )
    taint_is_named_alone = TAINTS.until(
        "1.24",
        "taint_toleration.go",
        'the taint that is not tolerated: "node(s) had taint {a: b}, that the pod didn\'t tolerate"',
    )
    node_affinity_narrows = AFFINITY.since("1.24", "", "node names in a pod's affinity narrow the choice of nodes")
    overcommitted_nodes_refuse_what_is_not_asked_for = FIT.until(
        "1.28",
        "fit.go",
        "a pod that asks for anything does not fit where cpu, memory or ephemeral-storage is overcommitted",
    )
    claims_for_one_pod = RESTRICTIONS.since(
        "1.27",
        "volume_restrictions.go",
        "VolumeRestrictions knows claims for one pod alone (ReadWriteOncePod), and looks claims up in PreFilter",
    )
    volume_limits_of_old = LIMITS.until(
        "1.23",
        "pkg/features (CSIMigrationAWS and its like), framework/plugins/nodevolumelimits",
        "of in-tree disks only Cinder's are left to CSI drivers; limits pass over ephemeral volumes and lost claims",
    )
    volume_zones_have_one_name = ZONES.until(
        "1.29", "volume_zone.go", "the zone of a volume is looked for on nodes under the very label that the volume has"
    )
    spread_counts_whole_domains = SPREAD.until(
        "1.24",
        "filtering.go",
        "the pods of a topology domain count on all its nodes, if the pod's node affinity admits one of them",
    )
    filters_can_be_skipped = POD_AFFINITY.since(
        "1.27", "filtering.go", "pods without affinity terms ignore the anti-affinity of pods that are only nominated"
    )
    post_filter_is_heard = MESSAGES.since("1.24", "types.go (FitError.Error)", "messages end with what preemption says")
    pre_filter_speaks_once = MESSAGES.since(
        "1.26", "types.go (FitError)", "messages have PreFilter's refusal once, before that for every node"
    )
    first_victim_counts_most = PREEMPTION.until(
        "1.29",
        "default_preemption.go (pickOneNodeForPreemption)",
        "the victim looked at first, which breaks a budget if one does, stands for a node's highest priority",
    )
    nominated_node_restarts_search = FILTER.until(
        "1.29",
        "schedule_one.go (findNodesThatPassFilters)",
        "after a pod's nominated node was looked at, the search for others begins at the first node",
    )
    sidecars = REQUESTS.since(
        "1.28", "types.go", "init containers may have a restartPolicy; before, it is not looked at"
    )
    requests_add_up_as_integers = REQUESTS.until(
        "1.27",
        "framework/types.go, framework/plugins/noderesources/resource_allocation.go",
        "requests are rounded container by container, and scorers count overhead in units (a core: one millicore)",
    )
    fit_scores_without_overhead = FIT.until("1.24", "fit.go", "NodeResourcesFit's score leaves the pod's overhead out")
    spread_skips_score = SPREAD.since(
        "1.28", "scoring.go", "PodTopologySpread does not score pods without constraints; before, all nodes got 100"
    )
    spread_scores_are_rounded = SPREAD.since(
        "1.24", "scoring.go", "PodTopologySpread rounds scores; before, it cut them off"
    )
    images_count_nodes_so_far = IMAGES.until(
        "1.29",
        "internal/cache/cache.go (createImageStateSummary)",
        "for each node, an image is on as many nodes as had it when the node joined",
    )
