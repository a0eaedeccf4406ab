"""The Elastic stack, clients of Kafka, and what serves models: pods, names, and what they ask for."""

from __future__ import annotations

import pytest

from kwhatif.workloads.objects import labels_of, name_of
from tests.workloads.operators.examples import Json, example
from tests.workloads.operators.test_operator_cases import claims_in, doubts
from tests.workloads.operators.test_operators import made_of, owners, pods_of, requests

ELASTIC = [
    ("Kibana.kibana.k8s.elastic.co", "quick-kb-", "kibana", {"memory": "2Gi"}, 2),
    ("ApmServer.apm.k8s.elastic.co", "quick-apm-server-", "apm-server", {"memory": "512Mi"}, 1),
    ("ElasticMapsServer.maps.k8s.elastic.co", "quick-ems-", "maps", {"memory": "200Mi"}, 1),
    ("EnterpriseSearch.enterprisesearch.k8s.elastic.co", "quick-ent-", "enterprise-search", {"memory": "4Gi"}, 1),
    (
        "PackageRegistry.packageregistry.k8s.elastic.co",
        "quick-epr-",
        "package-registry",
        {"cpu": "500m", "memory": "1Gi"},
        1,
    ),
    ("Logstash.logstash.k8s.elastic.co", "quick-ls-0", "logstash", {"cpu": "1", "memory": "2Gi"}, 1),
    ("Beat.beat.k8s.elastic.co", "quick-beat-heartbeat-", "heartbeat", {"cpu": "100m", "memory": "300Mi"}, 1),
    ("Agent.agent.k8s.elastic.co", "fleet-agent-", "agent", {"cpu": "200m", "memory": "1Gi"}, 1),
]


@pytest.mark.parametrize(("kind", "name", "container", "asks", "count"), ELASTIC, ids=[row[0] for row in ELASTIC])
def test_a_part_of_the_elastic_stack_asks_for_what_eck_says_where_nobody_else_does(
    kind: str, name: str, container: str, asks: Json, count: int
) -> None:
    made = made_of(example(kind))
    assert len(made.pods) == count
    assert name_of(made.pods[0]).startswith(name)
    assert requests(made.pods[0], container) == asks
    own = pods_of(kind, resources={"requests": {"cpu": "3"}})
    assert requests(own[0], container) == {"cpu": "3"}


def test_an_init_container_of_logstash_has_the_image_and_the_resources_of_the_main_one() -> None:
    (pod,) = pods_of("Logstash.logstash.k8s.elastic.co")
    (init,) = pod["spec"]["initContainers"]
    assert init["image"] == "docker.elastic.co/logstash/logstash:9.0.0"
    assert claims_in(pod) == ["logstash-data-quick-ls-0"]
    (plain,) = pods_of(
        "Logstash.logstash.k8s.elastic.co",
        podTemplate={"spec": {"volumes": [{"name": "logstash-data", "emptyDir": {}}]}},
    )
    assert claims_in(plain) == []


def test_an_agent_and_a_beat_run_as_what_their_spec_names() -> None:
    beat = example("Beat.beat.k8s.elastic.co")
    beat["spec"] |= {"daemonSet": {"podTemplate": {}}}
    assert [each["kind"] for each in made_of(beat).objects if each["kind"].endswith("Set")] == ["DaemonSet"]
    agent = example("Agent.agent.k8s.elastic.co")
    agent["spec"] = {"statefulSet": {"replicas": 2, "podTemplate": {}}}
    assert [name_of(pod) for pod in made_of(agent).pods] == ["fleet-agent-0", "fleet-agent-1"]
    assert requests(made_of(agent).pods[0], "agent") == {"cpu": "200m", "memory": "400Mi"}


def test_workers_of_kafka_connect_go_to_nodes_of_racks_and_a_bridge_anywhere() -> None:
    pods = pods_of("KafkaConnect.kafka.strimzi.io")
    assert [name_of(pod) for pod in pods] == ["sinks-connect-0", "sinks-connect-1"]
    assert owners(pods) == ["StrimziPodSet sinks-connect"]
    (term,) = pods[0]["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    assert term["matchExpressions"] == [{"key": "topology.kubernetes.io/zone", "operator": "Exists"}]
    assert requests(pods[0], "sinks-connect") == {"cpu": "1", "memory": "2Gi"}
    assert [name_of(pod) for pod in pods_of("KafkaMirrorMaker2.kafka.strimzi.io")] == ["copies-mirrormaker2-0"]
    (bridge,) = pods_of("KafkaBridge.kafka.strimzi.io")
    assert name_of(bridge).startswith("http-bridge-")
    assert "affinity" not in bridge["spec"]


RUNTIME: Json = {
    "apiVersion": "serving.kserve.io/v1alpha1",
    "kind": "ClusterServingRuntime",
    "metadata": {"name": "own-sklearn"},
    "spec": {
        "supportedModelFormats": [{"name": "sklearn", "version": "1", "autoSelect": True, "priority": 1}],
        "nodeSelector": {"arch": "amd64"},
        "containers": [
            {
                "name": "kserve-container",
                "image": "sklearn",
                "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}},
            },
            {"name": "watcher", "image": "watcher", "resources": {"requests": {"cpu": "50m"}}},
        ],
    },
}


def test_a_predictor_is_the_pod_of_its_runtime_with_what_the_service_lays_over_it() -> None:
    service = example("InferenceService.serving.kserve.io")
    *pods, transformer = made_of(service, RUNTIME).pods
    assert len(pods) == 2
    assert name_of(pods[0]).startswith("iris-predictor-")
    assert labels_of(pods[0])["app"] == "isvc.iris-predictor"
    assert pods[0]["spec"]["nodeSelector"] == {"arch": "amd64", "pool": "models"}
    assert requests(pods[0], "kserve-container") == {"cpu": "500m", "memory": "4Gi"}
    assert requests(pods[0], "watcher") == {"cpu": "50m"}
    assert requests(pods[0], "storage-initializer") == {"cpu": "100m", "memory": "100Mi"}
    assert name_of(transformer).startswith("iris-transformer-")
    assert requests(transformer, "prepare") == {"cpu": "1", "memory": "2Gi"}
    assert doubts(service, RUNTIME) == []


def test_a_runtime_is_chosen_by_priority_in_the_namespace_first_and_its_absence_is_said() -> None:
    service = example("InferenceService.serving.kserve.io")
    better = {**RUNTIME, "metadata": {"name": "better"}}
    better["spec"] = {**RUNTIME["spec"], "nodeSelector": {"arch": "arm64"}}
    better["spec"]["supportedModelFormats"] = [{"name": "sklearn", "autoSelect": True, "priority": 2}]
    assert made_of(service, RUNTIME, better).pods[0]["spec"]["nodeSelector"]["arch"] == "arm64"
    off = {**better, "spec": {**better["spec"], "disabled": True}}
    assert made_of(service, RUNTIME, off).pods[0]["spec"]["nodeSelector"]["arch"] == "amd64"
    assert requests(made_of(service).pods[0], "kserve-container") == {"cpu": "1", "memory": "4Gi"}
    assert doubts(service) == ["a runtime for models of sklearn of InferenceService iris is not among the manifests"]


def test_knative_serves_where_nothing_else_is_said_and_claims_and_sidecars_are_added() -> None:
    service = example("InferenceService.serving.kserve.io")
    del service["metadata"]["annotations"], service["spec"]["transformer"]
    service["spec"]["predictor"] = {
        "minReplicas": 1,
        "maxReplicas": 4,
        "logger": {"mode": "all"},
        "pytorch": {"storageUri": "pvc://models/iris"},
    }
    (pod,) = made_of(service).pods
    assert name_of(pod).startswith("iris-predictor-00001-deployment-")
    assert [each["name"] for each in pod["spec"]["containers"]] == ["kserve-container", "agent", "queue-proxy"]
    assert claims_in(pod) == ["models"]
    said = doubts(service)
    assert said[0] == "whether Knative serves InferenceService iris is a setting of KServe"
    assert said[-1] == "the predictor of InferenceService iris may have up to 4 pods"
    service["metadata"]["annotations"] = {"serving.kserve.io/stop": "true"}
    assert made_of(service).pods == ()


def test_a_graph_is_a_router_in_front_of_services() -> None:
    graph = example("InferenceGraph.serving.kserve.io")
    pods = made_of(graph).pods
    assert [name_of(pod).startswith("ensemble-") for pod in pods] == [True, True]
    assert pods[0]["spec"]["nodeSelector"] == {"pool": "models"}
    assert requests(pods[0], "ensemble") == {"cpu": "100m", "memory": "100Mi"}
    graph["spec"] |= {"resources": {"requests": {"cpu": "2"}}, "maxReplicas": 9}
    del graph["metadata"]["annotations"]
    (*_, pod) = made_of(graph).pods
    assert name_of(pod).startswith("ensemble-00001-deployment-")
    assert requests(pod, "ensemble") == {"cpu": "2"}
    assert doubts(graph)[0] == "whether Knative serves InferenceGraph ensemble is a setting of KServe"
    assert doubts(graph)[-1] == "the router of InferenceGraph ensemble may have up to 9 pods"
    graph["metadata"]["annotations"] = {"serving.kserve.io/stop": "true"}
    assert made_of(graph).pods == ()


def test_a_nim_service_is_a_deployment_with_the_claim_of_its_model() -> None:
    made = made_of(example("NIMService.apps.nvidia.com"))
    assert len(made.pods) == 2
    assert claims_in(made.pods[0]) == ["llama-pvc"]
    (claim,) = made.claims
    assert (name_of(claim), claim["spec"]["accessModes"]) == ("llama-pvc", ["ReadWriteMany"])
    assert requests(made.pods[0], "llama-ctr") == {"nvidia.com/gpu": 1}
    assert name_of(pods_of("NIMPipeline.apps.nvidia.com")[0]).startswith("embed-")


def test_a_nim_service_over_nodes_is_groups_and_its_cache_has_the_claim() -> None:
    service = example("NIMService.apps.nvidia.com")
    del service["spec"]["resources"]
    service["spec"] |= {
        "storage": {"nimCache": {"name": "weights", "profile": "tp8"}},
        "multiNode": {"parallelism": {"pipeline": 2, "tensor": 8}},
        "replicas": 1,
    }
    pods = made_of(service).pods
    assert [name_of(pod) for pod in pods] == ["llama-lws-0", "llama-lws-0-1"]
    assert requests(pods[0], "llama-ctr") == {"nvidia.com/gpu": "8"}
    assert claims_in(pods[0]) == ["weights-pvc"]
    assert doubts(service)[0] == "NIMCache weights of NIMService llama is not among the manifests"
    service["spec"] |= {"inferencePlatform": "kserve"}
    del service["spec"]["multiNode"]
    assert name_of(made_of(service).pods[0]).startswith("llama-predictor-")


LLM = "LLMInferenceService.serving.kserve.io"


def test_a_large_model_is_served_by_a_deployment_with_a_scheduler_of_requests_beside_it() -> None:
    pods = pods_of(LLM)
    assert [name_of(pod).rpartition("-")[0].rpartition("-")[0] for pod in pods] == [
        *["llama-kserve"] * 2,
        "llama-kserve-router-scheduler",
    ]
    assert requests(pods[0], "main") == {"cpu": "4", "nvidia.com/gpu": "1"}
    assert requests(pods[2], "main") == {"cpu": "1", "memory": "2Gi"}
    assert labels_of(pods[0])["llm-d.ai/role"] == "both"
    assert [each["name"] for each in pods[0]["spec"]["initContainers"]] == ["storage-initializer"]
    service = example(LLM)
    assert doubts(service) == [
        "LLMInferenceServiceConfig kserve-config-llm-scheduler, kserve-config-llm-template of KServe for"
        " LLMInferenceService llama are not among the manifests, where the output of kubectl get -A"
        " llminferenceserviceconfigs -o yaml may be"
    ]
    service["metadata"]["annotations"] = {"serving.kserve.io/stop": "true"}
    assert made_of(service).pods == ()


@pytest.mark.parametrize(
    ("parallelism", "count"),
    [({"data": 8, "dataLocal": 4}, 2), ({"pipeline": 3}, 3), ({"tensor": 4}, 1), ({"dataLocal": 8}, 1)],
)
def test_a_model_over_several_nodes_is_groups_of_a_leader_and_its_workers(parallelism: Json, count: int) -> None:
    spec = {"worker": {"containers": [{"name": "main", "image": "a"}]}, "parallelism": parallelism, "router": None}
    pods = pods_of(LLM, **spec)
    assert len(pods) == 2 * count
    assert labels_of(pods[0])["app.kubernetes.io/component"] == "llminferenceservice-workload-leader"


def test_prefill_is_served_by_pods_of_its_own_and_configurations_lie_below_the_service() -> None:
    service = example(LLM)
    gpu = {"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "8"}}}]}
    service["spec"] |= {"baseRefs": [{"name": "large"}], "prefill": {"replicas": 3}, "router": None}
    large = {
        "apiVersion": "serving.kserve.io/v1alpha2",
        "kind": "LLMInferenceServiceConfig",
        "metadata": {"name": "large"},
        "spec": {"template": {"nodeSelector": {"pool": "gpu"}, **gpu}, "prefill": {"template": gpu}},
    }
    pods = made_of(service, large).pods
    assert [labels_of(pod)["llm-d.ai/role"] for pod in pods] == ["decode"] * 2 + ["prefill"] * 3
    assert requests(pods[0], "main") == {"cpu": "4", "nvidia.com/gpu": "1"}
    assert pods[0]["spec"]["nodeSelector"] == {"pool": "gpu"}
    assert requests(pods[-1], "main") == {"nvidia.com/gpu": "8"}
    assert (
        doubts(service)[0] == "LLMInferenceServiceConfig large of LLMInferenceService llama is not among the manifests"
    )


def preset(name: str, **spec: object) -> Json:
    return {
        "apiVersion": "serving.kserve.io/v1alpha2",
        "kind": "LLMInferenceServiceConfig",
        "metadata": {"name": f"kserve-config-llm-{name}", "namespace": "kserve"},
        "spec": spec,
    }


PRESETS = (
    preset(
        "template",
        template={
            "nodeSelector": {"pool": "gpu"},
            "containers": [
                {
                    "name": "main",
                    "image": "vllm",
                    "resources": {"requests": {"cpu": "1", "memory": "8Gi"}},
                    "readinessProbe": {
                        "httpGet": {
                            "port": 8000,
                            "scheme": "{{ if .GlobalConfig.EnableTLS }}HTTPS{{else}}HTTP{{- end }}",
                        }
                    },
                }
            ],
            "volumes": [
                {
                    "name": "tls",
                    "secret": {"secretName": "{{ ChildName .ObjectMeta.Name `-kserve-self-signed-certs` }}"},
                }
            ],
        },
    ),
    preset(
        "scheduler",
        router={
            "scheduler": {
                "template": {
                    "containers": [
                        {"name": "main", "image": "epp", "resources": {"requests": {"cpu": "2"}}},
                        {"name": "side", "image": "a", "resources": {"requests": {"cpu": "100m"}}},
                    ]
                }
            }
        },
    ),
    preset(
        "tokenizer",
        router={
            "scheduler": {
                "tokenizer": {
                    "template": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "3"}}}]},
                }
            }
        },
    ),
)


def test_presets_that_are_among_the_manifests_lie_below_all_else() -> None:
    service = example(LLM)
    pods = made_of(service, *PRESETS).pods
    assert requests(pods[0], "main") == {"cpu": "1", "memory": "8Gi", "nvidia.com/gpu": "1"}
    assert pods[0]["spec"]["nodeSelector"] == {"pool": "gpu"}
    assert pods[0]["spec"]["volumes"][0]["secret"]["secretName"] == "llama-kserve-self-signed-certs"
    main = next(each for each in pods[0]["spec"]["containers"] if each["name"] == "main")
    assert main["readinessProbe"]["httpGet"]["scheme"] == "HTTPS"
    assert [requests(pods[2], name) for name in ("main", "side")] == [{"cpu": "2"}, {"cpu": "100m"}]
    assert len(pods) == 3
    service["spec"]["baseRefs"] = [{"name": "kserve-config-llm-template"}]
    service["spec"]["template"]["nodeSelector"] = {"pool": "own"}
    assert made_of(service, *PRESETS).pods[0]["spec"]["nodeSelector"] == {"pool": "own"}


@pytest.mark.parametrize(
    "scheduler",
    [
        {"tokenizer": {}},
        {"config": {"inline": {"plugins": [{"type": "token-producer"}]}}},
        {"config": {"inline": {"plugins": [{"type": "other"}, {"type": "precise-prefix-cache-scorer"}]}}},
    ],
)
def test_a_scheduler_that_asks_for_tokens_has_a_deployment_that_makes_them(scheduler: Json) -> None:
    for presets, cpu in ((PRESETS, {"cpu": "3"}), ((), {"cpu": "1", "memory": "4Gi"})):
        service = example(LLM)
        service["spec"]["router"] = {"scheduler": scheduler}
        (pod,) = [pod for pod in made_of(service, *presets).pods if name_of(pod).startswith("llama-tokenizer-")]
        assert requests(pod, "main") == cpu


SHAPES: list[tuple[Json, list[str]]] = [
    ({}, ["template"]),
    ({"worker": {}, "parallelism": {"data": 4}}, ["worker-data-parallel"]),
    ({"worker": {}, "parallelism": {"pipeline": 2}}, ["worker-pipeline-parallel"]),
    ({"prefill": {}}, ["prefill-template", "decode-template"]),
    (
        {"prefill": {"worker": {}, "parallelism": {"dataLocal": 8}}},
        ["prefill-worker-data-parallel", "decode-template"],
    ),
    ({"router": {"scheduler": {"pool": {"ref": {"name": "a"}}}}}, ["template"]),
]


@pytest.mark.parametrize(("spec", "presets"), SHAPES)
def test_the_presets_of_a_service_follow_from_its_shape(spec: Json, presets: list[str]) -> None:
    service = example(LLM)
    service["spec"] |= {"router": None, **spec}
    (absent,) = [doubt for doubt in doubts(service) if doubt.startswith("LLMInferenceServiceConfig ")]
    names = ", ".join(f"kserve-config-llm-{name}" for name in presets)
    assert absent.startswith(f"LLMInferenceServiceConfig {names} of KServe for ")


def test_labels_of_a_service_and_of_kueue_stand_in_its_pods_and_in_the_selector() -> None:
    service = example(LLM)
    service["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "gpus", "team": "a"}
    service["spec"] |= {"router": None, "labels": {"app.kubernetes.io/name": "pool"}}
    labels = labels_of(made_of(service).pods[0])
    assert labels["app.kubernetes.io/name"] == "pool"
    assert labels["kueue.x-k8s.io/queue-name"] == "gpus"
    assert "team" not in labels
