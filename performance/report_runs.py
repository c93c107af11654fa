"""Runs to report on, of any size: sums in CMMLU's format, answered at random, examined by `viva run`."""

import csv
import json
import random
import subprocess
import sys
from pathlib import Path

import questions

VIVA = Path(sys.executable).with_name("viva")
SEED = 7
WORDS = ("a", "hall", "of", "rows", "and", "seats", "has", "so", "many", "that", "the", "sum", "is", "what", "counts")


def data(folder: Path, count: int) -> Path:
    """So many questions as CMMLU's files."""
    if not folder.exists():
        found = questions.load(None)
        questions.write_cmmlu(found.take(count), folder / "test")
        questions.write_cmmlu(found.exemplars, folder / "dev")
    return folder


def examined(folder: Path, models: int, count: int, characters: int = 600) -> Path:
    """A run of `models` models, each of which answered `count` questions in about so many characters."""
    run = folder / f"run-{models}-{count}-{characters}"
    if (run / "scores.jsonl").exists():
        return run
    set_of = data(folder / f"data-{count}", count)
    command = [str(VIVA), "run", "cmmlu", "--data", str(set_of), "--run", str(run), "--progress", "quiet"]
    for number in range(models):
        path = folder / f"m{number:03}.jsonl"
        _answers(set_of, path, number, characters)
        command += ["--model", f"replay/{path}"]
    subprocess.run([*command, "--out", str(folder / "tables.txt")], check=True, stdout=subprocess.DEVNULL)
    return run


def multiplied(run: Path, folder: Path, times: int) -> Path:
    """The same with `times` as many models, each a copy of another's scores: what tables are made of, and no more."""
    big = folder / f"{run.name}-x{times}"
    if (big / "scores.jsonl").exists():
        return big
    big.mkdir()
    record = json.loads((run / "run.json").read_text())
    models = record["models"]
    record["models"] = [
        {**model, "shown": f"{model['shown'] or model['name']}.{copy}", "name": f"{model['name']}.{copy}"}
        for copy in range(times)
        for model in models
    ]
    (big / "run.json").write_text(json.dumps(record))
    with (big / "scores.jsonl").open("wb") as scores:
        for copy in range(times):
            with (run / "scores.jsonl").open("rb") as lines:
                scores.writelines(
                    line.replace(b'.jsonl","question"', b'.jsonl.%d","question"' % copy) for line in lines
                )
    return big


def _answers(set_of: Path, path: Path, number: int, characters: int) -> None:
    """The number-th model's: right more often than the one before."""
    draw = random.Random(SEED + number)
    with path.open("w", encoding="utf-8") as lines:
        for subject in sorted((set_of / "test").glob("*.csv")):
            with subject.open(encoding="utf-8", newline="") as rows:
                for index, row in enumerate(csv.DictReader(rows)):
                    letter = row["Answer"] if draw.random() < 0.3 + 0.005 * number else draw.choice("ABCD")
                    why = " ".join(draw.choices(WORDS, k=characters // 5))
                    answer = {"question": f"{subject.stem}/{index}", "text": f"Answer: {letter}. {why}."}
                    lines.write(json.dumps(answer) + "\n")
