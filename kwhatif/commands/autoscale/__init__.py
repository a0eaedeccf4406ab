"""Which nodes would cluster-autoscaler add or remove?

Say what cluster-autoscaler or Karpenter would do. 'kwhatif autoscale FILE...' is short for
'kwhatif autoscale plan FILE...'; its options: 'kwhatif autoscale plan --help'.
"""

POSITION = 100
DEFAULT = "plan"
