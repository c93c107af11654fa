"""Results and samples as lm-evaluation-harness 0.4 writes them: a folder a model, one results_*.json with its exams as
tasks, and samples_TASK_*.jsonl a task with a line a question.

The metric is called `score`, from 0 to 1. A question's several answers stand in `resps` (those that came: an outage is
no empty answer); their scores, what was read in them and why they count as they do, in `viva`. A question whose answers
are all unscored has no `score` and an empty `metrics`. The mean is Viva's, of answers as the benchmark
averages them.
"""

from __future__ import annotations

import datetime
import itertools
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from viva.engine.answerrecord import Answer
from viva.interop.writing.runrecords import EvaluationResult, Totals, created, judged
from viva.interop.writing.safetext import encoded, file_part, pretty, sha256
from viva.prompting import prompt_text

METRIC = "score"
FILTER = "none"


def write_lm_eval(evaluations: Sequence[EvaluationResult], folder: Path) -> list[Path]:
    """Write a folder for each model of a run, whatever the order of `evaluations`; return the results files."""
    files: list[Path] = []
    for _, group in itertools.groupby(
        sorted(evaluations, key=lambda evaluation: evaluation.model), key=lambda evaluation: evaluation.model
    ):
        files.append(_model(list(group), folder))
    return files


def _model(evaluations: Sequence[EvaluationResult], folder: Path) -> Path:
    first = evaluations[0]
    place = folder / file_part(first.model, between="__")
    place.mkdir(exist_ok=True)
    date = _date(first)
    written = {
        _task(evaluation): _write_task(evaluation, place / f"samples_{_task(evaluation)}_{date}.jsonl")
        for evaluation in evaluations
    }
    path = place / f"results_{date}.json"
    path.write_bytes(pretty(_content(first, written)))
    return path


def _date(result: EvaluationResult) -> str:
    """Return the run's start as lm-eval writes it, with microseconds from its digest to separate runs of one second."""
    when = created(result.record).replace(tzinfo=None)
    run = int(result.run_digest[:12], 16) % 1_000_000
    return (when + datetime.timedelta(microseconds=run or 1)).isoformat().replace(":", "-")


def _task(result: EvaluationResult) -> str:
    """Return the exam's task name, safe in a file name, where lm-eval reads it up to the last underscore."""
    return file_part(result.label)


_OF_TASKS = ("results", "group_subtasks", "configs", "versions", "n-shot", "higher_is_better", "n-samples")
"""The first keys of results_*.json, each with one entry for each task."""


def _write_task(result: EvaluationResult, path: Path) -> tuple[dict[str, Any], Totals]:
    """Write the samples of an exam; return its entries in results_*.json, and its totals."""
    totals, hashes = Totals(), []
    with path.open("wb") as out:
        for number, answers in enumerate(_questions(result, totals)):
            line = _line(result, number, answers)
            hashes.append(line["doc_hash"] + line["prompt_hash"] + line["target_hash"])
            out.write(encoded(line) + b"\n")
    task, spec, questions = _task(result), result.exam.spec, len(hashes)
    figures: dict[str, Any] = {"name": task, "alias": result.label, "sample_len": questions}
    if result.overall.mean is not None:
        figures[f"{METRIC},{FILTER}"] = result.overall.mean
        figures[f"{METRIC}_stderr,{FILTER}"] = "N/A" if result.stderr is None else result.stderr
    return {
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
        "viva": result.details(),
        "task_hashes": sha256("".join(hashes)),
    }, totals


def _content(result: EvaluationResult, written: Mapping[str, tuple[dict[str, Any], Totals]]) -> dict[str, Any]:
    """Return the content of a model's results_*.json; `result` is that of any of its exams."""
    totals = [of_task for _, of_task in written.values()]
    begun = min((total.first for total in totals if total.first), default=0.0)
    ended = max(total.last for total in totals)
    tasks = {
        key: {task: content[key] for task, (content, _) in written.items()}
        for key in (*_OF_TASKS, "viva", "task_hashes")
    }
    drawn = result.sampling
    sampling = {"temperature": drawn.temperature, "top_p": drawn.top_p, "max_gen_toks": drawn.max_tokens}
    provider, _, name = result.model.partition("/")
    return {
        **{key: tasks[key] for key in _OF_TASKS},
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
        "viva": tasks["viva"],
        "task_hashes": tasks["task_hashes"],
        "model_source": provider,
        "model_name": result.model,
        "model_name_sanitized": file_part(result.model, between="__"),
        "system_instruction": None,
        "system_instruction_sha": None,
        "fewshot_as_multiturn": result.exam.spec.form == "chat",
        "chat_template": None,
        "chat_template_sha": None,
        "start_time": begun,
        "end_time": ended,
        "total_evaluation_time_seconds": str(max(0.0, ended - begun)),
    }


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
    drawn = result.sampling
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
        **({METRIC: statistics.fmean(points)} if points else {}),
        "viva": [_one(answer) for answer in answers],
    }


def _one(answer: Answer) -> dict[str, Any]:
    row = answer.row
    return {
        "sample": row.sample,
        "outcome": row.outcome,
        "value": row.value,
        "answer": row.answer,
        "explanation": row.explanation,
        "parts": row.parts or None,
        "judged": judged(row) or None,
        "error": answer.failure or None,
        "stop_reason": None if answer.failure else answer.response.stop_reason,
    }
