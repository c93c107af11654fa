"""Results and samples as lm-evaluation-harness 0.4 writes them: a folder a model, one results_*.json with its exams as
tasks, and samples_TASK_*.jsonl a task with a line a question.

The metric is called `score`, from 0 to 1. A question's several answers stand in `resps` (those that came: an outage is
no empty answer); their scores, what was read in them and why they count as they do, in `viva`. A question whose answers
are all unscored has no `score` and an empty `metrics`: it is no zero. The mean is Viva's, of answers as the benchmark
averages them.
"""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from viva.engine.answerrecord import Answer
from viva.interop.writing.runrecords import EvaluationResult, Totals, created, judged
from viva.interop.writing.safetext import encoded, file_part, pretty, sha256
from viva.prompting import prompt_text

METRIC = "score"
FILTER = "none"


def write_lm_eval(evaluations: Sequence[EvaluationResult], folder: Path) -> list[Path]:
    """Write what one run's models got: `sat` in any order. Returns the results files."""
    files: list[Path] = []
    for _, group in itertools.groupby(sorted(evaluations, key=lambda one: one.model), key=lambda one: one.model):
        files.append(_model(list(group), folder))
    return files


def _model(evaluations: Sequence[EvaluationResult], folder: Path) -> Path:
    first = evaluations[0]
    place = folder / file_part(first.model, between="__")
    place.mkdir(exist_ok=True)
    date, whole = _date(first), _Results()
    for one in evaluations:
        with (place / f"samples_{_task(one)}_{date}.jsonl").open("wb") as out:
            _write_task(one, whole, out.write)
    path = place / f"results_{date}.json"
    path.write_bytes(pretty(whole.content(first)))
    return path


def _date(result: EvaluationResult) -> str:
    """Return a moment as lm-eval writes it, with microseconds that tell runs of one second apart."""
    when = created(result.record).replace(tzinfo=None)
    run = int(sha256(f"{result.run}\0{result.record.created}\0{result.record.command}")[:12], 16) % 1_000_000
    return (when + datetime.timedelta(microseconds=run or 1)).isoformat().replace(":", "-")


def _task(result: EvaluationResult) -> str:
    """Return the exam as a task's name, which is part of a file name, too: lm-eval reads it up to the last
    underscore.
    """
    return file_part(result.label)


class _Results:
    """What results_*.json says, exam by exam."""

    def __init__(self) -> None:
        self.tasks: dict[str, dict[str, Any]] = {
            key: {}
            for key in ("results", "group_subtasks", "configs", "versions", "n-shot", "higher_is_better", "n-samples")
        }
        self.hashes: dict[str, str] = {}
        self.viva: dict[str, Any] = {}
        self.totals = Totals()

    def add(self, result: EvaluationResult, totals: Totals, questions: int, digest: str) -> None:
        """One exam's."""
        task, spec = _task(result), result.exam.spec
        figures: dict[str, Any] = {"name": task, "alias": result.label, "sample_len": questions}
        if result.overall.mean is not None:
            figures[f"{METRIC},{FILTER}"] = result.overall.mean
            figures[f"{METRIC}_stderr,{FILTER}"] = "N/A" if result.stderr is None else result.stderr
        entries: dict[str, Any] = {
            "results": figures,
            "group_subtasks": [],
            "configs": {
                "task": task,
                "dataset_path": result.about.source if result.exam.data else "viva (bundled sample)",
                "description": f"{result.about.title}, {result.about.paper}",
                "output_type": "multiple_choice" if spec.choose else "generate_until",
                "num_fewshot": spec.shots,
                "repeats": result.draws,
                "metric_list": [{"metric": METRIC, "aggregation": result.metric, "higher_is_better": True}],
                "metadata": {"version": result.exam.version, "settings": result.settings},
            },
            "versions": result.exam.version,
            "n-shot": spec.shots,
            "higher_is_better": {METRIC: True},
            "n-samples": {"original": result.exam.questions, "effective": questions},
        }
        for key, value in entries.items():
            self.tasks[key][task] = value
        self.hashes[task] = digest
        self.viva[task] = result.details()
        for name, one, other in (("first", min, totals.first), ("last", max, totals.last)):
            known = getattr(self.totals, name)
            setattr(self.totals, name, one(known, other) if known and other else known or other)

    def content(self, result: EvaluationResult) -> dict[str, Any]:
        """Return the whole, of this model."""
        drawn = result.exam.sampling or result.record.sampling
        sampling = {"temperature": drawn.temperature, "top_p": drawn.top_p, "max_gen_toks": drawn.max_tokens}
        provider, _, name = result.model.partition("/")
        return {
            **self.tasks,
            "config": {
                "model": provider,
                "model_args": {"model": name or provider},
                "batch_size": None,
                "batch_sizes": [],
                "device": None,
                "use_cache": None,
                "limit": result.exam.spec.limit,
                "bootstrap_iters": 0,
                "gen_kwargs": {key: value for key, value in sampling.items() if value is not None},
                "random_seed": result.record.seed,
                "numpy_seed": result.record.seed,
                "torch_seed": result.record.seed,
                "fewshot_seed": result.exam.spec.seed,
            },
            "git_hash": None,
            "date": created(result.record).timestamp(),
            "viva_version": result.record.viva,
            "viva": self.viva,
            "task_hashes": self.hashes,
            "model_source": provider,
            "model_name": result.model,
            "model_name_sanitized": file_part(result.model, between="__"),
            "system_instruction": None,
            "system_instruction_sha": None,
            "fewshot_as_multiturn": result.exam.spec.form == "chat",
            "chat_template": None,
            "chat_template_sha": None,
            "start_time": self.totals.first,
            "end_time": self.totals.last,
            "total_evaluation_time_seconds": str(max(0.0, self.totals.last - self.totals.first)),
        }


def _write_task(result: EvaluationResult, whole: _Results, write: Any) -> None:
    totals, hashes, questions = Totals(), [], 0
    for number, group in enumerate(_questions(result, totals)):
        line = _line(result, number, group)
        questions += 1
        hashes.append(line["doc_hash"] + line["prompt_hash"] + line["target_hash"])
        write(encoded(line) + b"\n")
    whole.add(result, totals, questions, sha256("".join(hashes)))


def _questions(result: EvaluationResult, totals: Totals) -> Iterator[list[Answer]]:
    for _, group in itertools.groupby(result.answers(), key=lambda answer: answer.row.question):
        answers = list(group)
        for answer in answers:
            totals.count(answer)
        yield answers


def _line(result: EvaluationResult, number: int, answers: Sequence[Answer]) -> dict[str, Any]:
    first = answers[0]
    question, target = first.question, "\n".join(first.target[:1])
    doc = {
        "id": first.row.question,
        "question": question.text if question else "",
        "choices": list(question.options) if question else [],
        "answer": target,
        **{f"tag_{name}": value for name, value in first.row.tags.items()},
    }
    prompt = prompt_text(first.prompt)
    points = [answer.row.points for answer in answers if answer.row.points is not None]
    drawn = result.exam.sampling or result.record.sampling
    until = {"until": list(drawn.stop), "max_gen_toks": drawn.max_tokens, "temperature": drawn.temperature}
    came = [answer for answer in answers if answer.response.error is None]
    return {
        "doc_id": number,
        "doc": doc,
        "target": target,
        "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": until}},
        "resps": [[answer.reply for answer in came]],
        "filtered_resps": [answer.row.answer for answer in came],
        "filter": FILTER,
        "metrics": [METRIC] if points else [],
        "doc_hash": sha256(encoded(doc)),
        "prompt_hash": sha256(prompt),
        "target_hash": sha256(target),
        **({METRIC: sum(points) / len(points)} if points else {}),
        "viva": [_one(answer) for answer in answers],
    }


def _one(answer: Answer) -> dict[str, Any]:
    row = answer.row
    error = answer.response.error
    return {
        "sample": row.sample,
        "outcome": row.outcome,
        "value": row.value,
        "answer": row.answer,
        "explanation": row.explanation,
        "parts": row.parts or None,
        "judged": judged(row) or None,
        "error": f"{error.kind}: {error.message}" if error else None,
        "stop_reason": None if error else answer.response.stop_reason,
    }
