"""Whether a judge's mark depends on what should not matter: the same answers, changed without a change of content."""
