"""Run lm-evaluation-harness in this process with a model whose answers the tests define; it writes its usual files."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

os.environ.update(HF_HUB_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1", DO_NOT_TRACK="1", TOKENIZERS_PARALLELISM="false")
Generate = Callable[[str], str]
Likelihood = Callable[[str, str], float]


def answering(generate: Generate, likelihood: Likelihood) -> Any:
    """A model that answers so."""
    from lm_eval.api.model import LM

    class Answering(LM):
        tokenizer_name = "none"

        def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
            return [generate(request.args[0]) for request in requests]

        def loglikelihood(self, requests: list[Any], disable_tqdm: bool = False) -> list[tuple[float, bool]]:
            return [(likelihood(*request.args[:2]), False) for request in requests]

        def loglikelihood_rolling(self, requests: list[Any], disable_tqdm: bool = False) -> list[float]:
            raise NotImplementedError

        def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
            return "\n".join(f"<{turn['role']}>{turn['content']}" for turn in chat_history)

    return Answering()


def evaluate(
    tasks: Mapping[str, Any] | list[str],
    include: Path,
    out: Path,
    generate: Generate,
    likelihood: Likelihood = lambda prompt, text: -1.0,
    **more: Any,
) -> dict[str, Any]:
    """The results, and in `out` the files that lm-eval's own tracker writes (`--output_path --log_samples`)."""
    from lm_eval.evaluator import simple_evaluate
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    tracker = EvaluationTracker(output_path=str(out))
    results = simple_evaluate(
        model=answering(generate, likelihood),
        tasks=tasks,
        task_manager=TaskManager(include_path=str(include), include_defaults=False),
        log_samples=True,
        bootstrap_iters=0,
        evaluation_tracker=tracker,
        verbosity="ERROR",
        **more,
    )
    samples = results.pop("samples")
    tracker.save_results_aggregated(results=results, samples=samples)
    for task in results["configs"]:
        tracker.save_results_samples(task_name=task, samples=samples[task])
    return results
