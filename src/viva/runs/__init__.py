"""The life of a run: config, plan, checks, execution, scores, results."""
