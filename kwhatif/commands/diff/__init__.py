"""What do two policies, versions, clusters or sets of manifests come to differently?"""
