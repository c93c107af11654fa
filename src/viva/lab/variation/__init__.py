"""What moves a score: questions, prompts, the order of options, exemplars, system texts, seeds, judges, chance."""
