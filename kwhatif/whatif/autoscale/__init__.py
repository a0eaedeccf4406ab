"""What would cluster-autoscaler do?"""
