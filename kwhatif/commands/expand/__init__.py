"""What would the API server and the controllers make of these manifests?"""
