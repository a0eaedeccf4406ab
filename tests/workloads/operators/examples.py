"""Examples as operators' documents have them, in words of our own: one for each kind of the table, by its name."""

from __future__ import annotations

import textwrap
from typing import Any

import yaml

from tests.workloads.operators.serving_examples import SERVING

Json = dict[str, Any]

EXAMPLES = SERVING | {
    "Rollout.argoproj.io": """
        apiVersion: argoproj.io/v1alpha1
        kind: Rollout
        metadata: {name: shop}
        spec:
          replicas: 5
          strategy:
            canary:
              steps: [{setWeight: 20}, {pause: {}}, {setWeight: 60}, {pause: {duration: 10}}]
          selector: {matchLabels: {app: shop}}
          template:
            metadata: {labels: {app: shop}}
            spec:
              containers: [{name: shop, image: shop:1, resources: {requests: {memory: 32Mi, cpu: 5m}}}]
        """,
    "DeploymentConfig.apps.openshift.io": """
        apiVersion: apps.openshift.io/v1
        kind: DeploymentConfig
        metadata: {name: front}
        spec:
          replicas: 2
          selector: {name: front}
          strategy: {type: Rolling}
          template:
            metadata: {labels: {name: front}}
            spec: {containers: [{name: hello, image: hello:latest}]}
        """,
    "Service.serving.knative.dev": """
        apiVersion: serving.knative.dev/v1
        kind: Service
        metadata: {name: hello}
        spec:
          template:
            metadata:
              annotations: {autoscaling.knative.dev/min-scale: "3", autoscaling.knative.dev/max-scale: "10"}
            spec:
              containerConcurrency: 10
              containers: [{image: hello-go, env: [{name: TARGET, value: World}]}]
        """,
    "JobSet.jobset.x-k8s.io": """
        apiVersion: jobset.x-k8s.io/v1alpha2
        kind: JobSet
        metadata: {name: torch}
        spec:
          replicatedJobs:
          - name: driver
            template:
              spec: {template: {spec: {containers: [{name: driver, image: torch}]}}}
          - name: workers
            replicas: 2
            template:
              spec:
                parallelism: 2
                completions: 2
                backoffLimit: 0
                template: {spec: {containers: [{name: worker, image: torch}]}}
        """,
    "LeaderWorkerSet.leaderworkerset.x-k8s.io": """
        apiVersion: leaderworkerset.x-k8s.io/v1
        kind: LeaderWorkerSet
        metadata: {name: llm, annotations: {leaderworkerset.sigs.k8s.io/exclusive-topology: rack}}
        spec:
          replicas: 2
          leaderWorkerTemplate:
            size: 3
            leaderTemplate: {spec: {containers: [{name: leader, image: llm}]}}
            workerTemplate: {spec: {containers: [{name: worker, image: llm, resources: {limits: {nvidia.com/gpu: 8}}}]}}
        """,
    "PyTorchJob.kubeflow.org": """
        apiVersion: kubeflow.org/v1
        kind: PyTorchJob
        metadata: {name: mnist}
        spec:
          pytorchReplicaSpecs:
            Master:
              replicas: 1
              restartPolicy: OnFailure
              template: {spec: {containers: [{name: pytorch, image: mnist}]}}
            Worker:
              replicas: 2
              restartPolicy: OnFailure
              template: {spec: {containers: [{name: pytorch, image: mnist}]}}
        """,
    "TFJob.kubeflow.org": """
        apiVersion: kubeflow.org/v1
        kind: TFJob
        metadata: {name: dist}
        spec:
          tfReplicaSpecs:
            PS: {replicas: 2, restartPolicy: Never, template: {spec: {containers: [{name: tensorflow, image: dist}]}}}
            Worker:
              replicas: 2
              restartPolicy: ExitCode
              template: {spec: {containers: [{name: tensorflow, image: dist}]}}
        """,
    "XGBoostJob.kubeflow.org": """
        apiVersion: kubeflow.org/v1
        kind: XGBoostJob
        metadata: {name: iris}
        spec:
          xgbReplicaSpecs:
            Master: {replicas: 1, restartPolicy: Never, template: {spec: {containers: [{name: xgboost, image: iris}]}}}
            Worker:
              replicas: 2
              restartPolicy: ExitCode
              template: {spec: {containers: [{name: xgboost, image: iris}]}}
        """,
    "PaddleJob.kubeflow.org": """
        apiVersion: kubeflow.org/v1
        kind: PaddleJob
        metadata: {name: paddle}
        spec:
          paddleReplicaSpecs:
            Worker: {replicas: 2, restartPolicy: OnFailure, template: {spec: {containers: [{name: paddle, image: p}]}}}
        """,
    "JAXJob.kubeflow.org": """
        apiVersion: kubeflow.org/v1
        kind: JAXJob
        metadata: {name: jax}
        spec:
          jaxReplicaSpecs:
            Worker: {replicas: 2, restartPolicy: OnFailure, template: {spec: {containers: [{name: jax, image: j}]}}}
        """,
    "AppWrapper.workload.codeflare.dev": """
        apiVersion: workload.codeflare.dev/v1beta2
        kind: AppWrapper
        metadata: {name: study}
        spec:
          components:
          - template:
              apiVersion: v1
              kind: Service
              metadata: {name: board}
              spec: {ports: [{port: 80}]}
          - template:
              apiVersion: batch/v1
              kind: Job
              metadata: {name: prepare}
              spec:
                parallelism: 2
                completions: 2
                template: {spec: {restartPolicy: Never, containers: [{name: main, image: p}]}}
          - template:
              apiVersion: kubeflow.org/v1
              kind: PyTorchJob
              metadata: {name: learn}
              spec:
                pytorchReplicaSpecs:
                  Master: {replicas: 1, template: {spec: {containers: [{name: pytorch, image: t}]}}}
                  Worker: {replicas: 2, template: {spec: {containers: [{name: pytorch, image: t}]}}}
        """,
    "MPIJob.kubeflow.org": """
        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        metadata: {name: pi}
        spec:
          slotsPerWorker: 1
          mpiReplicaSpecs:
            Launcher: {replicas: 1, template: {spec: {containers: [{name: mpi-launcher, image: pi}]}}}
            Worker: {replicas: 2, template: {spec: {containers: [{name: mpi-worker, image: pi}]}}}
        """,
    "TrainJob.trainer.kubeflow.org": """
        apiVersion: trainer.kubeflow.org/v1alpha1
        kind: TrainJob
        metadata: {name: tune}
        spec:
          runtimeRef: {name: torch-distributed}
          trainer: {numNodes: 3, image: tune:1, resourcesPerNode: {requests: {cpu: "4"}}}
        """,
    "RayCluster.ray.io": """
        apiVersion: ray.io/v1
        kind: RayCluster
        metadata: {name: raw}
        spec:
          enableInTreeAutoscaling: true
          headGroupSpec:
            rayStartParams: {}
            template:
              spec: {containers: [{name: ray-head, image: ray:2, resources: {requests: {cpu: "1", memory: 2Gi}}}]}
          workerGroupSpecs:
          - groupName: small
            replicas: 1
            minReplicas: 2
            maxReplicas: 5
            template:
              spec: {containers: [{name: ray-worker, image: ray:2, resources: {requests: {cpu: "1", memory: 1Gi}}}]}
        """,
    "RayJob.ray.io": """
        apiVersion: ray.io/v1
        kind: RayJob
        metadata: {name: count}
        spec:
          entrypoint: python count.py
          rayClusterSpec:
            headGroupSpec: {template: {spec: {containers: [{name: ray-head, image: ray:2}]}}}
            workerGroupSpecs:
            - {groupName: w, replicas: 1, template: {spec: {containers: [{name: ray-worker, image: ray:2}]}}}
        """,
    "RayService.ray.io": """
        apiVersion: ray.io/v1
        kind: RayService
        metadata: {name: fruit}
        spec:
          rayClusterConfig:
            headGroupSpec: {template: {spec: {containers: [{name: ray-head, image: ray:2}]}}}
            workerGroupSpecs:
            - {groupName: w, replicas: 2, template: {spec: {containers: [{name: ray-worker, image: ray:2}]}}}
        """,
    "Job.batch.volcano.sh": """
        apiVersion: batch.volcano.sh/v1alpha1
        kind: Job
        metadata: {name: pair, uid: abc}
        spec:
          minAvailable: 3
          queue: teams
          tasks:
          - {name: ps, replicas: 1, template: {spec: {containers: [{name: c, image: pair}], restartPolicy: Never}}}
          - {name: worker, replicas: 2, template: {spec: {containers: [{name: c, image: pair}], restartPolicy: Never}}}
        """,
    "SparkApplication.sparkoperator.k8s.io": """
        apiVersion: sparkoperator.k8s.io/v1beta2
        kind: SparkApplication
        metadata: {name: pi}
        spec:
          type: Scala
          image: spark:3.5
          driver: {cores: 1, coreLimit: 1200m, memory: 512m, labels: {version: "3.5"}, serviceAccount: spark}
          executor: {instances: 2, cores: 2, memory: 8g}
        """,
    "Cluster.postgresql.cnpg.io": """
        apiVersion: postgresql.cnpg.io/v1
        kind: Cluster
        metadata: {name: books}
        spec:
          instances: 3
          storage: {size: 1Gi, storageClass: fast}
          walStorage: {size: 2Gi}
          resources: {requests: {cpu: "1", memory: 4Gi}}
        """,
    "KafkaNodePool.kafka.strimzi.io": """
        apiVersion: kafka.strimzi.io/v1beta2
        kind: KafkaNodePool
        metadata: {name: controller, labels: {strimzi.io/cluster: events}}
        spec:
          replicas: 3
          roles: [controller]
          storage: {type: jbod, volumes: [{id: 0, type: persistent-claim, size: 100Gi, kraftMetadata: shared}]}
        """,
    "Kafka.kafka.strimzi.io": """
        apiVersion: kafka.strimzi.io/v1beta2
        kind: Kafka
        metadata: {name: events, annotations: {strimzi.io/node-pools: enabled, strimzi.io/kraft: enabled}}
        spec:
          kafka:
            version: 4.0.0
            rack: {topologyKey: topology.kubernetes.io/zone}
            resources: {requests: {memory: 4Gi}}
          entityOperator: {topicOperator: {}, userOperator: {}}
        """,
    "Elasticsearch.elasticsearch.k8s.elastic.co": """
        apiVersion: elasticsearch.k8s.elastic.co/v1
        kind: Elasticsearch
        metadata: {name: quick}
        spec:
          version: 9.0.0
          nodeSets:
          - {name: masters, count: 3, config: {node.roles: [master]}}
          - name: data
            count: 2
            podTemplate:
              spec: {containers: [{name: elasticsearch, resources: {requests: {memory: 4Gi, cpu: "8"}}}]}
        """,
    "Prometheus.monitoring.coreos.com": """
        apiVersion: monitoring.coreos.com/v1
        kind: Prometheus
        metadata: {name: main}
        spec:
          replicas: 2
          shards: 2
          resources: {requests: {memory: 400Mi}}
          storage: {volumeClaimTemplate: {spec: {resources: {requests: {storage: 40Gi}}}}}
        """,
    "Alertmanager.monitoring.coreos.com": """
        apiVersion: monitoring.coreos.com/v1
        kind: Alertmanager
        metadata: {name: main}
        spec: {replicas: 3}
        """,
    "Workflow.argoproj.io": """
        apiVersion: argoproj.io/v1alpha1
        kind: Workflow
        metadata: {name: diamond}
        spec:
          entrypoint: diamond
          templates:
          - name: echo
            inputs: {parameters: [{name: message}]}
            container: {image: alpine, command: [echo], resources: {requests: {cpu: 100m}}}
          - name: diamond
            dag:
              tasks:
              - {name: A, template: echo}
              - {name: B, dependencies: [A], template: echo}
              - {name: C, depends: "A.Succeeded", template: echo, withItems: [1, 2, 3]}
              - {name: D, dependencies: [B, C], template: echo}
        """,
    "CronWorkflow.argoproj.io": """
        apiVersion: argoproj.io/v1alpha1
        kind: CronWorkflow
        metadata: {name: nightly}
        spec:
          schedule: "0 3 * * *"
          workflowSpec:
            entrypoint: steps
            templates:
            - name: steps
              steps:
              - - {name: one, template: say}
              - - {name: two, template: say}
                - {name: three, template: say}
            - {name: say, script: {image: python, source: print()}}
        """,
    "PipelineRun.tekton.dev": """
        apiVersion: tekton.dev/v1
        kind: PipelineRun
        metadata: {name: build}
        spec:
          pipelineSpec:
            tasks:
            - {name: fetch, taskSpec: {steps: [{name: clone, image: git}]}}
            - {name: lint, runAfter: [fetch], taskSpec: {steps: [{name: run, image: lint}]}}
            - name: test
              params: [{name: sha, value: $(tasks.fetch.results.commit)}]
              taskSpec: {steps: [{name: run, image: test, computeResources: {requests: {cpu: "2"}}}]}
            finally:
            - {name: report, taskSpec: {steps: [{image: curl}]}}
        """,
    "TaskRun.tekton.dev": """
        apiVersion: tekton.dev/v1
        kind: TaskRun
        metadata: {name: hello}
        spec:
          taskSpec: {steps: [{name: echo, image: ubuntu}, {image: ubuntu}]}
        """,
}

RUNTIME = """
    apiVersion: trainer.kubeflow.org/v1alpha1
    kind: ClusterTrainingRuntime
    metadata: {name: torch-distributed}
    spec:
      mlPolicy: {numNodes: 1}
      template:
        spec:
          replicatedJobs:
          - name: node
            template:
              metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
              spec: {template: {spec: {containers: [{name: node, image: torch}]}}}
    """


def read(text: str) -> Json:
    """An example as an object of the namespace ``default``."""
    found: Json = yaml.safe_load(textwrap.dedent(text))
    found["metadata"].setdefault("namespace", "default")
    return found


def example(name: str) -> Json:
    return read(EXAMPLES[name])
