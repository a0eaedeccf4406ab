"""What all questions stand on: scenario, pipeline, placement, autoscalers in the loop, and what an answer lacks."""
