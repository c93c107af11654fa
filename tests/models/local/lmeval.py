"""Run lm-evaluation-harness offline on given prompts, as a separate program that does not import Viva.

    python tests/models/local/lmeval.py WORK.json

WORK.json is a list of {"model": folder, "documents": JSONL, "out": file}. A document is {"prompt", "choices", "gold"};
the choices are written as they follow the prompt. `out` gets, per document, the log-probability of each choice and
whether lm-eval counts its choice as right ("acc", by the sum over a choice's tokens).

What lm-eval 0.4.13 does with a BOS (`HFLM.tok_encode`, no `add_bos_token` given): `tokenizer.encode` adds what the
tokenizer adds by itself, so a SentencePiece one its BOS and a byte-level one nothing, except where the text begins with
the BOS already. `prefix_token_id` precedes empty prompts only. Viva does the same, so no setting is needed.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

OFFLINE = {"HF_DATASETS_OFFLINE": "1", "HF_HUB_OFFLINE": "1", "HF_EVALUATE_OFFLINE": "1", "TQDM_DISABLE": "1"}
BATCH = 4
"""Rows of a batch, padded on the right: small, since tiny models spend their time on padding."""


def task(documents: str) -> dict[str, Any]:
    """A multiple-choice task without exemplars and delimiters of its own: they are in the prompts."""
    return {
        "task": "prompts",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": documents}},
        "test_split": "test",
        "output_type": "multiple_choice",
        "doc_to_text": "prompt",
        "doc_to_choice": "choices",
        "doc_to_target": "gold",
        "target_delimiter": "",
        "num_fewshot": 0,
        "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
    }


def main() -> int:
    """Carry the work out, one model after another."""
    work = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    os.environ.update(OFFLINE)
    from lm_eval import evaluator
    from lm_eval.tasks import TaskManager

    evaluator.add_env_info = lambda results: None  # by `pip list` and `git`, each time: as long as all models take
    for one in work:
        found = evaluator.simple_evaluate(
            model="hf",
            model_args={"pretrained": one["model"], "dtype": "float32"},
            tasks=[task(one["documents"])],
            task_manager=TaskManager(include_defaults=False),  # reading all of lm-eval's own tasks takes seconds
            batch_size=BATCH,
            device="cpu",
            bootstrap_iters=0,
        )
        samples = sorted(found["samples"]["prompts"], key=lambda sample: sample["doc_id"])
        rows = [
            {"logprobs": [float(reply[0][0]) for reply in sample["resps"]], "acc": sample["acc"]} for sample in samples
        ]
        Path(one["out"]).write_text(json.dumps(rows), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
