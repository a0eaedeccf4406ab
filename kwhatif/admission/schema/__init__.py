"""Which kinds and fields the API server of each minor knows, and what it makes of a manifest that says otherwise."""
