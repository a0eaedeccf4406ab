"""From manifests to pods, as the API server and the controllers make them."""
