"""Forty kustomizations as files by path: each feature by itself first, then drawn at random and mixed.

What stands in ``top`` is to be built.
"""

# ruff: noqa: E501 (a manifest on a line is easier to compare than one that is wrapped)

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      serviceAccountName: runner
      priorityClassName: high
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}
      initContainers:
      - {name: init, image: "busybox:1.36", envFrom: [{configMapRef: {name: settings}}]}
      containers:
      - name: web
        image: registry.example.com:5000/team/web:1.2
        args: ["--peer=$(PEER)"]
        ports: [{name: http, containerPort: 80}, {name: dns, containerPort: 53, protocol: UDP}]
        env: [{name: A, value: "1"}, {name: KEY, valueFrom: {secretKeyRef: {name: keys, key: a}}}]
        volumeMounts: [{name: settings, mountPath: /etc/web}]
        resources: {requests: {cpu: 100m, memory: 64Mi}}
      - {name: helper, image: "nginx@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}
      volumes:
      - {name: settings, configMap: {name: settings}}
      - {name: keys, projected: {sources: [{secret: {name: keys}}]}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: http}]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
"""
MORE = """\
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Namespace, metadata: {name: shop}}
- {apiVersion: v1, kind: ServiceAccount, metadata: {name: runner}, imagePullSecrets: [{name: keys}]}
- {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000}
- apiVersion: apps/v1
  kind: StatefulSet
  metadata: {name: db, annotations: {a: b}}
  spec:
    serviceName: db
    selector: {matchLabels: {app: db}}
    template:
      metadata: {labels: {app: db}}
      spec:
        containers: [{name: db, image: db}]
        volumes: [{name: data, persistentVolumeClaim: {claimName: shared}}]
    volumeClaimTemplates: [{metadata: {name: data}, spec: {storageClassName: fast}}]
- {apiVersion: v1, kind: Service, metadata: {name: db}, spec: {clusterIP: None}}
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: shared}, spec: {storageClassName: fast}}
- {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}, provisioner: a}
- apiVersion: batch/v1
  kind: CronJob
  metadata: {name: night}
  spec:
    schedule: "0 3 * * *"
    jobTemplate:
      spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: busybox}], serviceAccountName: runner}}}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleBinding
  metadata: {name: runner}
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: runner}
  subjects: [{kind: ServiceAccount, name: runner}, {kind: ServiceAccount, name: default}]
- {apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: runner}, rules: [{resources: [pods], verbs: [get]}]}
- {apiVersion: example.com/v1, kind: Widget, metadata: {name: web}, spec: {containers: [{name: a, image: busybox}], list: [{name: a}]}}
- {apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: web}, spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}}
"""
CONFIGURED = "configMapGenerator: [{name: settings, literals: [a=1, 'b=\"x=<&>\"']}]\nsecretGenerator: [{name: keys, literals: [a=b]}]\n"
BASE = {
    "base/kustomization.yaml": f"resources: [web.yaml, more.yaml]\n{CONFIGURED}",
    "base/web.yaml": WEB,
    "base/more.yaml": MORE,
}

PARTS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "namespace": ("namespace: prod\n", {}),
    "prefix": ("namePrefix: a-\n", {}),
    "suffix": ("nameSuffix: -z\n", {}),
    "common labels": ("commonLabels: {team: one, number: '5'}\n", {}),
    "labels": ("labels: [{pairs: {l: v}}, {pairs: {t: v}, includeTemplates: true}]\n", {}),
    "labels of selectors": ("labels: [{pairs: {s: v}, includeSelectors: true}]\n", {}),
    "labels of fields": ("labels: [{pairs: {f: v}, fields: [{path: spec/more, kind: Widget, create: true}]}]\n", {}),
    "annotations": ("commonAnnotations: {owner: one, note: 'a: b'}\n", {}),
    "images": (
        "images: [{name: busybox, newTag: '2'}, {name: 'registry.example.com:5000/team/web', newName: other/web}, "
        "{name: nginx, newName: own, newTag: v1}, {name: db, digest: 'sha256:abc'}]\n",
        {},
    ),
    "replicas": ("replicas: [{name: web, count: 7}, {name: db, count: 0}]\n", {}),
    "strategic patch in a file": (
        "patches: [{path: p.yaml}]\n",
        {
            "p.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, annotations: {p: '1'}}\nspec:\n"
            "  template:\n    spec:\n      containers:\n      - {name: new, image: new}\n"
            "      - {name: web, resources: {requests: {cpu: '6'}}, env: [{name: B, value: '2'}, {name: A, $patch: delete}]}\n"
            "      volumes: [{name: cache, emptyDir: {}}]\n"
        },
    ),
    "strategic patch that deletes": (
        "patches: [{patch: '{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, $patch: delete}'}]\n",
        {},
    ),
    "strategic patch that replaces": (
        "patchesStrategicMerge:\n- |\n  apiVersion: apps/v1\n  kind: Deployment\n  metadata: {name: web}\n  spec:\n"
        "    template: {spec: {affinity: {$patch: replace}, containers: [{name: web, ports: [{containerPort: 80, hostPort: 8}]}]}}\n"
        "    replicas: null\n",
        {},
    ),
    "strategic patch of many": (
        "patches: [{target: {kind: Deployment|StatefulSet}, patch: '{apiVersion: v1, kind: Any, metadata: {name: any}, "
        "spec: {template: {spec: {nodeSelector: {pool: one}, tolerations: [{key: a}]}}}}'}]\n",
        {},
    ),
    "strategic patch of a custom kind": (
        "patches: [{patch: '{apiVersion: example.com/v1, kind: Widget, metadata: {name: web}, spec: {list: [{name: b}]}}'}]\n",
        {},
    ),
    "JSON patch": (
        "patches:\n- target: {kind: Deployment, name: 'w.*', labelSelector: app=web}\n  patch: |-\n"
        "    - {op: replace, path: /spec/replicas, value: 5}\n"
        "    - {op: add, path: /spec/template/spec/containers/0/args/-, value: --more}\n"
        "    - {op: add, path: /metadata/annotations, value: {example.com/a~b: c}}\n"
        "    - {op: remove, path: /spec/template/spec/containers/1}\n"
        "    - {op: copy, from: /spec/replicas, path: /spec/revisionHistoryLimit}\n"
        "    - {op: move, from: /spec/revisionHistoryLimit, path: /spec/minReadySeconds}\n"
        "    - {op: test, path: /spec/minReadySeconds, value: 5}\n",
        {},
    ),
    "JSON patch that is none": (
        "patches: [{target: {kind: Service}, patch: '[{op: remove, path: /spec}]'}]\n",
        {},
    ),
    "JSON patch in a file": (
        "patchesJson6902: [{path: j.json, target: {version: v1, kind: Service, name: web}}]\n",
        {"j.json": '[{"op": "replace", "path": "/spec/ports/0/port", "value": 8080}]'},
    ),
    "renaming patch": (
        "patches: [{options: {allowNameChange: true}, target: {kind: ServiceAccount}, "
        "patch: '{apiVersion: v1, kind: ServiceAccount, metadata: {name: walker}}'}]\n",
        {},
    ),
    "generated files": (
        "configMapGenerator: [{name: settings, behavior: merge, files: [a.ini, b=data.bin], envs: [e.env]}, {name: alone}]\n"
        "generatorOptions: {labels: {made: here}, annotations: {made: by}}\n",
        {"a.ini": "[x]\na = 1\n", "e.env": "# no\nE=1\nF\n", "data.bin": "long " * 30},
    ),
    "replaced generated ones": (
        "configMapGenerator: [{name: settings, behavior: replace, literals: [only=1], options: {disableNameSuffixHash: true}}]\n"
        "secretGenerator: [{name: keys, behavior: merge, literals: [c=d], type: Opaque}]\n",
        {},
    ),
    "generators without hashes": (
        "generatorOptions: {disableNameSuffixHash: true, immutable: true}\n"
        "secretGenerator: [{name: tls, type: kubernetes.io/tls, literals: [tls.crt=a, tls.key=b]}]\n",
        {},
    ),
    "replacements": (
        "replacements:\n- source: {kind: Service, name: db, fieldPath: metadata.name}\n  targets:\n"
        "  - select: {kind: Deployment}\n    fieldPaths: ['spec.template.spec.containers.[name=web].args.0']\n"
        "    options: {delimiter: '=', index: 1}\n"
        "  - select: {kind: Deployment, name: web}\n    fieldPaths: ['metadata.annotations.[example.com/db]']\n"
        "    options: {create: true}\n",
        {},
    ),
    "replacements in a file": (
        "replacements: [{path: r.yaml}]\n",
        {
            "r.yaml": "- source: {kind: StatefulSet, fieldPath: spec.template.spec.containers.0.image}\n  targets:\n"
            "  - select: {kind: CronJob}\n    reject: [{name: day}]\n"
            "    fieldPaths: ['spec.jobTemplate.spec.template.spec.containers.*.image']\n"
        },
    ),
    "variables": (
        "vars: [{name: PEER, objref: {apiVersion: v1, kind: Service, name: db}, fieldref: {fieldpath: metadata.name}}]\n",
        {},
    ),
    "a configuration": (
        "configurations: [c.yaml]\nimages: [{name: a, newTag: b}]\n",
        {
            "c.yaml": "nameReference: [{kind: Service, version: v1, fieldSpecs: [{kind: Widget, path: spec/service}]}]\n"
            "images: [{kind: Widget, path: spec/picture}]\ncommonLabels: [{kind: Widget, path: spec/labels, create: true}]\n",
            "w.yaml": "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: other}\nspec: {service: web, picture: 'a:1'}\n",
            "": "resources: [w.yaml]\n",
        },
    ),
    "a component": (
        "components: [part]\n",
        {
            "part/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
            "resources: [extra.yaml]\nnameSuffix: -c\npatches: [{target: {kind: Service}, patch: '- {op: add, "
            "path: /metadata/labels, value: {component: one}}'}]\n",
            "part/extra.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra}\ndata: {a: b}\n",
        },
    ),
    "local configuration": (
        "",
        {
            "l.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: local, annotations: {config.kubernetes.io/local-config: 'true'}}\n",
            "": "resources: [l.yaml]\n",
        },
    ),
    "transformers that are built in": (
        "transformers: [t.yaml]\n",
        {
            "t.yaml": "apiVersion: builtin\nkind: NamespaceTransformer\nmetadata: {name: a, namespace: unset}\nunsetOnly: true\n"
            "---\napiVersion: builtin\nkind: LabelTransformer\nmetadata: {name: b}\nlabels: {t: l}\n"
            "fieldSpecs: [{path: metadata/labels, create: true}]\n"
        },
    ),
    "order of its own": ("sortOptions: {order: fifo}\n", {}),
}


def overlays() -> Iterator[tuple[str, dict[str, str]]]:
    """A name for each, and its files; ``top/`` is to be built."""
    for name, part in PARTS.items():
        yield name, _overlay([part])
    generator = random.Random(40)
    for number in range(40 - len(PARTS)):
        chosen = generator.sample(sorted(PARTS), 5)
        yield f"mix {number}: {', '.join(chosen)}", _overlay([PARTS[each] for each in chosen], number)


def _overlay(parts: list[tuple[str, Mapping[str, str]]], layers: int = 0) -> dict[str, str]:
    """The parts over the base; for an odd number the last two in a layer between the two."""
    files = dict(BASE)
    below = "../base"
    split = len(parts) - 2 if layers % 2 else 0
    for folder, chosen in (("middle", parts[:split]), ("top", parts[split:])):
        if chosen:
            files |= _layer(folder, below, chosen)
            below = f"../{folder}"
    return files


def _layer(folder: str, below: str, parts: list[tuple[str, Mapping[str, str]]]) -> dict[str, str]:
    import yaml

    fields: dict[str, object] = {"resources": [below]}
    files: dict[str, str] = {}
    for text, more in parts:
        for part in (text, more.get("", "")):
            for key, value in (yaml.safe_load(part) or {}).items():
                there = fields.get(key)
                if isinstance(there, list):
                    fields[key] = [*there, *value]
                else:
                    fields[key] = {**there, **value} if isinstance(there, dict) else value
        files |= {f"{folder}/{name}": content for name, content in more.items() if name}
    files[f"{folder}/kustomization.yaml"] = yaml.safe_dump(fields)
    return files
