"""Pieces of local.py's work that need torch, each a process of its own that begins with nothing imported.

python performance/local_work.py make SIZES.json              # a Llama-shaped random model and its tokenizer
python performance/local_work.py lm-eval WORK.json            # lm-evaluation-harness over prompts that are given
python performance/local_work.py forward WORK.json            # Viva's computation alone, timed inside: for a GPU

The last line that each prints is JSON.
"""

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

MARK = "<|endoftext|>"
OFFLINE = {"HF_DATASETS_OFFLINE": "1", "HF_HUB_OFFLINE": "1", "HF_EVALUATE_OFFLINE": "1", "TQDM_DISABLE": "1"}
MOST_ROWS = 16
"""Up to which lm-eval's `auto` looks for a batch size. It takes the largest that fits, tries each with five passes of
the longest prompt, and 64, its own limit, would take many minutes and gigabytes on a CPU."""


def main() -> int:
    name, file = sys.argv[1:]
    work: dict[str, Callable[[Any], dict[str, Any]]] = {"make": make, "lm-eval": harness, "forward": forward}
    os.environ.update(OFFLINE)
    print(json.dumps(work[name](json.loads(Path(file).read_text(encoding="utf-8")))))
    return 0


def make(sizes: dict[str, Any]) -> dict[str, Any]:
    """Random weights: how long it takes does not depend on what is in them."""
    torch, transformers = (importlib.import_module(name) for name in ("torch", "transformers"))
    tokenizer = _trained(Path(sizes["text"]).read_text(encoding="utf-8").splitlines(), sizes["vocabulary"])
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=sizes["width"],
        intermediate_size=sizes["inner"],
        num_hidden_layers=sizes["layers"],
        num_attention_heads=sizes["heads"],
        num_key_value_heads=sizes["heads"],
        max_position_embeddings=4096,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    torch.manual_seed(1)
    with torch.device(sizes["device"]):  # seven billion numbers are drawn in seconds on a GPU
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=getattr(torch, sizes["dtype"]))
    model.save_pretrained(sizes["folder"])
    tokenizer.save_pretrained(sizes["folder"])
    inside, everywhere = (sum(weights.numel() for weights in part.parameters()) for part in (model.model.layers, model))
    return {"vocabulary": len(tokenizer), "parameters": everywhere, "inside": inside}


def _trained(lines: list[str], vocabulary: int) -> Any:
    """Byte-level BPE as GPT-2's. Tokens of at most four Chinese characters: otherwise it would learn the few questions
    that it is trained on by heart, and prompts would be shorter than anybody's."""
    tokenizers, transformers = (importlib.import_module(name) for name in ("tokenizers", "transformers"))
    trained = tokenizers.Tokenizer(tokenizers.models.BPE())
    trained.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trained.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[MARK],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        max_token_length=12,
        show_progress=False,
    )
    trained.train_from_iterator(lines, trainer)
    names = dict.fromkeys(("bos_token", "eos_token", "pad_token"), MARK)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=trained, **names)


def harness(work: dict[str, Any]) -> dict[str, Any]:
    """A multiple-choice task whose prompts have all in them: exemplars, and no delimiter before the letter."""
    start = time.perf_counter()
    lm_eval, tasks = (importlib.import_module(name) for name in ("lm_eval", "lm_eval.tasks"))
    task = {
        "task": "prompts",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": work["documents"]}},
        "test_split": "test",
        "output_type": "multiple_choice",
        "doc_to_text": "prompt",
        "doc_to_choice": ["A", "B", "C", "D"],
        "doc_to_target": "gold",
        "target_delimiter": "",
        "num_fewshot": 0,
        "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
    }
    found = lm_eval.simple_evaluate(
        model="hf",
        model_args={"pretrained": work["folder"], "dtype": work["dtype"]},
        tasks=[task],
        task_manager=tasks.TaskManager(include_defaults=False),  # reading its own tasks takes seconds
        batch_size=work["batch"],
        max_batch_size=MOST_ROWS,
        device=work["device"],
        bootstrap_iters=0,
    )
    samples = sorted(found["samples"]["prompts"], key=lambda sample: sample["doc_id"])
    logprobs = [[float(reply[0][0]) for reply in sample["resps"]] for sample in samples]
    return {"logprobs": logprobs, "wall_s": time.perf_counter() - start}


def forward(work: dict[str, Any]) -> dict[str, Any]:
    """The prompts through Viva's computation, in batches as the desk makes them, after a pass that warms up."""
    torch = importlib.import_module("torch")
    from viva.models.local.forward import Forward
    from viva.models.local.opening import open_model
    from viva.models.local.tokens import Tokens
    from viva.models.local.work import ROWS
    from viva.providers import Weights

    opened = open_model(work["folder"], Weights(dtype=work["dtype"], device=work["device"]))
    tokens = Tokens(opened.tokenizer, "")
    lines = Path(work["documents"]).read_text(encoding="utf-8").splitlines()
    prompts = [json.loads(line)["prompt"] for line in lines]
    ids = [tokens.ids(prompt) for prompt in prompts]
    wanted = [tokens.next_tokens(prompt, tuple("ABCD")) for prompt in prompts]
    told: list[str] = []
    through = Forward(opened, told.append)
    cuda = torch.cuda.is_available() and str(opened.device).startswith("cuda")
    rows = ROWS["cuda" if cuda else "cpu"]["next"]
    passes: list[float] = []
    computed = 0
    for _ in range(2):
        through.release()
        before = through.computed
        if cuda:
            torch.cuda.synchronize()
        start = time.perf_counter()
        for at in range(0, len(ids), rows):
            through.next(ids[at : at + rows], wanted[at : at + rows])
        if cuda:
            torch.cuda.synchronize()
        passes.append(time.perf_counter() - start)
        computed = through.computed - before
    return {
        "wall_s": passes[-1],
        "rows": len(ids),
        "tokens": sum(map(len, ids)),
        "computed": computed,
        "gpu_mb": torch.cuda.max_memory_allocated() / 2**20 if cuda else 0.0,
        "told": told,
    }


if __name__ == "__main__":
    sys.exit(main())
