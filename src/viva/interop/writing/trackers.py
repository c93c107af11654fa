"""Results in experiment trackers: one run in MLflow or Weights & Biases for every model on every exam.

Numbers, settings and the signature are written; questions, prompts and replies are not. The place is set as
these packages read it: by MLFLOW_TRACKING_URI and MLFLOW_EXPERIMENT_NAME; by WANDB_PROJECT, WANDB_ENTITY, WANDB_MODE
and `wandb login`.
"""

from __future__ import annotations

import importlib
import math
import os
import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from viva.engine.budget import Consumed
from viva.errors import StorageError, VivaError, option
from viva.interop.writing.runrecords import EvaluationResult, created
from viva.interop.writing.safetext import clean
from viva.visible import one_line

PROJECT = "viva"
"""The experiment or project where the environment names none."""
_LONGEST = 500
"""Characters of a value: the least that MLflow's servers take."""


class TrackedResult(Struct, frozen=True, kw_only=True):
    """One model's result on one exam, as trackers show it."""

    name: str
    group: str
    """The run of Viva."""
    digest: str
    """Identifier, the same for the same run, exam and model."""
    began: float
    """Seconds since 1970."""
    settings: dict[str, str]
    tags: dict[str, str]
    metrics: dict[str, float]
    """Scores are shares of 1."""


def tracked(result: EvaluationResult, consumed: Consumed | None) -> TrackedResult:
    """Return the numbers of a result by the names under which a tracker shows them; unknown ones are left out."""
    cell = result.overall
    numbers: dict[str, float | None] = {
        "score": cell.mean,
        "score_ci95_low": cell.low,
        "score_ci95_high": cell.high,
        "score_floor": cell.floor,
        "score_ceiling": cell.ceiling,
        "answers": cell.n,
        "answers_in_the_mean": result.scored,
        **{f"outcomes/{outcome}": count for outcome, count in cell.outcomes.items()},
    }
    if consumed and consumed.counted == consumed.replies:
        numbers |= {"tokens/input": consumed.input, "tokens/output": consumed.output}
        numbers |= {"cost_usd": consumed.cost if consumed.priced else None}
    if consumed:
        numbers |= {"seconds/median": consumed.latency.get(50)}
    notes = "; ".join(result.warnings)
    return TrackedResult(
        name=_text(f"{result.label} · {result.model}"),
        group=_text(result.run),
        digest=result.digest("tracker"),
        began=created(result.record).timestamp(),
        settings={name: _text(value) for name, value in result.settings.items()},
        tags={
            "viva.run": _text(result.run),
            "viva.exam": _text(result.label),
            "viva.model": _text(result.model),
            "viva.metric": result.metric,
            "viva.signature": one_line(clean(result.signature), 8 * _LONGEST),
            **({"viva.notes": one_line(clean(notes), 8 * _LONGEST)} if notes else {}),
        },
        metrics={name: float(value) for name, value in numbers.items() if value is not None and math.isfinite(value)},
    )


def _text(value: object) -> str:
    return one_line(clean(str(value)), _LONGEST)


def _package(name: str, extra: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as problem:
        missing = f" ({problem.name} is missing)" if problem.name not in (None, name) else ""
        raise VivaError(f"{extra} needs {name}{missing}: pip install 'viva[{extra}]'", field="to") from None


def write_mlflow(results: Sequence[TrackedResult], *, force: bool) -> str:
    """Write runs into an MLflow experiment; return where. A result that is there already is refused, or with `force`
    replaced. A run gets its tag `viva.digest` last, so that one that broke off does not count as there.

    Raises VivaError without MLflow and for a result that is there, StorageError for what MLflow refuses.
    """
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # results go to the store alone
    mlflow = _package("mlflow", "mlflow")
    entities = _package("mlflow.entities", "mlflow")
    experiment = os.environ.get("MLFLOW_EXPERIMENT_NAME") or PROJECT
    store = _without_password(mlflow.get_tracking_uri())[:120]
    where = f"experiment {one_line(experiment, 60)!r} of {store}"
    try:
        client = mlflow.MlflowClient()
        known = client.get_experiment_by_name(experiment)
        number = known.experiment_id if known else client.create_experiment(experiment)
        old = [run for result in results for run in _written(client, number, result)]
        if old and not force:
            names = one_line(str(old[0].info.run_name), 120)
            raise VivaError(
                f"{where} holds {len(old)} of these results already ({names}): replace them with {option('force')}"
            )
        for result in results:
            start = int(result.began * 1000)
            run = client.create_run(number, start_time=start, tags=result.tags, run_name=result.name).info.run_id
            client.log_batch(
                run,
                metrics=[entities.Metric(name, value, start, 0) for name, value in result.metrics.items()],
                params=[entities.Param(name, value) for name, value in result.settings.items()],
            )
            client.set_tag(run, "viva.digest", result.digest)
            client.set_terminated(run, "FINISHED")
        for run in old:
            client.delete_run(run.info.run_id)
    except (mlflow.exceptions.MlflowException, ImportError, OSError) as problem:
        raise StorageError(f"MLflow at {store}: {_without_password(str(problem))}") from None
    return where


def _without_password(text: str) -> str:
    return re.sub(r"//[^/@\s]*@", "//***@", one_line(text, 300))


def _written(client: Any, experiment: str, result: TrackedResult) -> list[Any]:
    return list(client.search_runs([experiment], f"tags.`viva.digest` = '{result.digest}'"))


def write_wandb(results: Sequence[TrackedResult], *, force: bool) -> str:
    """Write runs into a project of Weights & Biases, or for `wandb sync` where WANDB_MODE is offline; return where.

    A result's run has the same id each time, so that it is written over with `force`, and refused by the server
    without. Raises VivaError without wandb, StorageError for what it refuses.
    """
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")  # results go to the server alone
    wandb = _package("wandb", "wandb")
    project = os.environ.get("WANDB_PROJECT") or PROJECT
    # Nothing is recorded about this machine, its user or its programs.
    quiet = {"silent": True, "console": "off", "disable_git": True, "save_code": False}
    private = dict.fromkeys(("x_disable_stats", "x_disable_meta", "x_disable_machine_info"), True)
    try:
        settings = wandb.Settings(**quiet, **private, x_save_requirements=False, host="unnamed")
        for result in results:
            run = wandb.init(
                project=project,
                group=result.group,
                job_type="evaluation",
                id=result.digest[:16],
                name=result.name,
                config={**result.settings, **result.tags},
                resume=None if force else "never",
                settings=settings,
            )
            run.summary.update(result.metrics)
            run.finish()
            folder = run.settings.wandb_dir if run.offline else ""
    except (wandb.errors.Error, OSError) as problem:
        raise StorageError(f"Weights & Biases: {one_line(str(problem), 300)}") from None
    return f"{folder}: `wandb sync` sends it" if folder else f"project {one_line(project, 60)!r}"
