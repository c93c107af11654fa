"""The lab's registered commands, each with its function and summary; and options that moved to them."""

COMMANDS = {
    "plan": (
        "viva.lab.planning.study:study",
        "How many questions a decision needs; what a number can show.",
    ),
    "variance": ("viva.lab.variation.study:study", "What moves a score: prompts, option orders, exemplars, chance."),
    "variance run": ("viva.lab.variation.asking:varied", "Ask each question with several prompts, orders, exemplars."),
    "adaptive": ("", "Estimate a full score from the fewest questions."),
    "adaptive run": ("viva.lab.adaptive.asking:adaptive", "Ask what tells most, in rounds, until enough is known."),
    "judge-bias": ("viva.lab.judges.study:study", "Does a judge's mark depend on what should not matter?"),
    "judge-bias run": ("viva.lab.judges.asking:canaries", "Ask, with answers of known marks among those judged."),
    "judge-bias resume": ("viva.lab.judges.asking:canaries", "Judge a run again, with such answers."),
    "judge-bias grade": ("viva.lab.judges.asking:canaries", "Grade collected answers, with such answers."),
    "item-analysis": ("viva.lab.items.study:study", "Questions: facility, discrimination, item response, anchors."),
    "overlap": ("viva.lab.duplicates.study:study", "Near-duplicates and leakage: a set and another set or a corpus."),
    "perplexity": ("viva.lab.surprisal.study:study", "How little texts surprise a model; signs of leakage."),
}

_OF_TEXTS = ("model", "base_url", "api_key_env", "items", "revision", "dtype", "device", "bits", "adapter",
             "trust_remote_code", "template", "batch_size")  # fmt: skip
MOVED = {
    "run": {
        "vary": ("variance run BENCHMARK", "vary"),
        "adaptive": ("adaptive run BENCHMARK", "calibration"),
        "until": ("adaptive run BENCHMARK", "until"),
        "canaries": ("judge-bias run BENCHMARK", "canaries"),
    },
    "show": {"vary": ("variance run BENCHMARK", "vary")},
    "resume": {"canaries": ("judge-bias resume RUN", "canaries")},
    "grade": {"canaries": ("judge-bias grade BENCHMARK ANSWERS", "canaries")},
    "score": {"difficulty": ("item-analysis TABLE", "levels")},
    "build stats": {
        "reference": ("perplexity SET REFERENCE", ""),
        **{name: ("perplexity SET", name) for name in _OF_TEXTS},
    },
}
