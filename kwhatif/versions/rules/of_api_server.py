"""What the API server refuses, by the gates that it has on by default: those of a scheduler say nothing of them."""

from kwhatif.versions.row import Whose

SERVER = Whose("API server", folder="pkg/features")


class ApiServerRules:
    strict_addresses = SERVER.since(
        "1.36", "kube_features.go", "addresses and networks have no leading zeros, and are no IPv4 dressed as IPv6"
    )
    services_are_named_as_labels = SERVER.since(
        "1.36", "kube_features.go", "the name of a service may begin with a digit"
    )
    paused_jobs_change = SERVER.since(
        "1.36",
        "kube_features.go",
        "a job that is suspended again may change its resources and what decides about nodes",
    )
    endpoints_are_deprecated = SERVER.since(
        "1.33", "kube_features.go", "whoever writes Endpoints is warned that EndpointSlices take their place"
    )
