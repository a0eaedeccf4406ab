"""What happens when nodes, zones or pools are gone?"""

POSITION = 80
