"""What autoscalers would do: new nodes for pods that find none, and nodes that are needed no longer."""
