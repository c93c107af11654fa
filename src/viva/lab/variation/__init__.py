"""Sources of a score's variance: questions, prompts, order of options, exemplars, system texts, seeds, judges,
chance.
"""
