"""Which nodes would cluster-autoscaler add or remove?

Say what cluster-autoscaler or Karpenter would do: 'autoscale FILE...' is 'autoscale plan FILE...'.
"""

POSITION = 100
DEFAULT = "plan"
