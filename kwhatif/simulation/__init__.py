"""What all questions stand on: a scenario, the pipeline, placement, autoscalers in the loop, and what an answer lacks."""
