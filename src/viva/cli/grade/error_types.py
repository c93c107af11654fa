"""`viva error-types`: why were the wrong answers wrong? The error types of CS-Bench, labelled by judges."""

from __future__ import annotations

import inspect
from functools import partial
from pathlib import Path
from typing import Any

import click

from viva.cli.options import chart_option, confirm_endpoints, consent_options, derive, engine_options, tables_options
from viva.cli.output import check_writable, emit, show_study
from viva.errors import VivaError
from viva.runs.config import LimitOptions
from viva.studies.errors.study import ErrorsConfig, labels_text, study

LABEL_SUFFIXES = (".csv", ".json", ".jsonl")


@click.command(name="error-types", help=inspect.cleandoc(ErrorsConfig.__doc__ or ""))
@derive(ErrorsConfig, without=LimitOptions.__struct_fields__)
@click.option(
    "--labels",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write every wrong answer's labels: .csv, .json, .jsonl.",
)
@chart_option("Draw it by model")
@engine_options
@consent_options
@tables_options
def error_types_command(labels: Path | None, **given: Any) -> int:
    """`viva error-types`."""
    suffix = labels.suffix.lower() if labels else ""
    if labels is not None and suffix not in LABEL_SUFFIXES:
        raise VivaError(f"--labels {labels}: labels are written as {', '.join(LABEL_SUFFIXES)}")
    check_writable(labels, "--labels")
    result = show_study(partial(study, confirm=confirm_endpoints), ErrorsConfig, given)
    if labels is not None:
        emit(labels_text(result.found, suffix), labels)
    return result.exit_code
