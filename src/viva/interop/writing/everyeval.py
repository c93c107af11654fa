"""Records of the Every Eval Ever schema (0.3.0): data/EXAM/DEVELOPER/MODEL/UUID.json, and UUID_samples.jsonl beside it.

One record a model and exam. The schema wants a number for every sample, so an answer without a score has no line (it is
counted in the record), and a result without a mean has no record. https://github.com/evaleval/every_eval_ever
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from viva.engine.answerrecord import Answer
from viva.engine.folder import ModelRecord
from viva.interop.writing.runrecords import EvaluationResult, Totals, created, moment
from viva.interop.writing.safetext import encoded, file_part, pretty, sha256
from viva.prompting import prompt_text
from viva.providers import PROVIDERS, traits_of

SCHEMA = "0.3.0"
_CLOSED = {"openai", "anthropic"}
_PANEL = {"mean": "average", "median": "median", "majority": "majority_vote"}
_LONGEST_TEMPLATE = 20_000


def write_every_eval_ever(result: EvaluationResult, folder: Path) -> Path | None:
    """Write the record of one model on one exam and return its path; None where there is no mean."""
    if result.overall.mean is None:
        return None
    opened = result.record.model(result.model)
    model = model_info(result.model, opened)
    developer, _, name = str(model["id"]).partition("/")
    place = Path("data", file_part(result.label), file_part(developer), file_part(name.replace("/", "_")))
    (folder / place).mkdir(parents=True, exist_ok=True)
    identity = str(uuid.UUID(bytes=bytes.fromhex(result.digest("record")[:32]), version=4))
    timestamp = created(result.record).timestamp()
    key = {"evaluation_id": f"{file_part(result.label)}/{model['id']}/{timestamp}", "model_id": str(model["id"])}
    totals, rows, hashed = Totals(), 0, hashlib.sha256()
    samples = place / f"{identity}_samples.jsonl"
    with (folder / samples).open("wb") as out:
        for answer in result.answers():
            totals.count(answer)
            if answer.row.points is None:
                continue
            line = encoded({"schema_version": SCHEMA, **key, **_instance(result, answer, answer.row.points)}) + b"\n"
            hashed.update(line)
            out.write(line)
            rows += 1
    content = {
        "schema_version": SCHEMA,
        "evaluation_id": key["evaluation_id"],
        "evaluation_timestamp": moment(totals.first) or created(result.record).isoformat(),
        "retrieved_timestamp": str(timestamp),
        "source_metadata": {
            "source_name": f"Viva run {result.run}",
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {
            "name": "viva",
            "version": result.record.viva,
            "additional_details": {"signature": result.signature},
        },
        "model_info": model,
        "evaluation_results": [_result(result, totals)],
    }
    if rows:
        content["detailed_evaluation_results"] = {
            "format": "jsonl",
            "file_path": samples.as_posix(),
            "hash_algorithm": "sha256",
            "checksum": hashed.hexdigest(),
            "total_rows": rows,
            "additional_details": {"answers_without_a_score": str(totals.unscored)},
        }
    else:
        (folder / samples).unlink()
    path = folder / place / f"{identity}.json"
    path.write_bytes(pretty(content))
    return path


def model_info(name: str, opened: ModelRecord | None) -> dict[str, Any]:
    """Return a model as the schema has it: DEVELOPER/MODEL, who served it, and whether its weights can be had."""
    provider, _, rest = name.partition("/")
    rest = rest or provider
    provider = provider.removesuffix("-responses")
    address = (opened.base_url or "") if opened else ""
    kind = traits_of(provider)
    vendor = provider in PROVIDERS and kind.paid and (not address or (kind.priced_at and kind.priced_at in address))
    hub = provider == "hf" and rest.count("/") == 1 and not rest.startswith((".", "/", "~"))
    info: dict[str, Any] = {"name": name}
    if vendor:
        info |= {"id": f"{provider}/{rest}", "developer": provider, "inference_platform": provider}
    elif "/" in rest and not rest.startswith(("/", ".")):
        info |= {"id": rest, "developer": rest.partition("/")[0]}
    elif provider == "baseline":
        info |= {"id": f"viva/baseline-{rest}", "developer": "viva"}
    else:
        info |= {"id": f"local/{file_part(rest)}", "developer": "local"}
    if provider == "hf":
        info["inference_engine"] = {"name": "transformers", "version": "unknown"}
    info["additional_details"] = {
        "deployment_type": "externally_managed" if vendor else "self_deployed" if provider == "hf" else "unknown",
        "model_availability": "closed_weights"
        if vendor and provider in _CLOSED
        else "open_weights"
        if hub
        else "unknown",
    }
    if opened and opened.weights:
        info["additional_details"] |= {"weights": opened.weights.fingerprint, "dtype": opened.weights.dtype}
    return info


def _result(result: EvaluationResult, totals: Totals) -> dict[str, Any]:
    cell, spec = result.overall, result.exam.spec
    drawn = result.sampling
    uncertainty: dict[str, Any] = {"num_samples": result.scored}
    if result.stderr is not None:
        uncertainty |= {
            "standard_error": {"value": result.stderr, "method": "half of the 95 % interval over 1.96"},
            "confidence_interval": {
                "lower": cell.low,
                "upper": cell.high,
                "confidence_level": 0.95,
                "method": "Wilson, or t over questions",
            },
        }
    metric: dict[str, Any] = {
        "evaluation_description": f"{result.about.title} ({result.about.paper}); graded by Viva",
        "metric_name": f"score ({result.metric} of a question's answers)" if result.draws > 1 else "score",
        "metric_kind": "score",
        "metric_unit": "proportion",
        "lower_is_better": False,
        "score_type": "continuous",
        "min_score": 0.0 if (cell.mean or 0.0) >= 0 else "-Infinity",
        "max_score": 1.0,
    }
    if result.settings["judge"] != "none":
        metric["llm_scoring"] = {
            "judges": [{"model_info": model_info(judge.called, judge)} for judge in result.record.judges],
            "input_prompt": _judge_template(result),
            "aggregation_method": _PANEL[spec.panel],
        }
    details = {name: text for name, text in _strings(result.details()) if name != "mean"}
    return {
        "evaluation_result_id": _result_id(result),
        "evaluation_name": result.label,
        "source_data": _source(result),
        "metric_config": metric,
        "score_details": {"score": cell.mean, "details": details, "uncertainty": uncertainty},
        "generation_config": {
            "generation_args": {
                "temperature": drawn.temperature,
                "top_p": drawn.top_p,
                **({"max_tokens": drawn.max_tokens} if drawn.max_tokens else {}),
                "reasoning": spec.chain_of_thought or spec.rationale,
            },
            "additional_details": dict(_strings(result.settings)),
        },
    }


def _result_id(result: EvaluationResult) -> str:
    return f"{file_part(result.label)}/score"


def _strings(values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield names and values as strings, since the schema's free fields hold strings only."""
    for name, value in values.items():
        if value is not None:
            yield name, value if isinstance(value, str) else encoded(value).decode()


def _source(result: EvaluationResult) -> dict[str, Any]:
    details = {"licence": result.about.licence, "fingerprint": result.exam.fingerprint, "source": result.about.source}
    return {"dataset_name": result.dataset, "source_type": "other", "additional_details": details}


def _judge_template(result: EvaluationResult) -> str:
    templates = {name: value for name, value in result.exam.templates.items() if name in ("judge", "rationale")}
    text = encoded(templates or result.exam.templates).decode()
    return text if len(text) <= _LONGEST_TEMPLATE else f"{text[:_LONGEST_TEMPLATE]} … (sha256 {sha256(text)})"


def _instance(result: EvaluationResult, answer: Answer, points: float) -> dict[str, Any]:
    row, question = answer.row, answer.question
    asked, usage = (question.text if question else ""), answer.response.usage
    return {
        "evaluation_name": result.label,
        "evaluation_result_id": _result_id(result),
        "sample_id": row.question,
        "sample_hash": sha256(asked + "".join(answer.target)),
        "interaction_type": "single_turn",
        "input": {
            "raw": asked,
            "formatted": prompt_text(answer.prompt) or None,
            "reference": answer.target,
            "choices": list(question.options) if question and question.options else None,
        },
        "output": {"raw": [answer.reply]},
        "answer_attribution": [
            {
                "turn_idx": 0,
                "source": "output.raw",
                "extracted_value": row.answer,
                "extraction_method": row.explanation or "viva",
                "is_terminal": True,
            }
        ],
        "evaluation": {"score": points, "is_correct": row.outcome == "right"},
        "token_usage": {
            "input_tokens": usage.input,
            "output_tokens": usage.output,
            "total_tokens": usage.input + usage.output,
        }
        if usage
        else None,
        "performance": {"latency_ms": answer.seconds * 1000} if answer.seconds else None,
        "metadata": {
            "outcome": row.outcome,
            "sample": str(row.sample),
            "weight": str(row.weight),
            **{f"tag_{name}": value for name, value in row.tags.items()},
            **{f"decided_{aspect}": who for aspect, who in row.decided.items()},
            **{f"verdicts_{aspect}": encoded(given).decode() for aspect, given in row.verdicts.items() if given},
        },
    }
