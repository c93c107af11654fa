"""Inspect logs: a .eval archive or a .json file for one model on one exam, as inspect_ai.log reads them (version 2).

An archive holds header.json (all but the samples), summaries.json, _journal/start.json and a file a sample and epoch; a
.json file holds the same in one object. A score that is missing is NaN there, with a reason; metrics and reducers of
Inspect skip it. A reply that cannot be read counts 0, with a reason, as in Viva's means.

Formats as of inspect_ai 0.3.285: https://inspect.aisi.org.uk/eval-logs.html
"""

from __future__ import annotations

import shutil
import string
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from viva.engine.answerrecord import Answer
from viva.interop.writing.runrecords import EvaluationResult, Totals, created, judged, moment
from viva.interop.writing.safetext import NAN, encoded, file_part, pretty, sha256
from viva.types import Outcome

SCORER = "viva"
_LETTERS = string.digits + string.ascii_uppercase + string.ascii_lowercase
_LONGEST = 1024
"""Characters of a text in a summary; readers cut them anyway."""
_REASONS: dict[Outcome, str] = {
    "unparsed": "invalid_response_format",
    "truncated": "invalid_response_format",
    "empty": "no_response",
    "refused": "refusal",
    "error": "scoring_failed",
    "not asked": "no_response",
    "ungraded": "grader_failed",
    "unsound": "scoring_failed",
}
_STOPS = {
    "stop": "stop",
    "length": "max_tokens",
    "thinking": "max_tokens",
    "filter": "content_filter",
    "other": "unknown",
}
_IDS = 100_000
"""Most sample ids that the header lists."""


def log_name(result: EvaluationResult) -> str:
    """Return the log's file name as Inspect forms it: time, task, id."""
    when = created(result.record).isoformat(timespec="seconds").replace(":", "-").replace("+", "-")
    return f"{when}_{file_part(result.label).replace('_', '-')}_{_id(result, 'task')}.eval"


def write_eval(result: EvaluationResult, path: Path) -> Totals:
    """Write a .eval archive; one answer at a time is in memory, and a summary of each on the disk."""
    totals = Totals()
    ids: list[str] = []
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive,
        tempfile.TemporaryFile() as summaries,
    ):
        for sample in _samples(result, totals, ids):
            _member(archive, f"samples/{sample['id']}_epoch_{sample['epoch']}.json", encoded(sample))
            summaries.write((b"," if totals.answers > 1 else b"[") + encoded(_summary(sample)))
        summaries.write(b"]" if totals.answers else b"[]")
        summaries.seek(0)
        with archive.open(_named("summaries.json"), "w", force_zip64=True) as member:
            shutil.copyfileobj(summaries, member)
        head = _head(result, totals, ids)
        _member(archive, "_journal/start.json", encoded({key: head[key] for key in ("version", "eval", "plan")}))
        _member(archive, "header.json", encoded(head))
    return totals


def write_json(result: EvaluationResult, path: Path) -> Totals:
    """Write the log as one JSON file: larger and slower to open, but readable with any tool."""
    totals = Totals()
    ids: list[str] = []
    with tempfile.TemporaryFile() as samples, path.open("wb") as out:
        for sample in _samples(result, totals, ids):
            samples.write((b",\n    " if totals.answers > 1 else b"\n    ") + encoded(sample))
        samples.seek(0)
        head = pretty(_head(result, totals, ids)).rstrip()
        out.write(head.removesuffix(b"}").rstrip() + b',\n  "samples": [')
        shutil.copyfileobj(samples, out)
        out.write(b"\n  ]\n}\n")
    return totals


def _samples(result: EvaluationResult, totals: Totals, ids: list[str]) -> Iterator[dict[str, Any]]:
    """Yield one sample for each answer; count it in `totals`, and add to `ids` those that the header lists."""
    for answer in result.answers():
        totals.count(answer)
        sample = _sample(result, answer)
        if not answer.row.sample and len(ids) <= _IDS:
            ids.append(sample["id"])
        yield sample


def _named(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))  # the same bytes for the same run
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    return info


def _member(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    archive.writestr(_named(name), content)


def _id(result: EvaluationResult, what: str) -> str:
    """Return an identifier that is always the same for the same run, exam and model."""
    return _short(result.digest(what))


def _short(digest: str) -> str:
    """Encode a digest as 22 letters and digits, like Inspect's own identifiers."""
    number, letters = int(digest, 16), ""
    while len(letters) < 22:
        number, rest = divmod(number, len(_LETTERS))
        letters += _LETTERS[rest]
    return letters


def _head(result: EvaluationResult, totals: Totals, ids: list[str]) -> dict[str, Any]:
    """Return all of a log but its samples."""
    began = moment(totals.first) or created(result.record).isoformat()
    counted = not totals.uncounted and (totals.input or totals.output)  # a partial sum would pass for the whole
    usage = {result.model: _usage(totals.input, totals.output, totals.reasoning)} if counted else {}
    return {
        "version": 2,
        "status": "success",
        "eval": _spec(result, ids if len(ids) <= _IDS else None),
        "plan": {
            "name": "plan",
            "steps": [{"solver": "viva", "params": result.settings, "params_passed": {}}],
            "config": _sampling(result),
        },
        "results": _results(result, totals),
        "stats": {
            "started_at": began,
            "completed_at": moment(totals.last) or began,
            "model_usage": usage,
            "role_usage": {},
        },
        "invalidated": False,
        "tags": [],
        "metadata": _about(result),
    }


def _about(result: EvaluationResult) -> dict[str, Any]:
    return {
        "viva": result.record.viva,
        "run": result.run,
        "signature": result.signature,
        "benchmark": result.about.title,
        "paper": result.about.paper,
        "licence_of_the_questions": result.about.licence,
        "missing_scores": "NaN: no reply, not graded, or no usable gold answer; left out of every mean",
        **({"notes": list(result.warnings)} if result.warnings else {}),
    }


def _spec(result: EvaluationResult, ids: list[str] | None) -> dict[str, Any]:
    limit = result.exam.spec.limit
    judges = [{"model": judge.called, "config": {}, "args": {}} for judge in result.record.judges]
    return {
        "eval_id": _id(result, "eval"),
        "run_id": _short(result.run_digest),
        "created": created(result.record).isoformat(),
        "task": result.label,
        "task_id": _id(result, "task"),
        "task_version": result.exam.version,
        "task_display_name": f"{result.about.title} ({result.label})",
        "task_attribs": {},
        "task_args": result.settings,
        "task_args_passed": {},
        "dataset": {
            "name": result.dataset,
            "samples": result.exam.questions,
            "sample_ids": ids,
            "shuffled": False,
        },
        "model": result.model,
        "model_generate_config": _sampling(result),
        "model_args": {},
        "model_roles": {"grader": judges} if result.settings["judge"] != "none" else None,
        "config": {
            "limit": limit,
            "epochs": result.draws,
            "epochs_reducer": ["mean"],
            "fail_on_error": False,
        },
        "packages": {"viva": result.record.viva},
        "metadata": _about(result),
        "scorers": [{"name": SCORER, "options": {}, "metadata": {}}],
        "headline_metric": _headline(result),
    }


def _headline(result: EvaluationResult) -> dict[str, str]:
    return {"scorer": SCORER, "score": SCORER, "metric": result.metric}


def _sampling(result: EvaluationResult) -> dict[str, Any]:
    drawn = result.sampling
    parameters = {
        "temperature": drawn.temperature,
        "top_p": drawn.top_p,
        "max_tokens": drawn.max_tokens,
        "seed": drawn.seed,
        "stop_seqs": list(drawn.stop) or None,
    }
    return {name: value for name, value in parameters.items() if value is not None}


def _results(result: EvaluationResult, totals: Totals) -> dict[str, Any]:
    cell = result.overall
    figures = {
        result.metric: cell.mean,
        "stderr": result.stderr,
        "ci95_low": cell.low,
        "ci95_high": cell.high,
        "floor": cell.floor,
        "ceiling": cell.ceiling,
    }
    metrics = {
        name: {"name": name, "value": value, "params": {}} for name, value in figures.items() if value is not None
    }
    score = {
        "name": SCORER,
        "scorer": SCORER,
        "scored_samples": totals.answers - totals.unscored,
        "unscored_samples": totals.unscored,
        "params": {},
        "metrics": metrics,
        "metadata": result.details(),
    }
    return {
        "total_samples": totals.answers,
        "completed_samples": totals.answers - totals.errors,
        "scores": [score],
        "headline": None if cell.mean is None else _headline(result),
    }


def _usage(read: int, written: int, thought: int) -> dict[str, int]:
    counted = {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}
    return {**counted, "reasoning_tokens": thought} if thought else counted


def _sample(result: EvaluationResult, answer: Answer) -> dict[str, Any]:
    row, question, response = answer.row, answer.question, answer.response
    target = answer.target
    asked, given = list(_asked(answer)), _reply(result, answer)
    metadata: dict[str, Any] = {"question": row.question, "tags": row.tags}
    if row.weight != 1:
        metadata["weight"] = row.weight
    if question:
        metadata |= {"kind": question.kind, "language": question.language}
    return {
        "id": sample_id(row.question),
        "epoch": row.sample + 1,
        "input": answer.prompt if isinstance(answer.prompt, str) else asked,
        "choices": list(question.options) if question and question.options else None,
        "target": target[0] if len(target) == 1 else target or "",
        "messages": [*asked, *(choice["message"] for choice in given["choices"])],
        "output": given,
        "scores": {SCORER: _score(answer)},
        "metadata": metadata,
        "store": {},
        "events": [],
        "model_usage": {result.model: given["usage"]} if "usage" in given else {},
        "uuid": sha256(result.digest("sample", row.question, str(row.sample)))[:22],
        **_times(answer),
        "error": {"message": answer.failure, "traceback": "", "traceback_ansi": ""} if response.error else None,
        "attachments": {},
    }


def _times(answer: Answer) -> dict[str, Any]:
    if not moment(answer.at):
        return {}
    return {
        "started_at": moment(answer.at - answer.seconds),
        "completed_at": moment(answer.at),
        "total_time": answer.seconds,
        "working_time": answer.seconds,
    }


def _asked(answer: Answer) -> Iterator[dict[str, Any]]:
    prompt = answer.prompt
    if isinstance(prompt, str):
        yield {"role": "user", "content": prompt, "source": "input"}
        return
    for message in prompt:
        source = {"source": "generate"} if message.role == "assistant" else {"source": "input"}
        yield {"role": message.role, "content": message.content, **source}


def _reply(result: EvaluationResult, answer: Answer) -> dict[str, Any]:
    response, text = answer.response, answer.reply
    if response.error:
        return {"model": result.model, "choices": [], "completion": "", "error": answer.failure}
    # Inspect's own text of a message, which scorers read, leaves out the parts marked as reasoning.
    content: object = text
    if response.reasoning:
        content = [{"type": "reasoning", "reasoning": response.reasoning}, {"type": "text", "text": text}]
    message = {"role": "assistant", "content": content, "source": "generate", "model": result.model}
    reply: dict[str, Any] = {
        "model": result.model,
        "choices": [{"message": message, "stop_reason": _STOPS[response.stop_reason]}],
        "completion": text,
        "time": answer.seconds,
    }
    if response.usage:
        reply["usage"] = _usage(response.usage.input, response.usage.output, response.usage.reasoning)
    return reply


def _score(answer: Answer) -> dict[str, Any]:
    row, points = answer.row, answer.row.points
    metadata: dict[str, Any] = {"outcome": row.outcome, **judged(row)}
    if row.parts:
        metadata["parts"] = row.parts
    if answer.said:
        metadata["said"] = [{"who": who, "said": text} for who, text in answer.said]
    return {
        "value": NAN if points is None else points,
        "answer": row.answer,
        "explanation": f"{row.outcome}: {row.explanation}".rstrip(": "),
        "reason": _REASONS.get(row.outcome),
        "metadata": metadata,
        "history": [],
    }


def sample_id(question: str) -> str:
    """Return a question's id as a sample's: unchanged where it is safe in the name of an archive's member, else made
    safe with a hash. The sample's metadata has the original id.
    """
    parts = question.replace("\\", "/").split("/")
    if question.isprintable() and "\\" not in question and not {"", ".", ".."} & set(parts) and len(question) <= 200:
        return question
    return file_part(question)


def _summary(sample: dict[str, Any]) -> dict[str, Any]:
    """Return a sample's entry in summaries.json."""
    score = sample["scores"][SCORER]
    asked = sample["input"]
    if not isinstance(asked, str):
        asked = [{**message, "content": message["content"][:_LONGEST]} for message in asked]
    target = sample["target"]
    summary: dict[str, Any] = {
        **{key: sample[key] for key in ("id", "epoch", "choices", "model_usage", "uuid")},
        **{key: sample[key] for key in ("started_at", "completed_at", "total_time", "working_time") if key in sample},
        "input": asked[:_LONGEST] if isinstance(asked, str) else asked,
        "target": target[:_LONGEST] if isinstance(target, str) else [text[:_LONGEST] for text in target],
        "metadata": {key: value for key, value in sample["metadata"].items() if key != "tags"}
        | sample["metadata"]["tags"],
        "scores": {
            SCORER: {
                **score,
                "answer": score["answer"][:_LONGEST],
                "explanation": score["explanation"][:_LONGEST],
                "metadata": {"outcome": score["metadata"]["outcome"]},
            }
        },
        "completed": True,
        "message_count": len(sample["messages"]),
    }
    if sample["error"]:
        summary["error"] = sample["error"]["message"][:_LONGEST]
    return summary
