"""What produced a number, in one line: the signature that stands beside every score."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import cast

import msgspec
from msgspec import UNSET

from viva.designs import Design
from viva.engine.folder import ExamRecord, ModelRecord, RunRecord
from viva.requesting import RequestOptions, Weights


def signature(record: RunRecord, exam: ExamRecord, model: str, opened: ModelRecord | None = None) -> str:
    """Return what produced a number, in one line: everything that, changed, could change it (after sacreBLEU)."""
    return "|".join(f"{name}:{value}" for name, value in settings(record, exam, model, opened).items())


def settings(
    record: RunRecord, exam: ExamRecord, model: str, opened: ModelRecord | None = None
) -> dict[str, str | int]:
    """Return the parts of a signature by name."""
    spec = exam.spec
    sampling = exam.sampling or record.sampling
    texts = {name: text for name, text in exam.templates.items() if name != "data"}  # where a table lies is no prompt
    prompts = hashlib.sha256(msgspec.json.encode(texts, order="deterministic")).hexdigest()[:8]
    return {
        "benchmark": f"{spec.benchmark}.{exam.version}" + (f".{spec.name}" if spec.name else ""),
        "lang": spec.language,
        "shots": spec.shots,
        "cot": "yes" if spec.chain_of_thought else "no",
        "form": spec.form,
        **({"choose": spec.choose} if spec.choose else {}),
        "only": spec.only or "all",
        "n": exam.questions,
        "limit": spec.limit if spec.limit is not None else "none",
        **({"questions": _listed(spec.questions)} if spec.questions else {}),
        **({"shard": spec.shard} if spec.shard else {}),
        **({"adaptive": f"{record.adaptive.until}.by {record.adaptive.known}"} if record.adaptive else {}),
        **({"vary": _varied(spec.vary)} if spec.vary is not UNSET else {}),
        **({"draw": spec.draw} if spec.draw is not UNSET else {}),
        "prompt": prompts,
        "extract": "as-published" if spec.as_published else "viva" if spec.extraction == "stated" else spec.extraction,
        "data": exam.fingerprint + (".sample" if exam.data is None else ""),
        "model": model,
        **(_opened(opened) if opened else {}),
        **(_requested(opened.request) if opened and opened.request else {}),
        "judge": "+".join(f"{_judge(judge)}x{record.judge_samples}" for judge in record.judges) or "none",
        "panel": spec.panel if len(record.judges) * record.judge_samples > 1 else "none",
        "rubric": "+".join(_rubrics(exam.templates)) or "none",
        **({"verdict": record.verdicts} if _nonces(record, exam) else {}),
        "rationale": "yes" if spec.rationale else "no",
        "encoder": _encoder(record) if spec.encoder else "none",
        "samples": f"{exam.samples or record.samples}x{record.repeats}",
        "temp": _sent("temperature", sampling.temperature, opened),
        "top_p": _sent("top_p", sampling.top_p, opened),
        "max_tokens": _limit(sampling.max_tokens, opened),
        "context": spec.context or "none",
        "stop": "next question" if spec.form == "base" else "none",
        "seed": f"{record.seed}" + _seed(sampling.seed, opened),
        "viva": record.viva,
    }


def _sent(name: str, value: float | None, opened: ModelRecord | None) -> str:
    """Return a parameter of sampling as it was sent."""
    if value is not None and opened and opened.adapted and name in opened.adapted.parameters:
        return "server (refused)"
    return "server" if value is None else f"{value:g}"


def _seed(seed: int | None, opened: ModelRecord | None) -> str:
    if seed is None:
        return ""
    return ".refused" if opened and opened.adapted and "seed" in opened.adapted.parameters else ".sent"


def _limit(most: int | None, opened: ModelRecord | None) -> int | str:
    """Return the limit of the reply; a model that reasons gets room to think, unless the limit is the user's."""
    kept = opened and opened.request and opened.request.limit_kept
    reasons = opened and opened.adapted and opened.adapted.reasons
    return "room" if most and reasons and not kept else most or "server"


def _requested(said: RequestOptions) -> dict[str, str]:
    """Return what the user said of the requests, as far as a reply may depend on it."""
    more = msgspec.structs.replace(said, effort="", budget=0, limit_kept=False).identity()
    return {
        **({"reasoning": said.effort} if said.effort else {}),
        **({"reasoning_budget": str(said.budget)} if said.budget else {}),
        **({"request": hashlib.sha256(more["request"].encode()).hexdigest()[:8]} if more else {}),
    }


def _nonces(record: RunRecord, exam: ExamRecord) -> bool:
    """Return whether judges carry a nonce in their verdicts; as published there is none."""
    return bool(record.judges) and record.verdicts != "line" and not exam.spec.as_published


def _listed(questions: Sequence[str]) -> str:
    """Return how many questions a list has, and a hash of them whatever their order."""
    digest = hashlib.sha256(msgspec.json.encode(sorted(questions))).hexdigest()[:8]
    return f"{len(questions)}.{digest}"


def _varied(design: Design) -> str:
    """Return what a design varies, and a hash of its cells."""
    return f"{design.summary}.{hashlib.sha256(msgspec.json.encode(design)).hexdigest()[:8]}"


def _opened(model: ModelRecord) -> dict[str, str]:
    """Return how weights on a disk were opened, and by which template a model was asked."""
    weights = model.weights
    if weights is None:
        return {"template": model.template} if model.template else {}
    said = {"template": weights.template or "own", "weights": _short(weights), "dtype": weights.dtype}
    if weights.bits:
        said["bits"] = str(weights.bits)
    if weights.adapter:
        said["adapter"] = PurePath(weights.adapter).name
    return said


def _short(weights: Weights) -> str:
    """Of every part of a fingerprint (weights, and an adapter's) the beginning: a folder's hash, a Hub's revision."""
    return "+".join(part.rpartition("@")[2][:12] for part in weights.fingerprint.split("+"))


def _judge(judge: ModelRecord) -> str:
    if judge.weights is None:
        return judge.name
    return f"{judge.shown or judge.name}.{_short(judge.weights)}.{judge.weights.dtype}"


def _rubrics(templates: Mapping[str, object]) -> Iterator[str]:
    """Name and version of every rubric among an exam's templates."""
    for key, value in templates.items():
        if not isinstance(value, dict):
            continue
        table = cast("dict[str, object]", value)
        if key == "rubric" and isinstance(table.get("name"), str):
            yield f"{table['name']}.{table.get('version', '?')}"
        else:
            yield from _rubrics(table)


def _encoder(record: RunRecord) -> str:
    """Return the encoder with the layer and the weights that it was used with; of a folder its own name, not where it
    lies.
    """
    if record.encoder is None:
        return "missing"
    name, said = record.encoder.name, record.encoder.identity
    _, at, weights = said.get("weights", "").rpartition("@")  # NAME@REVISION from the Hub, a folder's hash
    if weights and not at:
        name = PurePath(name).name or "folder"
    return ".".join(filter(None, (name, said.get("layer", ""), weights[:12])))
