"""Custom resources: what their definitions say of them."""
