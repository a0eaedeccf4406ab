"""What all questions share: inputs, pipeline, session, placement, autoscalers in the loop, and fidelity."""
