"""What would change with another policy, version, cluster or manifests?"""

POSITION = 30
