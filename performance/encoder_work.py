"""One stretch of comparing in a process of its own, which begins with nothing imported; prints a line of JSON.

python performance/encoder_work.py imports                         # torch and transformers, nothing else
python performance/encoder_work.py viva FOLDER PAIRS.json          # as `viva run` does it: in batches
python performance/encoder_work.py bert-score FOLDER PAIRS.json    # the authors' program, as it comes
python performance/encoder_work.py one-by-one FOLDER PAIRS.json    # the same, a pair a call: no padding
"""

import importlib
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

Pairs = list[tuple[str, str]]
Compare = Callable[[Pairs], list[float]]


def main() -> int:
    name, *arguments = sys.argv[1:]
    os.environ["HF_HUB_OFFLINE"] = "1"  # bert-score asks the Hub even for what is in a folder
    print(json.dumps(_imports() if name == "imports" else _compare(name, *arguments)))
    return 0


def _imports() -> dict[str, object]:
    start = time.perf_counter()
    for module in ("torch", "transformers"):
        importlib.import_module(module)
    return {"opened_s": time.perf_counter() - start, "peak_mb": _peak()}


def _compare(name: str, folder: str, file: str) -> dict[str, object]:
    answers = [[tuple(pair) for pair in answers] for answers in json.loads(Path(file).read_text(encoding="utf-8"))]
    start = time.perf_counter()
    compare = _viva(folder) if name == "viva" else _bert_score(folder, one=name == "one-by-one")
    opened, opened_mb = time.perf_counter() - start, _peak()
    values: list[float] = []
    passes: list[dict[str, float]] = []
    for pairs in answers:
        wall, cpu = time.perf_counter(), time.process_time()
        values += compare(pairs)
        passes.append({"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu, "peak_mb": _peak()})
    return {"opened_s": opened, "opened_mb": opened_mb, "passes": passes, "values": values}


def _viva(folder: str) -> Compare:
    from viva.models.encoder import open_encoder

    encoder = open_encoder(folder)

    def compare(pairs: Pairs) -> list[float]:
        size = encoder.batch
        return [value for at in range(0, len(pairs), size) for value in encoder.similarities(pairs[at : at + size])]

    return compare


def _bert_score(folder: str, *, one: bool) -> Compare:
    bert_score = importlib.import_module("bert_score")
    device = "cuda" if importlib.import_module("torch").cuda.is_available() else "cpu"
    layers = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))["num_hidden_layers"]
    scorer = bert_score.BERTScorer(model_type=folder, num_layers=layers, idf=False, device=device)

    def compare(pairs: Pairs) -> list[float]:
        calls = [[pair] for pair in pairs] if one else [pairs]
        return [
            value
            for call in calls
            for value in scorer.score([text for text, _ in call], [reference for _, reference in call])[2].tolist()
        ]

    return compare


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    sys.exit(main())
