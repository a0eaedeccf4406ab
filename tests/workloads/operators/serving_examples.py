"""Examples of the Elastic stack, of clients of Kafka, and of what serves models."""

SERVING = {
    "Kibana.kibana.k8s.elastic.co": """
        apiVersion: kibana.k8s.elastic.co/v1
        kind: Kibana
        metadata: {name: quick}
        spec: {version: 9.0.0, count: 2, elasticsearchRef: {name: quick}}
        """,
    "ApmServer.apm.k8s.elastic.co": """
        apiVersion: apm.k8s.elastic.co/v1
        kind: ApmServer
        metadata: {name: quick}
        spec: {version: 9.0.0, count: 1}
        """,
    "ElasticMapsServer.maps.k8s.elastic.co": """
        apiVersion: maps.k8s.elastic.co/v1alpha1
        kind: ElasticMapsServer
        metadata: {name: quick}
        spec: {version: 9.0.0, count: 1}
        """,
    "EnterpriseSearch.enterprisesearch.k8s.elastic.co": """
        apiVersion: enterprisesearch.k8s.elastic.co/v1
        kind: EnterpriseSearch
        metadata: {name: quick}
        spec: {version: 8.17.0, count: 1}
        """,
    "PackageRegistry.packageregistry.k8s.elastic.co": """
        apiVersion: packageregistry.k8s.elastic.co/v1alpha1
        kind: PackageRegistry
        metadata: {name: quick}
        spec: {version: 9.0.0, count: 1}
        """,
    "Logstash.logstash.k8s.elastic.co": """
        apiVersion: logstash.k8s.elastic.co/v1alpha1
        kind: Logstash
        metadata: {name: quick}
        spec:
          version: 9.0.0
          count: 1
          podTemplate: {spec: {initContainers: [{name: plugins, command: [install]}]}}
        """,
    "Beat.beat.k8s.elastic.co": """
        apiVersion: beat.k8s.elastic.co/v1beta1
        kind: Beat
        metadata: {name: quick}
        spec:
          type: heartbeat
          version: 9.0.0
          deployment: {podTemplate: {spec: {dnsPolicy: ClusterFirstWithHostNet, securityContext: {runAsUser: 0}}}}
        """,
    "Agent.agent.k8s.elastic.co": """
        apiVersion: agent.k8s.elastic.co/v1alpha1
        kind: Agent
        metadata: {name: fleet}
        spec: {version: 9.0.0, mode: fleet, fleetServerEnabled: true, deployment: {replicas: 1, podTemplate: {}}}
        """,
    "KafkaConnect.kafka.strimzi.io": """
        apiVersion: kafka.strimzi.io/v1beta2
        kind: KafkaConnect
        metadata: {name: sinks}
        spec:
          replicas: 2
          bootstrapServers: "events:9093"
          rack: {topologyKey: topology.kubernetes.io/zone}
          resources: {requests: {cpu: "1", memory: 2Gi}}
          template: {pod: {tolerations: [{key: kafka}]}}
        """,
    "KafkaMirrorMaker2.kafka.strimzi.io": """
        apiVersion: kafka.strimzi.io/v1beta2
        kind: KafkaMirrorMaker2
        metadata: {name: copies}
        spec: {replicas: 1, clusters: []}
        """,
    "KafkaBridge.kafka.strimzi.io": """
        apiVersion: kafka.strimzi.io/v1beta2
        kind: KafkaBridge
        metadata: {name: http}
        spec: {replicas: 1, bootstrapServers: "events:9092"}
        """,
    "InferenceService.serving.kserve.io": """
        apiVersion: serving.kserve.io/v1beta1
        kind: InferenceService
        metadata: {name: iris, annotations: {serving.kserve.io/deploymentMode: RawDeployment}}
        spec:
          predictor:
            minReplicas: 2
            nodeSelector: {pool: models}
            model:
              modelFormat: {name: sklearn}
              storageUri: gs://models/iris
              resources: {requests: {memory: 4Gi}}
          transformer: {containers: [{name: prepare, image: prepare}]}
        """,
    "InferenceGraph.serving.kserve.io": """
        apiVersion: serving.kserve.io/v1alpha1
        kind: InferenceGraph
        metadata: {name: ensemble, annotations: {serving.kserve.io/deploymentMode: RawDeployment}}
        spec:
          nodes: {root: {routerType: Sequence, steps: [{serviceName: iris}]}}
          minReplicas: 2
          nodeSelector: {pool: models}
        """,
    "LLMInferenceService.serving.kserve.io": """
        apiVersion: serving.kserve.io/v1alpha2
        kind: LLMInferenceService
        metadata: {name: llama}
        spec:
          model: {uri: "hf://meta-llama/Llama-3.1-8B-Instruct"}
          replicas: 2
          router: {scheduler: {}}
          template: {containers: [{name: main, resources: {limits: {cpu: "4", nvidia.com/gpu: "1"}}}]}
        """,
    "NIMService.apps.nvidia.com": """
        apiVersion: apps.nvidia.com/v1alpha1
        kind: NIMService
        metadata: {name: llama}
        spec:
          image: {repository: nvcr.io/nim/meta/llama-3.1-8b-instruct, tag: 1.3.3}
          replicas: 2
          storage: {pvc: {create: true, size: 50Gi, volumeAccessMode: ReadWriteMany, storageClass: shared}}
          resources: {limits: {nvidia.com/gpu: 1}}
          tolerations: [{key: nvidia.com/gpu, operator: Exists}]
        """,
    "NIMPipeline.apps.nvidia.com": """
        apiVersion: apps.nvidia.com/v1alpha1
        kind: NIMPipeline
        metadata: {name: rag}
        spec:
          services:
          - {name: embed, enabled: true, spec: {image: {repository: a, tag: b}}}
          - {name: rank, enabled: false, spec: {image: {repository: a, tag: b}}}
        """,
}
