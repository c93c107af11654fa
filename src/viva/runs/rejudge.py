"""Judge a finished run again with another panel, rubric or encoder, without asking a model again.

What changes is run.json; the journals keep every verdict, and those of a judge that comes back are used again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import msgspec
from msgspec import Meta, Struct

from viva.benchmarks import open_exam
from viva.benchmarks.rationale import RATIONALE_EXAM
from viva.contracts import Exam
from viva.engine.folder import ExamRecord, ModelRecord, RunRecord
from viva.errors import VivaError
from viva.fields import note
from viva.prompting import merged
from viva.runs.config import JudgeKey, JudgeUrl, Panel
from viva.runs.exams import read_rubric, refuse_unused, reopen
from viva.types import VerdictFormat

BUNDLED = "bundled"
"""In place of a rubric file: the benchmark's own rubric."""


class RejudgeOptions(Struct, kw_only=True):
    """What of a run's judging changes. None and () leave it as it is."""

    judge: Annotated[
        tuple[str, ...],
        note("Judge by this model in place of the run's judges. Repeat for a panel.", metavar="MODEL[@URL]"),
    ] = ()
    panel: Annotated[Panel | None, note("How several verdicts on one answer are combined.  [default: the run's]")] = (
        None
    )
    rubric: Annotated[
        Path | None,
        note("TOML file that replaces the judge's rubric.  [default: the run's]", metavar=f"FILE|{BUNDLED}"),
    ] = None
    judge_samples: Annotated[Annotated[int, Meta(ge=1)] | None, note("Verdicts per answer.  [default: the run's]")] = (
        None
    )
    judge_base_url: JudgeUrl = None
    judge_key_env: JudgeKey = None
    verdicts: Annotated[
        VerdictFormat | None,
        note(
            "How judges write verdicts (see `viva run --help-all`).  [default: the run's; nonce with --judge or "
            "--rubric]",
        ),
    ] = None
    encoder: Annotated[
        str | None,
        note("Compare with this encoder from now on.  [default: the run's]", metavar="NAME|FOLDER|none"),
    ] = None

    def __bool__(self) -> bool:
        return any(value not in (None, ()) for value in msgspec.structs.astuple(self))


def rejudge(record: RunRecord, rejudging: RejudgeOptions, judges: list[ModelRecord]) -> tuple[RunRecord, list[Exam]]:
    """The run's record with what `rejudging` says and with these judges, and its exams. Nothing is written.

    Raises VivaError for options that this run has no use for, and for a rubric that does not fit its benchmarks.
    """
    if not judges and (rejudging.panel or rejudging.judge_samples):
        raise VivaError("this run has no judge: --panel and --judge-samples need --judge MODEL")
    if rejudging.rubric is not None and str(rejudging.rubric) != BUNDLED:
        refuse_unused(read_rubric(rejudging.rubric), [old.spec for old in record.exams])
    exams: list[Exam] = []
    records: list[ExamRecord] = []
    for old in record.exams:
        exam = reopen(_with(old, rejudging))
        exams.append(exam)
        records.append(msgspec.structs.replace(old, spec=exam.spec, templates=dict(exam.templates)))
    if rejudging.encoder not in (None, "none") and not any(exam.spec.encoder for exam in exams):
        raise VivaError(f"--encoder {rejudging.encoder!r} compares rationales, and this run asked for none")
    new = msgspec.structs.replace(
        record,
        exams=records,
        judges=judges,
        judge_samples=rejudging.judge_samples or record.judge_samples,
        verdicts=rejudging.verdicts or _verdicts(record, rejudging),
        encoder=None if rejudging.encoder is not None else record.encoder,
    )
    return new, exams


def _verdicts(record: RunRecord, rejudging: RejudgeOptions) -> VerdictFormat:
    """Judges that are asked again carry a nonce, also where those of a run of an earlier Viva did not."""
    asked = rejudging.judge or rejudging.rubric is not None
    return "nonce" if asked and record.verdicts == "line" else record.verdicts


def _with(old: ExamRecord, rejudging: RejudgeOptions) -> ExamRecord:
    spec, templates = old.spec, old.templates
    if rejudging.panel:
        spec = msgspec.structs.replace(spec, panel=rejudging.panel)
    if rejudging.encoder is not None:
        spec = msgspec.structs.replace(spec, encoder="" if rejudging.encoder == "none" else rejudging.encoder)
    if rejudging.rubric is not None:
        templates = _with_rubric(old, rejudging.rubric)
    return msgspec.structs.replace(old, spec=spec, templates=templates)


def _with_rubric(old: ExamRecord, file: Path) -> dict[str, object]:
    """The run's templates with the judge's from `file`. What the file leaves out is bundled, not the last file's."""
    bundled = dict(open_exam(old.spec, Path(old.data) if old.data else None).templates)
    templates: dict[str, object] = dict(old.templates)
    over = {} if str(file) == BUNDLED else read_rubric(file)
    if "judge" in bundled and ("judge" in over or not over):
        templates["judge"] = bundled["judge"]
    if RATIONALE_EXAM in bundled and (RATIONALE_EXAM in over or not over):
        protocol = cast("dict[str, object]", bundled[RATIONALE_EXAM])
        said = cast("dict[str, object]", templates[RATIONALE_EXAM])
        templates[RATIONALE_EXAM] = {**said, "rubric": protocol["rubric"]}
    return merged(templates, over) or {}
