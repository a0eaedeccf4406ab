"""The table of kinds whose operators make pods, for the program and, in words, for the documentation.

A kind is a row. What paths can express is data; where a controller does more (containers of its own, claims, affinity),
the row has a function. A user's own kinds are rows too, of a file (``kinds_document``).
"""

from __future__ import annotations

import msgspec

from kwhatif.workloads.operators.app_wrappers import app_wrapper_kind
from kwhatif.workloads.operators.argo_workflows import workflow_children, workflow_doubts
from kwhatif.workloads.operators.deliveries import (
    deployment_config_children,
    deployment_config_update,
    knative_children,
    knative_doubts,
    rollout_children,
    rollout_doubts,
    rollout_update,
    rollout_update_doubts,
)
from kwhatif.workloads.operators.elastic_stack import (
    agent_children,
    beat_children,
    elastic_deployment_children,
    elastic_update,
    elasticsearch_children,
    logstash_children,
)
from kwhatif.workloads.operators.inference_services import (
    graph_children,
    graph_doubts,
    inference_children,
    inference_doubts,
)
from kwhatif.workloads.operators.job_sets import job_set_children, job_set_doubts, leader_worker_children
from kwhatif.workloads.operators.kafka_clusters import (
    kafka_bridge_children,
    kafka_children,
    kafka_connect_children,
    kafka_pool_children,
    kafka_pool_doubts,
)
from kwhatif.workloads.operators.llm_inference_services import llm_children, llm_doubts
from kwhatif.workloads.operators.monitoring import alertmanager_children, prometheus_children
from kwhatif.workloads.operators.nim_services import nim_children, nim_doubts, nim_pipeline_children
from kwhatif.workloads.operators.operator_kind import OperatorKind
from kwhatif.workloads.operators.other_schedulers import (
    ray_doubts,
    training_job_doubts,
    volcano_doubts,
)
from kwhatif.workloads.operators.postgres_clusters import postgres_children
from kwhatif.workloads.operators.ray_clusters import ray_cluster_children, ray_job_children, ray_service_children
from kwhatif.workloads.operators.spark_applications import spark_children, spark_doubts
from kwhatif.workloads.operators.tekton_runs import pipeline_run_children, run_doubts, task_run_children
from kwhatif.workloads.operators.train_jobs import train_job_children, train_job_doubts
from kwhatif.workloads.operators.training_jobs import (
    jax_children,
    mpi_children,
    paddle_children,
    pytorch_children,
    tensorflow_children,
    xgboost_children,
)
from kwhatif.workloads.operators.volcano_jobs import volcano_children
from kwhatif.workloads.workload_kind import UpdateOrder, WorkloadKind


class Row(msgspec.Struct, frozen=True):
    """A kind, and in words: where its templates are, how many pods, their names, who owns them, what groups them."""

    kind: OperatorKind
    templates: str
    count: str
    names: str
    owner: str
    group: str = ""

    @property
    def full_name(self) -> str:
        return f"{self.kind.kind}.{self.kind.group}"

    @property
    def update(self) -> str:
        """How pods are replaced, in words."""
        return "by strategy" if not isinstance(self.kind.update, UpdateOrder) else self.kind.update.value


_R, _O, _N, _L = UpdateOrder.recreate, UpdateOrder.one_by_one, UpdateOrder.new_first, UpdateOrder.left

ROWS: tuple[Row, ...] = (
    Row(
        OperatorKind(
            "argoproj.io",
            "Rollout",
            rollout_children,
            rollout_update,
            rollout_doubts,
            update_doubts=rollout_update_doubts,
        ),
        "`spec.template`, or that of `spec.workloadRef`",
        "`spec.replicas`",
        "`NAME-HASH-*`",
        "ReplicaSet",
    ),
    Row(
        OperatorKind("apps.openshift.io", "DeploymentConfig", deployment_config_children, deployment_config_update),
        "`spec.template`",
        "`spec.replicas`",
        "`NAME-VERSION-*`",
        "ReplicationController",
    ),
    Row(
        OperatorKind("serving.knative.dev", "Service", knative_children, _N, knative_doubts),
        "`spec.template`, and queue-proxy",
        "`initial-scale` (1), at least `min-scale`",
        "`NAME-00001-deployment-HASH-*`",
        "ReplicaSet",
        "`serving.knative.dev/revision`",
    ),
    Row(
        OperatorKind("jobset.x-k8s.io", "JobSet", job_set_children, _L, job_set_doubts),
        "`spec.replicatedJobs[*].template`",
        "`replicas` Jobs, each of its `parallelism`; of jobs that wait for others (`dependsOn`) the peak",
        "`NAME-ROLE-JOB-INDEX-*`",
        "Job",
        "`jobset.sigs.k8s.io/jobset-name`, `.../job-key`",
    ),
    Row(
        OperatorKind(
            "leaderworkerset.x-k8s.io",
            "LeaderWorkerSet",
            leader_worker_children,
            _O,
            together="leaderworkerset.sigs.k8s.io/group-index",
        ),
        "`spec.leaderWorkerTemplate.leaderTemplate`, `.workerTemplate`",
        "`spec.replicas` groups of `size`",
        "`NAME-GROUP`, `NAME-GROUP-INDEX`",
        "StatefulSet",
        "`leaderworkerset.sigs.k8s.io/group-index`",
    ),
    Row(
        OperatorKind("kubeflow.org", "PyTorchJob", pytorch_children, _L, training_job_doubts("pytorchReplicaSpecs")),
        "`spec.pytorchReplicaSpecs[*].template`, and an init container of workers",
        "`replicas`",
        "`NAME-ROLE-INDEX`",
        "the object",
        "`training.kubeflow.org/job-name`",
    ),
    Row(
        OperatorKind("kubeflow.org", "TFJob", tensorflow_children, _L, training_job_doubts("tfReplicaSpecs")),
        "`spec.tfReplicaSpecs[*].template`",
        "`replicas`",
        "`NAME-ROLE-INDEX`",
        "the object",
        "`training.kubeflow.org/job-name`",
    ),
    Row(
        OperatorKind("kubeflow.org", "XGBoostJob", xgboost_children, _L, training_job_doubts("xgbReplicaSpecs")),
        "`spec.xgbReplicaSpecs[*].template`",
        "`replicas`",
        "`NAME-ROLE-INDEX`",
        "the object",
        "`training.kubeflow.org/job-name`",
    ),
    Row(
        OperatorKind("kubeflow.org", "PaddleJob", paddle_children, _L, training_job_doubts("paddleReplicaSpecs")),
        "`spec.paddleReplicaSpecs[*].template`",
        "`replicas`",
        "`NAME-ROLE-INDEX`",
        "the object",
        "`training.kubeflow.org/job-name`",
    ),
    Row(
        OperatorKind("kubeflow.org", "JAXJob", jax_children, _L, training_job_doubts("jaxReplicaSpecs")),
        "`spec.jaxReplicaSpecs[*].template`",
        "`replicas`",
        "`NAME-worker-INDEX`",
        "the object",
        "`training.kubeflow.org/job-name`",
    ),
    Row(
        app_wrapper_kind(lambda: KINDS),
        "those of the objects in `spec.components[*].template`",
        "those of the objects",
        "as of the objects",
        "as of the objects",
        "`workload.codeflare.dev/appwrapper`",
    ),
    Row(
        OperatorKind("kubeflow.org", "MPIJob", mpi_children, _L, training_job_doubts("mpiReplicaSpecs")),
        "`spec.mpiReplicaSpecs[*].template`",
        "`replicas`, and one launcher",
        "`NAME-worker-INDEX`, `NAME-launcher`",
        "the object; the launcher's a Job (v2)",
        "`training.kubeflow.org/job-name`",
    ),
    Row(
        OperatorKind("trainer.kubeflow.org", "TrainJob", train_job_children, _L, train_job_doubts),
        "that of its runtime, which has to be among the manifests",
        "`spec.trainer.numNodes`; of jobs that wait for others the peak",
        "`NAME-node-0-INDEX-*`",
        "Job",
        "`jobset.sigs.k8s.io/jobset-name`",
    ),
    Row(
        OperatorKind("ray.io", "RayCluster", ray_cluster_children, _R, ray_doubts),
        "`spec.headGroupSpec.template`, `spec.workerGroupSpecs[*].template`, and what KubeRay adds",
        "one head; `replicas` of a group within its limits, times `numOfHosts`",
        "`NAME-head`, `NAME-GROUP-worker-*`",
        "the object",
        "`ray.io/cluster`",
    ),
    Row(
        OperatorKind("ray.io", "RayJob", ray_job_children, _R, ray_doubts),
        "`spec.rayClusterSpec`, and the submitter's",
        "those of the cluster, and one Job",
        "as of the cluster `NAME-HASH`; `NAME-*`",
        "RayCluster; Job",
        "`ray.io/cluster`",
    ),
    Row(
        OperatorKind("ray.io", "RayService", ray_service_children, _N, ray_doubts),
        "`spec.rayClusterConfig`",
        "those of the cluster",
        "as of the cluster `NAME-HASH`",
        "RayCluster",
        "`ray.io/cluster`",
    ),
    Row(
        OperatorKind("batch.volcano.sh", "Job", volcano_children, _L, volcano_doubts),
        "`spec.tasks[*].template`",
        "`replicas`",
        "`NAME-TASK-INDEX`",
        "the object",
        "`scheduling.k8s.io/group-name`",
    ),
    Row(
        OperatorKind("sparkoperator.k8s.io", "SparkApplication", spark_children, _R, spark_doubts),
        "`spec.driver`, `spec.executor`, else `spec.sparkConf`: cores, memory and overhead",
        "one driver; `executor.instances`, or the most of dynamic allocation",
        "`NAME-driver`, `NAME-HASH-exec-NUMBER`",
        "the object; executors by the driver",
        "`spark-app-name`",
    ),
    Row(
        OperatorKind("postgresql.cnpg.io", "Cluster", postgres_children, _O),
        "made of `spec.resources`, `spec.affinity`, `spec.storage`",
        "`spec.instances`",
        "`NAME-NUMBER`",
        "the object",
        "`cnpg.io/cluster`",
    ),
    Row(
        OperatorKind("kafka.strimzi.io", "KafkaNodePool", kafka_pool_children, _O, kafka_pool_doubts),
        "made of `spec.resources`, `spec.template.pod`, `spec.storage`, and of the Kafka's",
        "`spec.replicas`",
        "`CLUSTER-NAME-ID`",
        "StrimziPodSet",
        "`strimzi.io/cluster`",
    ),
    Row(
        OperatorKind("kafka.strimzi.io", "Kafka", kafka_children, _O),
        "made of `spec.kafka`, `spec.zookeeper`, `spec.entityOperator`, `spec.cruiseControl`, `spec.kafkaExporter`",
        "`replicas`; brokers only without node pools",
        "`NAME-kafka-ID`, `NAME-zookeeper-ID`, `NAME-entity-operator-HASH-*`, `NAME-cruise-control-HASH-*`, "
        "`NAME-kafka-exporter-HASH-*`",
        "StrimziPodSet; ReplicaSet",
        "`strimzi.io/cluster`",
    ),
    Row(
        OperatorKind("elasticsearch.k8s.elastic.co", "Elasticsearch", elasticsearch_children, _O),
        "`spec.nodeSets[*].podTemplate`, and what ECK adds",
        "`count`",
        "`NAME-es-SET-ORDINAL`",
        "StatefulSet",
        "`elasticsearch.k8s.elastic.co/cluster-name`",
    ),
    *(
        Row(
            OperatorKind(group, kind, elastic_deployment_children, _N),
            "`spec.podTemplate`, and what ECK adds",
            "`spec.count`",
            f"`NAME-{suffix}-HASH-*`",
            "ReplicaSet",
            f"`{group}/name`",
        )
        for group, kind, suffix in (
            ("kibana.k8s.elastic.co", "Kibana", "kb"),
            ("apm.k8s.elastic.co", "ApmServer", "apm-server"),
            ("maps.k8s.elastic.co", "ElasticMapsServer", "ems"),
            ("enterprisesearch.k8s.elastic.co", "EnterpriseSearch", "ent"),
            ("packageregistry.k8s.elastic.co", "PackageRegistry", "epr"),
        )
    ),
    Row(
        OperatorKind("logstash.k8s.elastic.co", "Logstash", logstash_children, _O),
        "`spec.podTemplate`, and what ECK adds",
        "`spec.count`",
        "`NAME-ls-ORDINAL`",
        "StatefulSet",
        "`logstash.k8s.elastic.co/name`",
    ),
    Row(
        OperatorKind("beat.k8s.elastic.co", "Beat", beat_children, elastic_update),
        "`spec.daemonSet.podTemplate`, `spec.deployment.podTemplate`, and what ECK adds",
        "one a node; `replicas`",
        "`NAME-beat-TYPE-*`",
        "DaemonSet; ReplicaSet",
        "`beat.k8s.elastic.co/name`",
    ),
    Row(
        OperatorKind("agent.k8s.elastic.co", "Agent", agent_children, elastic_update),
        "`podTemplate` of `spec.daemonSet`, `spec.deployment`, `spec.statefulSet`, and what ECK adds",
        "one a node; `replicas`",
        "`NAME-agent-*`",
        "DaemonSet; ReplicaSet; StatefulSet",
        "`agent.k8s.elastic.co/name`",
    ),
    *(
        Row(
            OperatorKind("kafka.strimzi.io", kind, kafka_connect_children, _O),
            "made of `spec.resources`, `spec.template.pod`, `spec.rack`",
            "`spec.replicas` (3)",
            f"`NAME-{suffix}-NUMBER`",
            "StrimziPodSet",
            "`strimzi.io/cluster`",
        )
        for kind, suffix in (("KafkaConnect", "connect"), ("KafkaMirrorMaker2", "mirrormaker2"))
    ),
    Row(
        OperatorKind("kafka.strimzi.io", "KafkaBridge", kafka_bridge_children, _N),
        "made of `spec.resources`, `spec.template.pod`, `spec.rack`",
        "`spec.replicas`",
        "`NAME-bridge-HASH-*`",
        "ReplicaSet",
        "`strimzi.io/cluster`",
    ),
    Row(
        OperatorKind("serving.kserve.io", "InferenceService", inference_children, _N, inference_doubts),
        "that of its runtime, with `spec.predictor` over it; `spec.transformer`, `spec.explainer`",
        "`minReplicas` (1) of each",
        "`NAME-predictor-HASH-*`, `NAME-predictor-00001-deployment-HASH-*`",
        "ReplicaSet",
        "`serving.kserve.io/inferenceservice`",
    ),
    Row(
        OperatorKind("serving.kserve.io", "InferenceGraph", graph_children, _N, graph_doubts),
        "made of `spec.resources` and the like",
        "`spec.minReplicas` (1)",
        "`NAME-HASH-*`, `NAME-00001-deployment-HASH-*`",
        "ReplicaSet",
        "`serving.kserve.io/inferencegraph`",
    ),
    Row(
        OperatorKind("serving.kserve.io", "LLMInferenceService", llm_children, _N, llm_doubts),
        "`spec.template`, `spec.worker`, those of `spec.prefill`, `spec.router.scheduler.template`",
        "`replicas` (1) of each, groups by `parallelism`",
        "`NAME-kserve-HASH-*`, `NAME-kserve-mn-GROUP-INDEX`",
        "ReplicaSet; StatefulSet",
        "`app.kubernetes.io/name`",
    ),
    Row(
        OperatorKind("apps.nvidia.com", "NIMService", nim_children, _O, nim_doubts),
        "made of `spec.resources` and the like",
        "`spec.replicas`, `scale.hpa.minReplicas`; groups of `multiNode.parallelism.pipeline`",
        "`NAME-HASH-*`, `NAME-lws-GROUP-INDEX`",
        "ReplicaSet; StatefulSet",
        "`app.kubernetes.io/instance`",
    ),
    Row(
        OperatorKind("apps.nvidia.com", "NIMPipeline", nim_pipeline_children, _O),
        "those of `spec.services[*].spec`",
        "those of the services",
        "as of the services",
        "as of the services",
        "`app.kubernetes.io/instance`",
    ),
    Row(
        OperatorKind("monitoring.coreos.com", "Prometheus", prometheus_children, _O),
        "made of `spec.resources` and the like, and what reloads it",
        "`spec.shards` times `spec.replicas`",
        "`prometheus-NAME-ORDINAL`, `prometheus-NAME-shard-SHARD-ORDINAL`",
        "StatefulSet",
        "`operator.prometheus.io/name`",
    ),
    Row(
        OperatorKind("monitoring.coreos.com", "Alertmanager", alertmanager_children, _O),
        "made of `spec.resources` and the like, and what reloads it",
        "`spec.replicas`",
        "`alertmanager-NAME-ORDINAL`",
        "StatefulSet",
        "`alertmanager`",
    ),
    Row(
        OperatorKind("argoproj.io", "Workflow", workflow_children, _L, workflow_doubts),
        "`spec.templates[*]`",
        "the peak of parallel pods, an upper bound",
        "`NAME-TEMPLATE-*`",
        "the object",
        "`workflows.argoproj.io/workflow`",
    ),
    Row(
        OperatorKind("argoproj.io", "CronWorkflow", workflow_children, _L, workflow_doubts),
        "`spec.workflowSpec.templates[*]`",
        "the peak of one run, an upper bound",
        "`NAME-TEMPLATE-*`",
        "the object",
        "`workflows.argoproj.io/workflow`",
    ),
    Row(
        OperatorKind("tekton.dev", "PipelineRun", pipeline_run_children, _L, run_doubts),
        "the steps of its tasks",
        "the peak of parallel tasks, an upper bound",
        "`NAME-TASK-pod`",
        "TaskRun",
        "`tekton.dev/pipelineRun`",
    ),
    Row(
        OperatorKind("tekton.dev", "TaskRun", task_run_children, _L, run_doubts),
        "the steps of its task",
        "one",
        "`NAME-pod`",
        "the object",
    ),
)

KINDS: tuple[WorkloadKind, ...] = tuple(row.kind for row in ROWS)
"""All kinds of operators that are known here."""
