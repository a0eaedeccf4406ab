"""What nodes are and say: taints, labels, ports, images, declared features."""

from kwhatif.versions.row import Whose

DECLARED = Whose("NodeDeclaredFeatures", folder="framework/plugins/nodedeclaredfeatures")
TAINTS = Whose("TaintToleration", folder="framework/plugins/tainttoleration")
AFFINITY = Whose("NodeAffinity", folder="framework/plugins/nodeaffinity")
PORTS = Whose("NodePorts")
IMAGES = Whose("ImageLocality", folder="framework/plugins/imagelocality")


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
