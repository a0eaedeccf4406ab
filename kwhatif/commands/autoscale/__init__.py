"""Which nodes would cluster-autoscaler or Karpenter add or remove?"""
