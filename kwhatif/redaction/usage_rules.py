"""Rules for usage data, and for autoscalers of pods."""

from __future__ import annotations

from kwhatif.redaction.rules import (
    AMOUNTS,
    API_VERSION,
    NAME,
    Rule,
    each,
    fields,
    number,
    object_of,
    one_of,
    time,
)
from kwhatif.redaction.well_known_names import OWNER_KINDS

_RESOURCE = one_of("cpu", "memory")
_TARGET_REF = fields(apiVersion=API_VERSION, kind=one_of(*OWNER_KINDS), name=NAME)
_TARGET = fields(
    type=one_of("Utilization", "AverageValue", "Value"), averageUtilization=number, averageValue=NAME, value=NAME
)
_METRIC = fields(
    type=one_of("Resource", "ContainerResource", "Pods", "Object", "External"),
    resource=fields(name=_RESOURCE, target=_TARGET),
    containerResource=fields(name=_RESOURCE, container=NAME, target=_TARGET),
)
_HORIZONTAL = object_of(
    {
        "spec": fields(
            scaleTargetRef=_TARGET_REF,
            minReplicas=number,
            maxReplicas=number,
            metrics=each(_METRIC),
            targetCPUUtilizationPercentage=number,
        ),
        "status": fields(currentReplicas=number, desiredReplicas=number),
    }
)
_SCALED_OBJECT = object_of(
    {
        "spec": fields(
            scaleTargetRef=_TARGET_REF,
            minReplicaCount=number,
            maxReplicaCount=number,
            idleReplicaCount=number,
        ),
    }
)
_VERTICAL = object_of(
    {
        "spec": fields(
            targetRef=_TARGET_REF,
            updatePolicy=fields(updateMode=one_of("Off", "Initial", "Recreate", "InPlaceOrRecreate", "Auto")),
            resourcePolicy=fields(
                containerPolicies=each(
                    fields(
                        containerName=NAME,
                        mode=one_of("Auto", "Off"),
                        minAllowed=AMOUNTS,
                        maxAllowed=AMOUNTS,
                        controlledResources=each(_RESOURCE),
                        controlledValues=one_of("RequestsAndLimits", "RequestsOnly"),
                    )
                )
            ),
        ),
        "status": fields(
            recommendation=fields(
                containerRecommendations=each(
                    fields(
                        containerName=NAME,
                        target=AMOUNTS,
                        lowerBound=AMOUNTS,
                        upperBound=AMOUNTS,
                        uncappedTarget=AMOUNTS,
                    )
                )
            )
        ),
    }
)
_METRICS = object_of({"timestamp": time, "containers": each(fields(name=NAME, usage=AMOUNTS))})

USAGE_RULES: dict[str, Rule] = {
    "HorizontalPodAutoscaler": _HORIZONTAL,
    "PodMetrics": _METRICS,
    "ScaledObject": _SCALED_OBJECT,
    "VerticalPodAutoscaler": _VERTICAL,
}
"""Kind -> rule."""
